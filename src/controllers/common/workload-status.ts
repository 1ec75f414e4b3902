import type { Snapshot } from "../../engine/index.ts";
import type { Interpreter, StatusItem } from "../../interpret/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

/** The workload's own status fields over all clusters, as its interpreter puts them together. */
export function aggregatedStatus(
  interpreter: Pick<Interpreter, "interpret">,
  members: readonly (readonly [cluster: string, Snapshot])[],
): JsonObject | undefined {
  const items: StatusItem[] = [];
  let example: KubeObject | undefined;
  for (const [cluster, snapshot] of members) {
    if (snapshot.kind !== "present" || !isJsonObject(snapshot.object.status)) continue;
    example = snapshot.object;
    const { crossCluster: _report, ...status } = snapshot.object.status;
    items.push({ clusterName: cluster, status, applied: true });
  }
  if (!example) return undefined;
  const outcome = interpreter.interpret("AggregateStatus", { object: { ...example, status: {} }, items });
  if (outcome.state !== "known") return undefined;
  return isJsonObject(outcome.value.status) ? outcome.value.status : undefined;
}

/** The pods' selector, from any cluster that shows one: the same template everywhere. */
export function selectorOf(members: readonly (readonly [cluster: string, Snapshot])[]): string | undefined {
  for (const [, snapshot] of members) {
    if (snapshot.kind !== "present" || !isJsonObject(snapshot.object.spec)) continue;
    const { selector } = snapshot.object.spec;
    if (!isJsonObject(selector) || !isJsonObject(selector.matchLabels)) continue;
    return Object.entries(selector.matchLabels)
      .map(([key, value]) => `${key}=${value}`)
      .join(",");
  }
  return undefined;
}
