import { createHash } from "node:crypto";
import { EPOCH_ANNOTATION, type ObjectRef, OWNER_LABEL } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { canonicalText, isJsonObject, type JsonObject } from "../../runtime/index.ts";

export function isManifest(value: unknown): value is KubeObject {
  return (
    isJsonObject(value) &&
    typeof value.apiVersion === "string" &&
    typeof value.kind === "string" &&
    isJsonObject(value.metadata) &&
    typeof value.metadata.name === "string"
  );
}

export function refOf({ apiVersion, kind, metadata }: KubeObject): ObjectRef {
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name: metadata.name };
}

/** An object's name in plans, status and messages. */
export function keyOfRef({ apiVersion, kind, namespace, name }: ObjectRef): string {
  return `${apiVersion} ${kind} ${namespace === "" ? "" : `${namespace}/`}${name}`;
}

/** What makes it one object in a cluster, in whatever version it is written. */
export function identityOfRef({ apiVersion, kind, namespace, name }: ObjectRef): string {
  return `${groupOf(apiVersion)} ${kind} ${namespace}/${name}`;
}

export function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash < 0 ? "" : apiVersion.slice(0, slash);
}

export function digestOf(value: JsonObject): string {
  return createHash("sha256").update(canonicalText(value)).digest("hex").slice(0, 32);
}

/** The object as one cluster gets it, but for the epoch: the owner's mark, and the cluster's share of replicas. */
export function withShare(object: KubeObject, mark: string, replicas: number | undefined): KubeObject {
  const { metadata } = object;
  const spec = isJsonObject(object.spec) ? object.spec : {};
  return {
    ...object,
    metadata: { ...metadata, labels: { ...metadata.labels, [OWNER_LABEL]: mark } },
    ...(replicas !== undefined && { spec: { ...spec, replicas } }),
  };
}

export function withEpoch(object: KubeObject, epoch: number): KubeObject {
  const annotations = { ...object.metadata.annotations, [EPOCH_ANNOTATION]: String(epoch) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** Annotation on an object that was sent again: engines look at a dispatch object only when its content changes. */
const AGAIN_ANNOTATION = "lockstep.karmada.io/again";

export function withAgain(object: KubeObject, times: number): KubeObject {
  if (times === 0) return object;
  const annotations = { ...object.metadata.annotations, [AGAIN_ANNOTATION]: String(times) };
  return { ...object, metadata: { ...object.metadata, annotations } };
}

export function epochOf({ metadata }: KubeObject): number | null {
  const text = metadata.annotations?.[EPOCH_ANNOTATION];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : null;
}
