/**
 * An agent's reports on a ManifestWork. Applied and Available come from two controllers that do not wait for each
 * other, and an agent that is gone leaves its last report unchanged: none of it is evidence by itself.
 */
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { conditionsOf, manifestOf, refOf } from "../dispatch-objects.ts";
import type { ObjectRef } from "../port.ts";

/** The report on one of the manifests; without `ref`, on the first, which is the dispatched object. */
export function manifestStatus(work: KubeObject, ref = firstRef(work)): JsonObject | undefined {
  const status = isJsonObject(work.status) ? work.status.resourceStatus : undefined;
  const reports = isJsonObject(status) && Array.isArray(status.manifests) ? status.manifests.filter(isJsonObject) : [];
  return ref && reports.find(({ resourceMeta }) => isJsonObject(resourceMeta) && isMetaOf(resourceMeta, ref));
}

/** Whether the agent has applied exactly this generation; undefined: not reported yet. */
export function isApplied(work: KubeObject): boolean | undefined {
  const applied = conditionIn(manifestStatus(work), "Applied");
  if (applied === undefined || applied.observedGeneration !== work.metadata.generation) return undefined;
  return applied.status === "True";
}

export function appliedMessage(work: KubeObject): string {
  const message = conditionIn(manifestStatus(work), "Applied")?.message;
  return typeof message === "string" ? message : "";
}

/** Whether the member had the object at the agent's last check; undefined: unknown. */
export function isThere(report: JsonObject | undefined): boolean | undefined {
  const status = conditionIn(report, "Available")?.status;
  return status === "True" ? true : status === "False" ? false : undefined;
}

/** Fields that the agent may not report because they are no single values: its gate for them is off by default. */
export function withheldParts(report: JsonObject | undefined): string[] {
  const { status, message } = conditionIn(report, "StatusFeedbackSynced") ?? {};
  if (status !== "False" || typeof message !== "string") return [];
  return [...message.matchAll(/ of the value for (\/\S+) is not found/g)].map(([, pointer = ""]) => pointer);
}

/** Whether the agent's last check came after it had seen exactly this generation. */
export function isLookedAt(work: KubeObject): boolean {
  const available = conditionsOf(work).find(({ type }) => type === "Available");
  return available !== undefined && available.observedGeneration === work.metadata.generation;
}

/** Whether the agent has done everything that this generation asks, for any writer's ManifestWork. */
export function isSettled(work: KubeObject): boolean {
  const applied = conditionsOf(work).find(({ type }) => type === "Applied");
  return applied?.status === "True" && applied.observedGeneration === work.metadata.generation;
}

function conditionIn(report: JsonObject | undefined, type: string): JsonObject | undefined {
  const conditions = Array.isArray(report?.conditions) ? report.conditions.filter(isJsonObject) : [];
  return conditions.find((condition) => condition.type === type);
}

function firstRef(work: KubeObject): ObjectRef | undefined {
  const manifest = manifestOf(work);
  return manifest && refOf(manifest);
}

function isMetaOf({ kind, namespace = "", name }: JsonObject, ref: ObjectRef): boolean {
  return kind === ref.kind && namespace === ref.namespace && name === ref.name;
}
