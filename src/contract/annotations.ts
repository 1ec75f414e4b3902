export const CONTRACT_PREFIX = "crossclusterstatefulset.karmada.io/";

/** What every member's copy of the object carries. */
export const ANNOTATIONS = {
  /** The name of the cluster this copy is for. */
  cluster: `${CONTRACT_PREFIX}cluster`,
  /** JSON of TopologyCluster[], the same for all clusters that have been granted this topology version. */
  topology: `${CONTRACT_PREFIX}topology`,
  /** A number that only rises. A member must not restart a running instance for it. */
  topologyVersion: `${CONTRACT_PREFIX}topology-version`,
  /** "true": act on the spec. "false": no new instance, membership change, update or voluntary restart. */
  processor: `${CONTRACT_PREFIX}processor`,
  /** The revision this copy's spec is. */
  revision: `${CONTRACT_PREFIX}revision`,
  /** Raised by every write to this cluster; also a label. An operator reports the epoch it read at its reconcile's start. */
  epoch: `${CONTRACT_PREFIX}epoch`,
  /** How many of this cluster's instances, the lowest ordinals first, stay on the old revision. */
  partition: `${CONTRACT_PREFIX}partition`,
  /** The instance, of another cluster, that should lead before this cluster's leader is restarted; empty: none is asked for. */
  transferLeaderTo: `${CONTRACT_PREFIX}transfer-leader-to`,
  /** `name=address` of the existing members plus the one that joins, comma separated. */
  initialCluster: `${CONTRACT_PREFIX}initial-cluster`,
  /** "new" for a static first deployment or the very first instance, else "existing". */
  initialClusterState: `${CONTRACT_PREFIX}initial-cluster-state`,
  /** The same for the application's whole life, different for every application. */
  clusterToken: `${CONTRACT_PREFIX}cluster-token`,
} as const;

/** The keys of the proposal's own text, in its own spelling, for operators that were written to it. */
export const SEED_ANNOTATIONS = {
  replicas: "corssclusterstatefulset.karmada.io/replicas",
  processer: "corssclusterstatefulset.karmada.io/processer",
} as const;
