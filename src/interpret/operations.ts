import type { Json, JsonObject } from "../runtime/index.ts";

/**
 * The operations that Lockstep uses on a workload object. The first eight are the proposal's, under the names that
 * Karmada gave them later; InterpretComponent is Karmada's; the last three are Lockstep's own.
 */
export const OPERATIONS = [
  "InterpretReplica",
  "ReviseReplica",
  "InterpretStatus",
  "Prune",
  "Retain",
  "AggregateStatus",
  "InterpretHealth",
  "InterpretDependency",
  "InterpretComponent",
  "InterpretProgress",
  "InterpretLeader",
  "InterpretCompletion",
] as const;
export type Operation = (typeof OPERATIONS)[number];

/** The proposal's names, as ResourceExploringWebhookConfiguration and ExploreReview spell them. */
export const EXPLORE_NAMES = {
  InterpretReplica: "ExploreReplica",
  ReviseReplica: "ExploreReplicaRevising",
  InterpretStatus: "ExploreStatus",
  Prune: "ExplorePacking",
  Retain: "ExploreRetaining",
  AggregateStatus: "ExploreStatusAggregating",
  InterpretHealth: "ExploreHealthy",
  InterpretDependency: "ExploreDependencies",
  InterpretCompletion: "ExploreCompletion",
} as const satisfies Partial<Record<Operation, string>>;
export type ExploredOperation = keyof typeof EXPLORE_NAMES;

const BY_NAME: ReadonlyMap<string, Operation> = new Map([
  ...OPERATIONS.map((operation): [string, Operation] => [operation.toLowerCase(), operation]),
  ["completion", "InterpretCompletion"],
  ...OPERATIONS.flatMap((operation): [string, Operation][] =>
    isExplored(operation) ? [[EXPLORE_NAMES[operation].toLowerCase(), operation]] : [],
  ),
]);

/** The operation of either name; upper and lower case do not matter, as in Karmada's test files. */
export function parseOperation(name: string): Operation | undefined {
  return BY_NAME.get(name.toLowerCase());
}

export function isExplored(operation: Operation): operation is ExploredOperation {
  return operation in EXPLORE_NAMES;
}

/** One cluster's status of the object, as an input of AggregateStatus. */
export interface StatusItem {
  readonly clusterName: string;
  readonly status?: Json;
  readonly applied?: boolean;
  readonly appliedMessage?: string;
  readonly health?: "Healthy" | "Unhealthy" | "Unknown";
}

/** Where an application shows its leader: a field of the member's object, or a Lua function GetLeader(obj). */
export type LeaderRule = { fieldPath: string } | { luaScript: string };

export interface Inputs {
  readonly InterpretReplica: { object: JsonObject };
  readonly ReviseReplica: { object: JsonObject; replicas: number };
  readonly InterpretStatus: { object: JsonObject };
  readonly Prune: { object: JsonObject };
  /** `object` is the desired one. */
  readonly Retain: { object: JsonObject; observed: JsonObject };
  /** Absent items, as Karmada has them for an object in no cluster, are nil for a script; an empty list is a table. */
  readonly AggregateStatus: { object: JsonObject; items?: readonly StatusItem[] };
  readonly InterpretHealth: { object: JsonObject };
  readonly InterpretDependency: { object: JsonObject };
  readonly InterpretComponent: { object: JsonObject };
  /** `replicas`: the object's count, if an interpreter knows where it is; otherwise spec.replicas. */
  readonly InterpretProgress: { object: JsonObject; replicas?: number };
  /** A rule from the user's own spec takes precedence over every other source. */
  readonly InterpretLeader: { object: JsonObject; rule?: LeaderRule };
  readonly InterpretCompletion: { object: JsonObject };
}

/** What Karmada's scheduler needs to know about one replica. Quantities are strings in Kubernetes' notation. */
export interface ReplicaRequirements {
  nodeClaim?: { hardNodeAffinity?: JsonObject; nodeSelector?: Record<string, string>; tolerations?: JsonObject[] };
  resourceRequest?: Record<string, string>;
  namespace?: string;
  priorityClassName?: string;
}

export interface Component {
  readonly name: string;
  readonly replicas: number;
  readonly replicaRequirements?: ReplicaRequirements;
}

/** Either `name` or `labelSelector` is set. Cluster-scoped objects have no namespace. */
export interface Dependency {
  readonly apiVersion: string;
  readonly kind: string;
  namespace?: string;
  readonly name?: string;
  readonly labelSelector?: JsonObject;
}

/** The progress of the object's controller with its last spec. */
export interface Progress {
  /** The number of instances in the spec. */
  readonly desired: number;
  /** Instances that run the spec's revision. Absent: the status does not contain it. */
  readonly updated?: number;
  readonly ready?: number;
  readonly available?: number;
  /** Instances that exist, of any revision, terminating ones included. */
  readonly total?: number;
  /** Whether the status refers to this spec: `unknown` if the kind has no observedGeneration. */
  readonly observed: "current" | "stale" | "unknown";
  /** The epoch and revision that the status refers to; only operators on the member contract report them. */
  readonly epoch?: number;
  readonly revision?: string;
  readonly phase?: "Working" | "Done" | "Failed";
  /** The spec is fully carried out, as far as this object shows. Never true while `observed` is not `current`. */
  readonly complete: boolean;
  /** What is missing, if it is not complete. */
  readonly message?: string;
}

/** What a member's object shows about the leader. Unknown is different from knowing that it is elsewhere. */
export type LeaderClaim =
  | { claim: "unknown" }
  | { claim: "here" }
  | { claim: "elsewhere" }
  /** An instance's or a cluster's name: only the topology shows which. */
  | { claim: "named"; name: string };

/** Whether work that ends has ended, and how. */
export interface Completion {
  readonly state: "running" | "succeeded" | "failed";
  /** In one word, of the object's own status. */
  readonly reason?: string;
  readonly message?: string;
}

export interface Results {
  readonly InterpretReplica: { replicas: number; requirements?: ReplicaRequirements };
  readonly ReviseReplica: JsonObject;
  /** null: there is no status to collect yet. */
  readonly InterpretStatus: Json;
  readonly Prune: JsonObject;
  readonly Retain: JsonObject;
  readonly AggregateStatus: JsonObject;
  readonly InterpretHealth: boolean;
  readonly InterpretDependency: Dependency[];
  readonly InterpretComponent: Component[];
  readonly InterpretProgress: Progress;
  readonly InterpretLeader: LeaderClaim;
  readonly InterpretCompletion: Completion;
}

export type Handler<O extends Operation> = (input: Inputs[O]) => Results[O];
export type Handlers = { readonly [O in Operation]?: Handler<O> };
