import type {
  ClusterName,
  FoundGrant,
  Grant,
  Intent,
  Ledger,
  MemberReportSeen,
  MembershipEvidence,
  Observation,
  Observations,
  PlanResult,
  RevisionId,
  TimeMs,
} from "../../types/index.ts";

/**
 * Everything true at one moment, the planner's part included: what the explorer visits. Values are never changed, only
 * replaced, so states share what they have in common.
 */
export interface State {
  readonly nowMs: TimeMs;
  readonly intent: Intent;
  readonly ledger: Ledger;
  /** By cluster: every one of the fleet. */
  readonly places: Readonly<Record<ClusterName, Place>>;
  /** Deletions of the last plan that was carried out; each is repeated by the planner until it is seen done. */
  readonly actions: PlanResult["actions"];
  readonly finished: boolean;
  /** The cluster whose lowest ready instance leads; NO_LEADER during an election. Null: the scenario has no leader. */
  readonly leader: ClusterName | null;
  /** The application's own list of members, where it can be asked. */
  readonly app: App | null;
  /** Dispatches that a leader who was deposed had still in flight. */
  readonly late: Readonly<Record<ClusterName, Dispatched>>;
  /** Edits of the scenario that have been made so far; they are made in their order. */
  readonly edits: number;
  /** How often each kind of fault may still happen. */
  readonly faults: Faults;
  /** The most that any setting since the start allowed to be unavailable: a step keeps the setting it started with. */
  readonly maxUnavailable: number;
  /** Clusters that a schedule dropped, or shrank, while they were lost. */
  readonly droppedWhileLost: readonly ClusterName[];
}

export const NO_LEADER = "";

export interface App {
  /** By the names of their instances. */
  readonly members: readonly string[];
  /** Put out while their cluster was away; they do not come back by themselves. */
  readonly expelled: readonly string[];
  readonly seen: MembershipEvidence | null;
}

/** One cluster: what the hub says it should be, what it is, and what has been seen of it. */
export interface Place {
  /** The dispatch object on the hub. */
  readonly given: Dispatched | null;
  readonly member: Member;
  readonly seen: Seen | null;
}

/** What may go wrong, each with how often in one scenario. */
export interface Faults {
  /** An instance dies by itself and comes back. */
  readonly accident: number;
  /** A cluster cannot be reached, and later can again. */
  readonly cut: number;
  /** A cluster leaves the fleet, and later joins it again. */
  readonly gone: number;
  /** The application puts the members of a cluster out that is away. */
  readonly expel: number;
  /** The controller dies between the ledger's write and the dispatch of all or some grants. */
  readonly crash: number;
  /** The same, but what was in flight may still land: another leader has taken over. */
  readonly depose: number;
  /** Another client writes a member's object. */
  readonly drift: number;
  /** An operator reports Failed. */
  readonly fail: number;
  /** The leader moves by itself. */
  readonly leader: number;
  /** The ledger is lost and rebuilt from the dispatch objects. */
  readonly rebuild: number;
  /** A cluster does not report whether it is healthy. */
  readonly mute: number;
  /** Time passes although something is left to do. */
  readonly wait: number;
}

export const NO_FAULTS: Faults = {
  accident: 0,
  cut: 0,
  gone: 0,
  expel: 0,
  crash: 0,
  depose: 0,
  drift: 0,
  fail: 0,
  leader: 0,
  rebuild: 0,
  mute: 0,
  wait: 0,
};

/** A grant with what travels beside it: the ordinals that its topology gives the cluster. */
export interface Dispatched {
  readonly grant: Grant;
  readonly ordinals: readonly number[];
  /** What a lost ledger is rebuilt from. Null where the scenario never loses it. */
  readonly found: FoundGrant | null;
}

/**
 * What an object in a cluster carries: spec and annotations. Without an epoch it carries none of Lockstep's
 * annotations.
 */
export interface Live {
  readonly epoch?: number;
  readonly revision: RevisionId;
  readonly replicas: number;
  readonly partition: number;
  readonly onDelete: boolean;
  readonly processor: boolean;
  readonly topologyVersion?: number;
  readonly transferLeaderTo?: string;
  readonly ordinals: readonly number[];
  /** Another client wrote it: Lockstep is not responsible for what an operator does about it. */
  readonly foreign?: true;
}

export interface Pod {
  readonly ordinal: number;
  readonly revision: RevisionId;
  readonly phase: "starting" | "ready" | "terminating";
  /**
   * What became of it since the pods were last seen: who names it as it was seen names another version, or another pod.
   */
  readonly since: "same" | "changed" | "created";
  /** Its own condition says that it was evicted. */
  readonly evicted?: true;
}

/** What a controller that follows its spec writes into status: right when written, old soon after. */
export interface Status {
  readonly replicas: number;
  readonly ready: number;
  readonly updated: number;
  readonly updateRevision: RevisionId;
  readonly currentRevision: RevisionId;
}

export interface Member {
  readonly live: Live | null;
  /** The epoch of the dispatch object that was applied last. */
  readonly applied: number | null;
  /** What the operator on the contract has read; it acts on that. */
  readonly read: Live | null;
  /** The status is about the spec that the object carries now (observedGeneration has caught up). */
  readonly observed: boolean;
  readonly status: Status | null;
  readonly report: MemberReportSeen | null;
  /** By ascending ordinal. */
  readonly pods: readonly Pod[];
  readonly volumes: readonly number[];
  /** Instances that are down because Lockstep's grant made an operator take them down. */
  readonly ownDown: Readonly<Record<number, "update" | "leave">>;
  /** The revision that each ordinal ran last. */
  readonly ran: Readonly<Record<number, RevisionId>>;
  readonly cut: boolean;
  readonly mute: boolean;
  /** Given up as lost, and has not read since then that its turn is over: what it does is not Lockstep's doing. */
  readonly givenUp: boolean;
  /** The operator can do nothing, and says so. */
  readonly failing: boolean;
}

/** What the planner has been shown of a cluster; object and pods come by two watches. */
export interface Seen {
  readonly observation: Observation;
  readonly pods: readonly Pod[];
  /** What the status that was seen calls the new revision; pods are compared with it. */
  readonly updateRevision?: RevisionId;
}

export const NEW_MEMBER: Member = {
  live: null,
  applied: null,
  read: null,
  observed: false,
  status: null,
  report: null,
  pods: [],
  volumes: [],
  ownDown: {},
  ran: {},
  cut: false,
  mute: false,
  givenUp: false,
  failing: false,
};

export const NEW_PLACE: Place = { given: null, member: NEW_MEMBER, seen: null };

export function placeOf(state: Pick<State, "places">, cluster: ClusterName): Place {
  return state.places[cluster] ?? NEW_PLACE;
}

export function memberOf(state: Pick<State, "places">, cluster: ClusterName): Member {
  return state.places[cluster]?.member ?? NEW_MEMBER;
}

export function withPlace(state: State, cluster: ClusterName, change: Partial<Place>): State {
  return { ...state, places: { ...state.places, [cluster]: { ...placeOf(state, cluster), ...change } } };
}

export function withMember(state: State, cluster: ClusterName, member: Member): State {
  return withPlace(state, cluster, { member });
}

export function clustersOf(state: Pick<State, "places">): ClusterName[] {
  return Object.keys(state.places);
}

/** What the planner is shown: the same object for the same observation. */
export function observationsOf(state: Pick<State, "places" | "app">): Observations {
  const clusters: Record<ClusterName, Observation> = {};
  for (const cluster of Object.keys(state.places)) {
    const seen = state.places[cluster]?.seen;
    if (seen) clusters[cluster] = seen.observation;
  }
  const membership = state.app?.seen;
  return membership ? { clusters, membership } : { clusters };
}

/** Ready in the fleet, and the planner was shown something of it. */
export function isReachable(intent: Intent, observations: Observations, cluster: ClusterName): boolean {
  return intent.fleet[cluster]?.state === "Ready" && observations.clusters[cluster]?.kind !== "unreachable";
}
