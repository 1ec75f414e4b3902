/** What Kubernetes' Job controller reads from a Job and its pods. Pure. */
import type { KubeObject } from "../../apiserver/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { conditionOf, isDeleting, numberAt, objectAt, objectsAt, textAt } from "../values.ts";
import { ownerReference } from "./pods.ts";

const INDEX_ANNOTATION = "batch.kubernetes.io/job-completion-index";

export type PodEnd = "Succeeded" | "Failed";

export function endOf(pod: KubeObject): PodEnd | undefined {
  const phase = textAt(pod, "status", "phase");
  return phase === "Succeeded" || phase === "Failed" ? phase : undefined;
}

export function indexOf(pod: KubeObject): number | undefined {
  const text = pod.metadata.annotations?.[INDEX_ANNOTATION];
  return text === undefined ? undefined : Number(text);
}

export function isFinished(job: KubeObject): boolean {
  return ["Complete", "Failed"].some((type) => conditionOf(job, type)?.status === "True");
}

export function isIndexed(job: KubeObject): boolean {
  return textAt(job, "spec", "completionMode") === "Indexed";
}

export function jobPod(job: KubeObject, suffix: string, index: number | undefined): KubeObject {
  const template = objectAt(job, "spec", "template");
  const name = index === undefined ? `${job.metadata.name}-${suffix}` : `${job.metadata.name}-${index}-${suffix}`;
  const spec = objectAt(template, "spec");
  const value = String(index);
  const containers = objectsAt(spec, "containers").map((container) => {
    const env = objectsAt(container, "env");
    if (index === undefined || env.some((each) => each.name === "JOB_COMPLETION_INDEX")) return container;
    return { ...container, env: [...env, { name: "JOB_COMPLETION_INDEX", value }] };
  });
  const annotations = objectAt(template, "metadata", "annotations");
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name,
      namespace: job.metadata.namespace ?? "",
      labels: texts(objectAt(template, "metadata", "labels")),
      annotations: { ...texts(annotations), ...(index !== undefined && { [INDEX_ANNOTATION]: value }) },
      ownerReferences: [ownerReference(job)],
    },
    spec: { ...spec, containers },
  };
}

export interface JobView {
  readonly job: KubeObject;
  readonly pods: readonly KubeObject[];
  readonly nowMs: number;
}

export interface JobDecision {
  readonly status: JsonObject;
  readonly create: readonly (number | undefined)[];
  readonly remove: readonly KubeObject[];
  /** When time alone changes something. */
  readonly nextMs?: number;
}

/** Ranges as Kubernetes writes them: `0-3,7`. */
export function indexesText(indexes: readonly number[]): string {
  const parts: string[] = [];
  const sorted = [...new Set(indexes)].sort((a, b) => a - b);
  for (let at = 0; at < sorted.length; ) {
    let end = at;
    while (sorted[end + 1] === (sorted[end] ?? 0) + 1) end++;
    parts.push(end === at ? `${sorted[at]}` : `${sorted[at]}-${sorted[end]}`);
    at = end + 1;
  }
  return parts.join(",");
}

export function startTimeMs(job: KubeObject): number | undefined {
  const ms = Date.parse(textAt(job, "status", "startTime"));
  return Number.isFinite(ms) ? ms : undefined;
}

export function wantedOf(job: KubeObject): number | undefined {
  return numberAt(job, "spec", "completions");
}

export function isEnding(pod: KubeObject): boolean {
  return isDeleting(pod) && endOf(pod) === undefined;
}

function texts(map: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(map).flatMap(([key, value]) => (typeof value === "string" ? [[key, value]] : [])),
  );
}
