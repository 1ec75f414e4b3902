/** What a cluster has been given. */
import type { ClusterName, RevisionId } from "../../rollout/index.ts";

export interface Grant {
  readonly cluster: ClusterName;
  readonly revision: RevisionId;
  readonly replicas: number;
  /** The cluster's own share: so many of its lowest instances stay on the revision before this one. */
  readonly partition: number;
  /** The turn, as the member reads it. Always false if members do not read turns. */
  readonly processor: boolean;
  /** Names a view that `topologyView(ledger, version)` returns. */
  readonly topologyVersion: number;
  readonly transferLeaderTo?: string;
  /** Raised by every write to this cluster. */
  readonly epoch: number;
  /** This cluster's first ordinal: a StatefulSet's ordinals.start. Never changes while the cluster holds instances. */
  readonly start: number;
  /** `new`: the instances form the application. `existing`: they join it. */
  readonly initialClusterState: "new" | "existing";
  /** No instance is restarted for this revision; one that a user deletes comes back on it. */
  readonly onDelete: boolean;
}
