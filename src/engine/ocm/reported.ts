import type { Cache, KubeObject } from "../../kube/index.ts";
import { workName } from "../dispatch-objects.ts";
import type { EngineOwner, ObjectRef, Snapshot } from "../port.ts";
import { readManagedCluster } from "./clusters.ts";
import { FRESH_MS, type SignsOfLife } from "./signs-of-life.ts";
import { snapshotByValues } from "./values.ts";

export interface ReportedOptions {
  readonly clusters: Cache<KubeObject>;
  readonly works: Cache<KubeObject>;
  readonly signs: SignsOfLife;
}

/** What the reports of a cluster's agent prove about an object, where the cluster itself cannot be read. */
export class Reported {
  readonly #options: ReportedOptions;

  constructor(options: ReportedOptions) {
    this.#options = options;
  }

  /** `failure`: why the cluster could not be read directly, if that was tried. */
  snapshot(owner: EngineOwner, cluster: string, ref: ObjectRef, failure?: string): Snapshot {
    const { clusters, works, signs } = this.#options;
    const found = clusters.get({ name: cluster });
    const facts = found && readManagedCluster(found);
    if (facts?.state !== "Ready") {
      const message = facts
        ? `cluster ${cluster} is not available to the hub`
        : `cluster ${cluster} is not in the fleet: 'kubectl get managedclusters' shows those that have joined`;
      return { kind: "unreachable", message, ...(facts?.sinceMs !== undefined && { sinceMs: facts.sinceMs }) };
    }
    const work = works.get({ namespace: cluster, name: workName(owner, ref) });
    if (!work) {
      const message = failure ?? `nothing has been dispatched to cluster ${cluster} yet`;
      return { kind: "unreachable", message, isUnasked: true };
    }
    const provenMs = signs.provenMs(work);
    if (provenMs === undefined) {
      return {
        kind: "unreachable",
        message: `the agent of cluster ${cluster} has not reported on ManifestWork ${work.metadata.name} yet`,
      };
    }
    if (!signs.isFresh(work)) {
      const message = `the agent of cluster ${cluster} has given no sign of life for ${FRESH_MS / 1000} s, and its last reports no longer prove anything`;
      return { kind: "unreachable", message, sinceMs: signs.silentSinceMs(work) };
    }
    return snapshotByValues(ref, work, provenMs);
  }
}
