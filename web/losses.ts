/** What the loss of one cluster would do to the quorum now. Pure. */
import type { ClusterView, QuorumView } from "../src/web/types.ts";

export interface Loss {
  readonly cluster: string;
  /** Ready instances that would be left. */
  readonly left: number;
  readonly keepsQuorum: boolean;
}

/** The worst first. An instance that is not known to be ready is not counted on. */
export function lossesOf(
  { ready, needed }: Pick<QuorumView, "ready" | "needed">,
  clusters: readonly Pick<ClusterView, "name" | "ready" | "replicas">[],
): Loss[] {
  return clusters
    .filter(({ replicas }) => replicas > 0)
    .map((one) => {
      const left = Math.max(0, ready - Math.min(one.ready ?? 0, one.replicas));
      return { cluster: one.name, left, keepsQuorum: left >= needed };
    })
    .sort((a, b) => a.left - b.left);
}
