import type { Json, JsonObject } from "../runtime/index.ts";

/**
 * Everything Lockstep asks of a workload object. The first eight are the proposal's, under the names Karmada gave them
 * later; InterpretComponent is Karmada's; the last two are Lockstep's own.
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
} as const satisfies Partial<Record<Operation, string>>;
export type ExploredOperation = keyof typeof EXPLORE_NAMES;

const BY_NAME: ReadonlyMap<string, Operation> = new Map([
  ...OPERATIONS.map((operation): [string, Operation] => [operation.toLowerCase(), operation]),
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

/** One cluster's status of the object, as it goes into AggregateStatus. */
export interface StatusItem {
  clusterName: string;
  status?: Json;
  applied?: boolean;
  appliedMessage?: string;
  health?: "Healthy" | "Unhealthy" | "Unknown";
}

/** Where an application shows its leader: a field of the member's object, or a Lua function GetLeader(obj). */
export type LeaderRule = { fieldPath: string } | { luaScript: string };

export interface Inputs {
  InterpretReplica: { object: JsonObject };
  ReviseReplica: { object: JsonObject; replicas: number };
  InterpretStatus: { object: JsonObject };
  Prune: { object: JsonObject };
  /** `object` is the desired one. */
  Retain: { object: JsonObject; observed: JsonObject };
  /** No items at all, as Karmada has it for an object in no cluster, is nil for a script; an empty list is a table. */
  AggregateStatus: { object: JsonObject; items?: readonly StatusItem[] };
  InterpretHealth: { object: JsonObject };
  InterpretDependency: { object: JsonObject };
  InterpretComponent: { object: JsonObject };
  InterpretProgress: { object: JsonObject };
  /** A rule given here, from the user's own spec, comes before every other source. */
  InterpretLeader: { object: JsonObject; rule?: LeaderRule };
}

/** What Karmada's scheduler needs to know of one replica. Quantities are strings in Kubernetes' notation. */
export interface ReplicaRequirements {
  nodeClaim?: { hardNodeAffinity?: JsonObject; nodeSelector?: Record<string, string>; tolerations?: JsonObject[] };
  resourceRequest?: Record<string, string>;
  namespace?: string;
  priorityClassName?: string;
}

export interface Component {
  name: string;
  replicas: number;
  replicaRequirements?: ReplicaRequirements;
}

/** One of `name` and `labelSelector` is there. Cluster-scoped objects have no namespace. */
export interface Dependency {
  apiVersion: string;
  kind: string;
  namespace?: string;
  name?: string;
  labelSelector?: JsonObject;
}

/** How far the controller of the object is with the spec it was last given. */
export interface Progress {
  /** Instances the spec asks for. */
  desired: number;
  /** Instances that run the spec's revision. Absent: the status does not tell. */
  updated?: number;
  ready?: number;
  available?: number;
  /** Instances that exist, of any revision, terminating ones included. */
  total?: number;
  /** Whether the status speaks of this spec: `unknown` when the kind has no observedGeneration. */
  observed: "current" | "stale" | "unknown";
  /** The epoch and revision the status speaks of; only operators on the member contract report them. */
  epoch?: number;
  revision?: string;
  phase?: "Working" | "Done" | "Failed";
  /** Everything the spec asks for is in place, as far as this object can tell. Never true while `observed` is not `current`. */
  complete: boolean;
  /** What is missing, when not complete. */
  message?: string;
}

/** What a member's object says about the leader. Not knowing is different from knowing that it is elsewhere. */
export type LeaderClaim =
  | { claim: "unknown" }
  | { claim: "here" }
  | { claim: "elsewhere" }
  /** An instance's or a cluster's name: only the topology can tell which. */
  | { claim: "named"; name: string };

export interface Results {
  InterpretReplica: { replicas: number; requirements?: ReplicaRequirements };
  ReviseReplica: JsonObject;
  /** null: there is no status to collect yet. */
  InterpretStatus: Json;
  Prune: JsonObject;
  Retain: JsonObject;
  AggregateStatus: JsonObject;
  InterpretHealth: boolean;
  InterpretDependency: Dependency[];
  InterpretComponent: Component[];
  InterpretProgress: Progress;
  InterpretLeader: LeaderClaim;
}

export type Handler<O extends Operation> = (input: Inputs[O]) => Results[O];
export type Handlers = { readonly [O in Operation]?: Handler<O> };
