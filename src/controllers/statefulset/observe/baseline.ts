import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { EngineCluster } from "../../../engine/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { type RevisionContent, renderMember, workloadDifferences } from "../../../render/index.ts";
import { isUnanswered, replicaSource } from "../../common/interpreted.ts";
import { networkOf } from "./network.ts";

export interface RunningObject {
  readonly live: KubeObject;
  readonly cluster: EngineCluster;
  readonly replicas: number;
  readonly start: number;
}

/**
 * Whether a cluster runs this very revision: rendered for it, with the count and the first ordinal that it has, it
 * would change nothing of its workload. That is what an adoption has to know, whatever the marks on the object say.
 */
export function runsRevision(
  { live, cluster, replicas, start }: RunningObject,
  revision: { readonly id: string; readonly content: RevisionContent },
  statefulset: ParsedCrossClusterStatefulset,
  interpreter: Pick<Interpreter, "interpret">,
): boolean {
  const { metadata, spec } = statefulset;
  const { name, namespace } = metadata;
  const count = replicaSource(interpreter, revision.content.template, replicas);
  if (isUnanswered(count)) return false;
  const rendered = renderMember({
    app: { name, namespace, service: name, clusterToken: "" },
    cluster,
    grant: {
      cluster: cluster.name,
      revision: revision.id,
      replicas,
      partition: 0,
      processor: false,
      topologyVersion: 0,
      epoch: 0,
      start,
      initialClusterState: "existing",
      onDelete: false,
    },
    revision,
    topology: { version: 0, clusters: [] },
    initialCluster: "",
    replicas: count,
    network: networkOf(statefulset),
    member: { retention: spec.retentionPolicy, memberConcurrency: spec.memberConcurrency },
  });
  const workload = rendered.ok ? rendered.manifests.find(({ role }) => role === "workload") : undefined;
  return workload !== undefined && workloadDifferences(live, workload.object).length === 0;
}
