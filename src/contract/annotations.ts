export const CONTRACT_PREFIX = "crossclusterstatefulset.karmada.io/";

/** The annotations of every member's copy of the object. */
export const ANNOTATIONS = {
  /** The name of the cluster this copy is for. */
  cluster: `${CONTRACT_PREFIX}cluster`,
  /**
   * JSON of TopologyCluster[], the same for all clusters that were granted this topology version. If it is too large
   * for an annotation: TOPOLOGY_ELSEWHERE.
   */
  topology: `${CONTRACT_PREFIX}topology`,
  /**
   * JSON of a TopologyRef if the topology is too large for an annotation; empty: `topology` and `initial-cluster` are
   * used.
   */
  topologyRef: `${CONTRACT_PREFIX}topology-ref`,
  /** A number that only increases. A member must not restart a running instance because of it. */
  topologyVersion: `${CONTRACT_PREFIX}topology-version`,
  /** "true": act on the spec. "false": no new instance, membership change, update or voluntary restart. */
  processor: `${CONTRACT_PREFIX}processor`,
  /** The revision of this copy's spec. */
  revision: `${CONTRACT_PREFIX}revision`,
  /**
   * Increased by every write to this cluster; also a label. An operator reports the epoch that it read at the start of
   * its reconcile.
   */
  epoch: `${CONTRACT_PREFIX}epoch`,
  /** How many of this cluster's instances, the lowest ordinals first, stay on the old revision. */
  partition: `${CONTRACT_PREFIX}partition`,
  /** The instance, in another cluster, that should lead before this cluster's leader restarts; empty: no request. */
  transferLeaderTo: `${CONTRACT_PREFIX}transfer-leader-to`,
  /** `name=address` of the existing members and of the joining one, comma-separated; or TOPOLOGY_ELSEWHERE. */
  initialCluster: `${CONTRACT_PREFIX}initial-cluster`,
  /** "new" for a static first deployment or the very first instance, otherwise "existing". */
  initialClusterState: `${CONTRACT_PREFIX}initial-cluster-state`,
  /** Constant for the application's lifetime, and different for every application. */
  clusterToken: `${CONTRACT_PREFIX}cluster-token`,
} as const;

/** The annotation keys of the proposal's text, in its spelling, for operators that were written for it. */
export const SEED_ANNOTATIONS = {
  replicas: "corssclusterstatefulset.karmada.io/replicas",
  processer: "corssclusterstatefulset.karmada.io/processer",
} as const;
