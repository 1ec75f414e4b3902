import type { KubeObject } from "../kube/index.ts";
import type { JsonObject } from "../runtime/index.ts";

/** An object by its kind and name, on the hub or in a member: the two carry the same. */
export interface ObjectRef {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** The CrossClusterStatefulset that owns dispatch objects, and the template it manages. */
export interface EngineApp {
  readonly namespace: string;
  readonly name: string;
  readonly template: ObjectRef;
}

/** What has changed: something of this application's own, or something that concerns all of them, such as a cluster. */
export type News = "own" | "everybody's";

export interface Engine {
  /** Watches until aborted. Resolves when everything has stopped. */
  run(signal: AbortSignal): Promise<void>;
  /** Whether the hub's side (clusters, schedule results, dispatch objects, policies) has been read once. */
  synced(): boolean;
  /** Begins to watch the application's object in every cluster; `changed` is called whenever a view of it may have changed. */
  track(app: EngineApp, changed: (news: News) => void): void;
  untrack(app: EngineApp): void;

  clusters(): readonly EngineCluster[];
  schedule(app: EngineApp): EngineSchedule;
  /** The user's own override policies, raw, without the holds. */
  overridePolicies(): readonly KubeObject[];

  /**
   * Keeps the engine from rendering the template by itself. Resolves to what the hold is worth right now. `beforeWriting`
   * is awaited whenever the hold has to be written, and may throw to prevent it.
   */
  hold(app: EngineApp, beforeWriting?: () => Promise<void>): Promise<HoldState>;
  /**
   * Ends the hold, when the application has been released or torn down. `kept`: the template is still there, and without
   * the hold the engine would render it at once; the hold is left behind, free for anybody to delete.
   */
  unhold(app: EngineApp): Promise<"gone" | "kept">;

  /** What has been dispatched for this application, as far as this process has seen, its own writes included. */
  dispatched(app: EngineApp): readonly Dispatched[];
  /** Reads the dispatch objects from the server, past every cache; those of the workload in every cluster. */
  readDispatched(app: EngineApp): Promise<readonly Dispatched[]>;
  /**
   * Stamps the leader's term on every dispatch object and reads them again; afterwards a leader of an earlier term cannot
   * change any of them. Throws SupersededError when one carries a later term. `clusters` are those that may have been
   * granted anything; absent: all.
   */
  stamp(app: EngineApp, term: number, clusters?: readonly string[]): Promise<readonly Dispatched[]>;
  /**
   * Makes dispatch objects that say nothing yet, and returns those that did not exist. Whoever then makes sure that it still
   * leads, and only afterwards dispatches, can create nothing for a leader that has taken over and done away with it: a
   * later leader has either stamped them or is seen by then. That something is taken over is kept with them, whoever goes on.
   */
  reserve(app: EngineApp, refs: readonly ObjectRef[], claim: Claim): Promise<readonly Dispatched[]>;
  /** Writes one manifest for one cluster, if its dispatch object is still the version `expected` (null: there is none). */
  dispatch(app: EngineApp, order: DispatchOrder): Promise<Dispatched>;
  /**
   * Ends a dispatch. `keep`: the member's object stays as it is. `remove`: it is deleted there. Repeat until the dispatch
   * object is gone; false while it is still going.
   */
  withdraw(app: EngineApp, dispatched: Dispatched, what: "keep" | "remove"): Promise<boolean>;
  /** Takes a running application over from the engine's own dispatch objects without moving anything. */
  adopt(app: EngineApp, cluster: string): Promise<void>;

  /** The live object in one cluster, from one version of it. */
  snapshot(app: EngineApp, cluster: string): Snapshot;
  member(cluster: string): MemberAccess;
}

export interface EngineCluster {
  readonly name: string;
  readonly state: "Ready" | "NotReady" | "Unknown";
  /** Since when it has been in this state, as far as the engine says. */
  readonly sinceMs?: number;
  /** The taint that keeps new instances away. */
  readonly cordoned?: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly provider?: string;
  readonly region?: string;
  readonly zones: readonly string[];
}

export type EngineSchedule =
  | {
      readonly kind: "known";
      readonly clusters: ReadonlyArray<{ readonly cluster: string; readonly replicas: number }>;
    }
  /** Missing or outdated; never "zero clusters". */
  | { readonly kind: "unknown"; readonly message: string };

export type HoldState =
  /** The engine renders nothing for this template. */
  | { readonly kind: "held" }
  /** Held now, but these clusters had been rendered by the engine before: an adoption. */
  | { readonly kind: "adopting"; readonly clusters: readonly string[] }
  /** A setting of the user's defeats the hold (such as propagateDeps); nothing may be granted. */
  | { readonly kind: "unsafe"; readonly message: string; readonly remedy: string };

/** Who dispatches to which cluster. */
export interface Claim {
  readonly cluster: string;
  readonly term: number;
  /** Take over an object that the member already has under this name: for an adoption, or because it is ours. */
  readonly takeOver?: boolean;
}

export interface DispatchOrder extends Claim {
  readonly manifest: KubeObject;
  /** What else belongs to this dispatch and must survive with it, such as the grant; never sent to the member. */
  readonly notes: Readonly<Record<string, string>>;
  readonly expected: Dispatched | null;
}

export interface Dispatched {
  readonly cluster: string;
  readonly ref: ObjectRef;
  /** Its name and its short annotations; nobody needs to read the rest of what was dispatched. Empty while it is only reserved. */
  readonly manifest: JsonObject;
  readonly notes: Readonly<Record<string, string>>;
  readonly term: number;
  /** For compare-and-swap; opaque. Changes when one of us writes the object, not when the engine reports on it. */
  readonly version: string;
  readonly uid: string;
  readonly deleting: boolean;
  /** Ending it leaves the member's object as it is. */
  readonly keeps: boolean;
  /** What the engine says about delivering it. Never evidence of completion. */
  readonly delivery: { readonly state: "unknown" | "delivered" | "failed"; readonly message: string };
}

export type Snapshot =
  | { readonly kind: "unreachable"; readonly message: string; readonly sinceMs?: number }
  | { readonly kind: "absent"; readonly atMs: number }
  | {
      readonly kind: "present";
      readonly object: KubeObject;
      /** `live`: the member's own object. `reflected`: the engine's copy of its status, which may lack fields. */
      readonly source: "live" | "reflected";
      readonly atMs: number;
      /** The pods that belong to it, where they can be seen. */
      readonly pods?: readonly KubeObject[];
    };

export interface PodSeen {
  readonly name: string;
  readonly uid?: string;
  /** Its resourceVersion. */
  readonly version?: string;
}

/** How the claims of a workload's instances are called: `<claim template>-<workload>-<ordinal>`. */
export interface ClaimNames {
  readonly workload: string;
  /** The claim templates. Absent: nobody knows them, and any single word counts, which no other workload's name can hide in. */
  readonly templates?: readonly string[];
}

/** What may be done in a member directly; everything else goes through dispatch objects. */
export interface MemberAccess {
  /** Whether the member's API server would take this object; changes nothing. */
  dryRun(manifest: KubeObject): Promise<DryRun>;
  /** The ordinals of which a claim of this workload exists; undefined when that cannot be read. */
  volumes(namespace: string, claims: ClaimNames): Promise<readonly number[] | undefined>;
  /** Only in the version that is named: a pod that has changed since it was seen is left alone. */
  deletePod(namespace: string, pod: PodSeen): Promise<void>;
  deleteVolumes(namespace: string, claims: ClaimNames): Promise<void>;
}

export type DryRun =
  | { readonly kind: "accepted" }
  | { readonly kind: "refused"; readonly message: string }
  /** The member could not be asked now: not reachable, or no right to. */
  | { readonly kind: "unknown"; readonly message: string }
  /** This engine cannot ask about this kind at all: asking again is of no use. */
  | { readonly kind: "unsupported" };
