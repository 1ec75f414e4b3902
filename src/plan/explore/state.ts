import type {
  ClusterName,
  FoundGrant,
  Grant,
  Intent,
  Ledger,
  MemberReportSeen,
  Observation,
  PlanResult,
  RevisionId,
  TimeMs,
} from "../types.ts";

/**
 * Everything true at one moment, the planner's part included: what the explorer visits. Values are never changed, only
 * replaced, so states share what they have in common.
 */
export interface State {
  readonly nowMs: TimeMs;
  readonly intent: Intent;
  readonly ledger: Ledger;
  /** The dispatch objects on the hub. */
  readonly hub: Readonly<Record<ClusterName, Dispatched>>;
  /** Deletions of the last plan that was carried out; each is repeated by the planner until it is seen done. */
  readonly actions: PlanResult["actions"];
  readonly finished: boolean;
  readonly members: Readonly<Record<ClusterName, Member>>;
  readonly seen: Readonly<Record<ClusterName, Seen>>;
  /** The cluster whose lowest ready instance leads. Null: the scenario knows no leader. */
  readonly leader: ClusterName | null;
  /** Edits of the scenario that have been made so far; they are made in their order. */
  readonly edits: number;
  /** How often each kind of fault may still happen. */
  readonly faults: Faults;
  /** The most that any setting since the start allowed to be unavailable: a step keeps the setting it started with. */
  readonly maxUnavailable: number;
  /** When the last plan wanted to be called again. */
  readonly requeueAtMs: TimeMs | undefined;
  /** Clusters that a schedule dropped, or shrank, while they were lost. */
  readonly droppedWhileLost: readonly ClusterName[];
}

export interface Faults {
  /** An instance dies by itself and comes back. */
  readonly accident: number;
  /** A cluster cannot be reached, and later can again. */
  readonly cut: number;
  /** The controller dies between the ledger's write and the dispatch of all or some grants. */
  readonly crash: number;
  /** The leader moves by itself. */
  readonly leader: number;
  /** The ledger is lost and rebuilt from the dispatch objects. */
  readonly rebuild: number;
  /** Nobody can say whether a cluster is healthy. */
  readonly mute: number;
  /** Time passes although something is left to do. */
  readonly wait: number;
}

export const NO_FAULTS: Faults = { accident: 0, cut: 0, crash: 0, leader: 0, rebuild: 0, mute: 0, wait: 0 };

/** A grant with what travels beside it: the ordinals that its topology gives the cluster. */
export interface Dispatched {
  readonly grant: Grant;
  readonly ordinals: readonly number[];
  readonly found: FoundGrant;
}

export interface Pod {
  readonly ordinal: number;
  readonly revision: RevisionId;
  readonly phase: "starting" | "ready" | "terminating";
  /** Which life of this ordinal it is: the uid. */
  readonly life: number;
}

/** What a controller that follows its spec writes into status: right when written, old soon after. */
export interface Status {
  readonly observedGeneration: number;
  readonly replicas: number;
  readonly ready: number;
  readonly updated: number;
  readonly updateRevision: RevisionId;
  readonly currentRevision: RevisionId;
}

export interface Member {
  /** What the live object carries. */
  readonly live: Dispatched | null;
  /** What the operator on the contract has read; it acts on that. */
  readonly read: Dispatched | null;
  readonly generation: number;
  readonly status: Status | null;
  readonly report: MemberReportSeen | null;
  /** By ascending ordinal. */
  readonly pods: readonly Pod[];
  readonly volumes: readonly number[];
  readonly lives: number;
  /** Instances that are down because Lockstep's grant made an operator take them down. */
  readonly ownDown: Readonly<Record<number, "update" | "leave">>;
  /** The revision that each ordinal ran last. */
  readonly ran: Readonly<Record<number, RevisionId>>;
  readonly cut: boolean;
  readonly mute: boolean;
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
  read: null,
  generation: 0,
  status: null,
  report: null,
  pods: [],
  volumes: [],
  lives: 0,
  ownDown: {},
  ran: {},
  cut: false,
  mute: false,
};

export function memberOf(state: State, cluster: ClusterName): Member {
  return state.members[cluster] ?? NEW_MEMBER;
}

export function withMember(state: State, cluster: ClusterName, member: Member): State {
  return { ...state, members: { ...state.members, [cluster]: member } };
}

export function clustersOf(state: State): ClusterName[] {
  return Object.keys(state.intent.fleet);
}

export function isReachable(state: State, cluster: ClusterName): boolean {
  return state.intent.fleet[cluster]?.state === "Ready" && state.seen[cluster]?.observation.kind !== "unreachable";
}
