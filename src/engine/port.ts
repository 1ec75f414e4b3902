import type { KubeObject } from "../kube/index.ts";
import type { JsonObject } from "../runtime/index.ts";

/** An object by its kind and name, on the hub or in a member: both use the same. Cluster-scoped: namespace "". */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** What dispatch objects belong to: an object of one of Lockstep's kinds on the hub. */
export type EngineOwner = EngineApp | EngineBundle;

/**
 * A DistributedApplication or CrossClusterJob. Its objects are dispatched one by one, and none of them is an object on
 * the hub that the engine would render by itself: nothing is held. Every object must have the label OWNER_LABEL in
 * the members, because the member streams of bundles select by it.
 */
export interface EngineBundle {
  readonly kind: "DistributedApplication" | "CrossClusterJob";
  readonly namespace: string;
  readonly name: string;
  /** As of an EngineApp. */
  readonly uid?: string;
  /** What is watched in the members. Cluster-scoped objects have the namespace "". */
  readonly objects: readonly ObjectRef[];
  /** As of an EngineApp. */
  readonly placement?: string;
}

/** The CrossClusterStatefulset that owns dispatch objects, and the template it manages. */
export interface EngineApp {
  readonly kind?: never;
  readonly namespace: string;
  readonly name: string;
  /**
   * The uid of its object on the hub. What it delivered is recognized by it, even if the dispatch object is gone, and
   * is not mistaken for what an earlier object of the same name left behind.
   */
  readonly uid?: string;
  readonly template: ObjectRef;
  /** The template is no object on the hub: unless there happens to be one of its name, nothing needs to be held. */
  readonly isInline?: boolean;
  /** The object of the application's namespace that selects its clusters, on engines where one has to be named. */
  readonly placement?: string;
  /** Which of the engine's scores weighs the clusters that `placement` selects; absent: none. */
  readonly placementScore?: PlacementScore;
}

/** A score that another controller gives each cluster: the object that has it, and its name there. */
export interface PlacementScore {
  readonly resourceName: string;
  readonly scoreName: string;
}

/** What has changed: something of this application, or something that affects all of them, such as a cluster. */
export type News = "own" | "shared";

export interface Engine {
  /** Watches until aborted. Resolves when everything has stopped. */
  run(signal: AbortSignal): Promise<void>;
  /** Whether the hub's side (clusters, schedules, dispatch objects, policies) has been read once. */
  synced(): boolean;
  /**
   * Starts to watch the owner's objects in every cluster; `changed` is called whenever a view of one may have changed.
   * Called again for the same owner, it replaces the objects.
   */
  track(owner: EngineOwner, changed: (news: News) => void): void;
  untrack(owner: EngineOwner): void;

  clusters(): readonly EngineCluster[];
  schedule(owner: EngineOwner): EngineSchedule;
  /**
   * Has the engine's own scheduler divide replicas. What it divides is a copy that nothing delivers; copies that are no
   * longer requested are removed. `beforeWriting` is awaited before any write, and may throw to prevent it. Absent: this
   * engine has no scheduler that divides.
   */
  divide?(
    owner: EngineBundle,
    requests: readonly DivisionRequest[],
    beforeWriting: () => Promise<void>,
  ): Promise<Divisions>;
  /** Whether one of these clusters can be given only kinds that the hub's own API server serves. */
  needsHubKinds(clusters: readonly string[]): boolean;
  /**
   * How one cluster serves a kind that the hub does not know. Undefined: it does not, or cannot be asked. Absent: this
   * engine delivers only kinds of the hub.
   */
  memberKind?(cluster: string, apiVersion: string, kind: string): Promise<MemberKind | undefined>;
  /** The user's own override policies, raw, without the holds. Absent: this engine has none. */
  overridePolicies?(): readonly KubeObject[];

  /** Settings of the engine that would work against a rollout of this application. Absent: none are known. */
  settings?(app: EngineApp): readonly EngineSetting[];

  /**
   * Makes sure that nothing but Lockstep delivers the template, and resolves to whether that holds. If the engine would
   * render the template by itself, a hold prevents it; `beforeWriting` is awaited before the hold is written, and may
   * throw to prevent it. Other engines write nothing.
   */
  hold(app: EngineApp, beforeWriting?: () => Promise<void>): Promise<HoldState>;
  /**
   * Ends the hold, after the application was released or torn down. `kept`: the template still exists, and without the
   * hold the engine would render it at once. Then the hold is left behind, free to be deleted by a user or by the next
   * application that holds the template. Absent: this engine writes no holds.
   */
  unhold?(app: EngineApp): Promise<Unheld>;
  /** What `hold` would resolve to right now. Writes nothing: for previews. Absent: `hold` writes nothing either. */
  foreseeHold?(app: EngineApp): Promise<HoldState>;

  /**
   * Whether the owner with this mark (ownerMark) has a dispatch object for this object of the cluster, in whatever
   * version of its API: a mark alone says only who wrote the object once.
   */
  delivers(mark: string, cluster: string, ref: ObjectRef): boolean;
  /**
   * Whether owners other than the one with this mark have dispatch objects for anything in a namespace of the cluster:
   * it would go with the namespace.
   */
  hasOthersIn(mark: string, cluster: string, namespace: string): boolean;
  /** What has been dispatched for this application, as far as this process has seen, including its own writes. */
  dispatched(owner: EngineOwner): readonly Dispatched[];
  /** Reads the dispatch objects of the workload in every cluster from the server, without caches. */
  readDispatched(owner: EngineOwner): Promise<readonly Dispatched[]>;
  /**
   * Stamps the leader's term on every dispatch object and reads them again; afterwards a leader of an earlier term
   * cannot change any of them. Throws SupersededError if one has a later term, TermOutOfRangeError if one has a term
   * that no leader wrote. `clusters` are those that may have been granted anything; absent: all.
   */
  stamp(owner: EngineOwner, term: number, clusters?: readonly string[]): Promise<readonly Dispatched[]>;
  /**
   * Some of what is known of members comes from answers to questions that only their leader asks, and this process does
   * not ask them: a leader that has nothing to write must stamp nevertheless.
   */
  awaitsLeader?(app: EngineApp): boolean;
  /**
   * Creates empty dispatch objects, and returns those that did not exist. The caller must then confirm that it still
   * leads before it dispatches. Then it cannot recreate what a later leader has deleted: a later leader has either
   * stamped these objects, or is noticed by the confirmation. They also record that an object is taken over, for any
   * leader that continues.
   */
  reserve(owner: EngineOwner, refs: readonly ObjectRef[], claim: Claim): Promise<readonly Dispatched[]>;
  /**
   * Writes one manifest for one cluster, if its dispatch object is still the version `expected` (null: there is none).
   */
  dispatch(owner: EngineOwner, order: DispatchOrder): Promise<Dispatched>;
  /**
   * Ends a dispatch. `keep`: the member's object stays. `remove`: it is deleted there. Repeat until the dispatch object
   * is gone; returns false until then.
   */
  withdraw(owner: EngineOwner, dispatched: Dispatched, what: "keep" | "remove"): Promise<boolean>;
  /** Takes a running application over from the engine's own dispatch objects without moving anything. */
  adopt(app: EngineApp, cluster: string): Promise<void>;

  /** One live object of the owner in one cluster, from one version of it; absent `ref`: the template. */
  snapshot(app: EngineApp, cluster: string, ref?: ObjectRef): Snapshot;
  snapshot(owner: EngineOwner, cluster: string, ref: ObjectRef): Snapshot;
  member(cluster: string): MemberAccess;
}

export interface MemberKind {
  readonly plural: string;
  readonly namespaced: boolean;
}

export interface EngineCluster {
  readonly name: string;
  readonly state: "Ready" | "NotReady" | "Unknown";
  /** Since when it has been in this state, as far as the engine knows. */
  readonly sinceMs?: number;
  /** The taint that repels new instances, as `KEY:EFFECT`; a user's drain (drain.ts) before any other. */
  readonly cordoned?: string;
  /** A user's taint also ends what runs there already. Absent: none does, or this engine has no such taints. */
  readonly evicts?: true;
  /** As far as the engine knows it, in Kubernetes' quantities. */
  readonly capacity?: ClusterCapacity;
  readonly labels: Readonly<Record<string, string>>;
  readonly provider?: string;
  readonly region?: string;
  readonly zones: readonly string[];
}

/** What is free is what can be allocated without what is taken. */
export interface ClusterCapacity {
  readonly allocatable: Readonly<Record<string, string>>;
  /**
   * To be added up: what runs has, and what waits for a node requests. Absent: the engine does not know it; then more
   * than all that can be allocated surely does not fit.
   */
  readonly taken?: ReadonlyArray<Readonly<Record<string, string>>>;
}

export type EngineSchedule =
  | {
      readonly kind: "known";
      readonly clusters: ReadonlyArray<{
        readonly cluster: string;
        readonly replicas: number;
        /** With `isScored`: by the cluster's score; absent: it has no valid score at present. */
        readonly weight?: number;
        /** Set: the engine does not select it, and what it holds stays, because it may only have been away. */
        readonly kept?: Kept;
      }>;
      /** The engine selects clusters and divides nothing: each has one share, of whatever number is divided. */
      readonly isSelection?: boolean;
      /** Scores weigh the clusters. They change all the time: they decide where the next instance goes, and move none. */
      readonly isScored?: boolean;
    }
  /** Missing or outdated; never "zero clusters". */
  | { readonly kind: "unknown"; readonly message: string; readonly remedy?: string };

/** `isStuck`: it has been so for long; probably only a user can tell whether the cluster was removed. */
export interface Kept {
  readonly message: string;
  readonly isStuck: boolean;
}

/** A workload whose replicas the engine's own scheduler divides. */
export interface DivisionRequest {
  /** As it is rendered. */
  readonly workload: KubeObject;
  readonly replicas: number;
  /** At least one. */
  readonly clusters: readonly string[];
  /** In as few clusters as possible; otherwise in proportion to what each has room for. */
  readonly isAggregated: boolean;
}

export interface Divisions {
  /** One for each request, in their order. A known one names only requested clusters, and adds up to the replicas. */
  readonly schedules: readonly Division[];
  /** Nothing of what was requested before is left; otherwise repeat. */
  readonly isTidy: boolean;
}

export type Division =
  | { readonly kind: "known"; readonly shares: Readonly<Record<string, number>> }
  | { readonly kind: "unknown"; readonly message: string; readonly remedy?: string };

/** A setting, or an object of another controller: what it would do, and the command that ends it. */
export interface EngineSetting {
  readonly message: string;
  readonly remedy: string;
}

export type HoldState =
  /** The engine renders nothing for this template. */
  | { readonly kind: "held" }
  /** Held now, but the engine had rendered these clusters before: an adoption. */
  | { readonly kind: "adopting"; readonly clusters: readonly string[] }
  /** A user's setting defeats the hold (such as propagateDeps); nothing may be granted. */
  | { readonly kind: "unsafe"; readonly message: string; readonly remedy: string };

/** `hold`: the kind, namespace and name of what was left behind. */
export type Unheld = { readonly kind: "gone" } | { readonly kind: "kept"; readonly hold: string };

/** Which process dispatches to which cluster. */
export interface Claim {
  readonly cluster: string;
  readonly term: number;
  /** Take over an object that the member already has under this name: for an adoption, or because it is ours. */
  readonly takeOver?: boolean;
}

export interface DispatchOrder extends Claim {
  readonly manifest: KubeObject;
  /** Data that belongs to this dispatch and must be stored with it, such as the grant; never sent to the member. */
  readonly notes: Readonly<Record<string, string>>;
  readonly expected: Dispatched | null;
}

export interface Dispatched {
  readonly cluster: string;
  readonly ref: ObjectRef;
  /**
   * Its name and its short annotations; no reader needs the rest of what was dispatched. Empty while it is only
   * reserved.
   */
  readonly manifest: JsonObject;
  readonly notes: Readonly<Record<string, string>>;
  readonly term: number;
  /** For compare-and-swap; opaque. Changes when a leader writes the object, not when the engine reports on it. */
  readonly version: string;
  readonly uid: string;
  readonly deleting: boolean;
  /** Ending it keeps the member's object. */
  readonly keeps: boolean;
  /** The engine's message about delivering it. Never evidence of completion. */
  readonly delivery: { readonly state: "unknown" | "delivered" | "failed"; readonly message: string };
}

export type Snapshot =
  | {
      readonly kind: "unreachable";
      readonly message: string;
      readonly sinceMs?: number;
      /** The member refuses to let Lockstep read objects of this kind. */
      readonly isForbidden?: boolean;
      /** Lockstep has no free stream to read with: nothing is known about the cluster. */
      readonly isBlind?: boolean;
      /** This engine looks only where something is dispatched or reserved, and nothing is: `reserve` makes it look. */
      readonly isUnasked?: boolean;
      /** The cluster was read: it has an object of this name that Lockstep did not write, and cannot be shown whole. */
      readonly isForeign?: boolean;
      /** The cluster was read: it has an object of this name that another dispatch of Lockstep's wrote. */
      readonly isEarlier?: boolean;
    }
  | { readonly kind: "absent"; readonly atMs: number }
  | {
      readonly kind: "present";
      readonly object: KubeObject;
      /**
       * `live`: the member's own object. `values`: fields of one version of it, its generation, annotations and counts
       * among them, fresh within the adapter's limit; what was not asked for is not there. `reflected`: the engine's copy
       * of its status, of whatever version, which may lack fields.
       */
      readonly source: "live" | "values" | "reflected";
      readonly atMs: number;
      /** The pods that belong to it, where they can be seen. */
      readonly pods?: readonly KubeObject[];
      /** Some of their labels may not be known, but that of their revision is. */
      readonly lacksLabels?: true;
    };

export interface PodSeen {
  readonly name: string;
  readonly uid: string;
  /** Its resourceVersion. */
  readonly version: string;
}

/** How the claims of a workload's instances are named: `<claim template>-<workload>-<ordinal>`. */
export interface ClaimNames {
  readonly workload: string;
  /**
   * The claim templates. Absent: not known; then any single word counts, which cannot be part of another workload's
   * name.
   */
  readonly templates?: readonly string[];
}

/** What Lockstep does in a member directly; everything else goes through dispatch objects. */
export interface MemberAccess {
  /** One object, read from the member's own API server, without caches; also an object that has no owner here. */
  read(ref: ObjectRef): Promise<MemberObject>;
  /** Whether the member's API server would accept this object; changes nothing. */
  dryRun(manifest: KubeObject): Promise<DryRun>;
  /**
   * Whether the member has this ConfigMap, with this content, right now: read from its own API server, without caches
   * and regardless of the engine's delivery report.
   */
  holds(configMap: KubeObject): Promise<Holding>;
  /** The ordinals for which a claim of this workload exists; undefined if that cannot be read. */
  volumes(namespace: string, claims: ClaimNames): Promise<readonly number[] | undefined>;
  /** What the namespace limits, read right now; undefined if that cannot be read. */
  limits(namespace: string): Promise<NamespaceLimits | undefined>;
  /** Only in the named version: a pod that has changed since it was seen is not deleted. */
  deletePod(namespace: string, pod: PodSeen): Promise<void>;
  /**
   * Each only in the version in which it was listed. `confirm` throws if the caller no longer leads. It is awaited
   * before the claims are listed, and again before changed claims are listed again.
   */
  deleteVolumes(namespace: string, claims: ClaimNames, confirm: () => Promise<void>): Promise<void>;
}

/** What a member's API server refuses pods by, in one namespace. */
export interface NamespaceLimits {
  /** ResourceQuotas. */
  readonly quotas: readonly KubeObject[];
  readonly limitRanges: readonly KubeObject[];
}

export type MemberObject =
  | { readonly kind: "present"; readonly object: KubeObject }
  | { readonly kind: "absent" }
  /**
   * The member could not be asked, or does not serve the kind (`isUnserved`). `isUnasked`: this engine looks only where
   * something is reserved; `reserve` makes it look, and then `snapshot` tells.
   */
  | {
      readonly kind: "unknown";
      readonly message: string;
      readonly isUnserved?: boolean;
      readonly isUnasked?: boolean;
    };

export type DryRun =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly message: string }
  /**
   * The member could not be asked: it is unreachable, or the right is missing. `isTooEarly`: the object's kind or
   * namespace does not exist there yet.
   */
  | { readonly kind: "unknown"; readonly message: string; readonly isTooEarly?: boolean }
  /** This engine cannot ask about this kind: retrying is useless. */
  | { readonly kind: "unsupported" };

export type Holding =
  | { readonly kind: "held" }
  /** It does not exist, or has another content. */
  | { readonly kind: "missing"; readonly message: string }
  /** The member could not be asked: it is unreachable, or the right is missing. Never treated as held. */
  | { readonly kind: "unknown"; readonly message: string };
