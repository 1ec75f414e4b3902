/** How Karmada's execution controller writes one manifest into a member, and removes it. */
import type { KubeObject } from "../../apiserver/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import { includesJson, type JsonObject } from "../../runtime/index.ts";
import type { LocalApi, Send } from "../local-api.ts";
import { objectAt } from "../values.ts";
import { KARMADA } from "./kinds.ts";

export interface Delivery {
  readonly manifest: KubeObject;
  readonly live: KubeObject | undefined;
  readonly member: LocalApi;
  readonly interpreter: Interpreter;
  readonly cluster: string;
  readonly send: Send;
}

/**
 * Thrown when a member has an object of this name that is not Karmada's, and the manifest does not request to take it
 * over.
 */
export class NotManagedError extends Error {
  override readonly name = "NotManagedError";

  constructor({ kind, metadata }: KubeObject, cluster: string) {
    super(
      `resource(kind=${kind}, ${metadata.namespace ?? ""}/${metadata.name}) already exists in the cluster ${cluster} and the ${KARMADA.conflictResolution} strategy value is empty, Karmada will not manage this resource`,
    );
  }
}

export async function deliver({ manifest, live, member, interpreter, cluster, send }: Delivery): Promise<void> {
  if (!live) {
    const { namespace } = manifest.metadata;
    if (namespace && !member.get("/namespaces", "", namespace)) {
      await member.create({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, send);
    }
    return member.create(manifest, send);
  }
  const mayOverwrite = manifest.metadata.annotations?.[KARMADA.conflictResolution] === "overwrite";
  if (!isManaged(live) && !mayOverwrite) throw new NotManagedError(manifest, cluster);
  await member.update(retained(manifest, live, interpreter), send);
}

/** The manifest, with the fields that belong to the member. */
function retained(manifest: KubeObject, live: KubeObject, interpreter: Interpreter): KubeObject {
  const merged = withMembersMetadata(manifest, live);
  const outcome = interpreter.interpret("Retain", { object: merged, observed: live });
  const wanted = outcome.state === "known" ? { ...merged, ...outcome.value } : merged;
  const { status: _members, ...rest } = wanted;
  return { ...rest, ...(live.status !== undefined && { status: live.status }) };
}

/**
 * Whether the member's object differs from what was written. Karmada compares the generation and the labels; only
 * objects without a generation are compared by version. So it never repairs an annotation.
 */
export function isDrifted(manifest: KubeObject, live: KubeObject, written: string | undefined): boolean {
  return written !== versionOf(live) || !includesJson(live.metadata.labels, manifest.metadata.labels);
}

export function versionOf({ metadata }: KubeObject): string {
  const { uid, generation, resourceVersion } = metadata;
  return generation === undefined ? `${uid}/rv:${resourceVersion}` : `${uid}/gen:${generation}`;
}

/** Deletes an object that Karmada manages; leaves any other object. */
export async function remove(live: KubeObject, member: LocalApi, send: Send): Promise<void> {
  if (isManaged(live)) await member.delete(live, { propagationPolicy: "Background" }, send);
}

const MANAGED_LABELS: readonly string[] = [KARMADA.managed, KARMADA.bindingId, KARMADA.workId];
const MANAGED_ANNOTATIONS: readonly string[] = [
  KARMADA.bindingName,
  KARMADA.bindingNamespace,
  KARMADA.workName,
  KARMADA.workNamespace,
];

/** Releases an object that stays: its content is written once more, and Karmada's marks are removed. */
export async function release({ manifest, live, member, interpreter, send }: Delivery): Promise<void> {
  if (!live) return;
  const written = isManaged(live) ? retained(manifest, live, interpreter) : live;
  const labels = without(objectAt(written, "metadata", "labels"), MANAGED_LABELS);
  const annotations = without(objectAt(written, "metadata", "annotations"), MANAGED_ANNOTATIONS);
  await member.update({ ...written, metadata: { ...written.metadata, labels, annotations } }, send);
}

function isManaged(object: KubeObject): boolean {
  return object.metadata.labels?.[KARMADA.managed] === "true";
}

/** What the member, or others in it, added stays: finalizers, owners, and labels and annotations with other names. */
function withMembersMetadata(manifest: KubeObject, live: KubeObject): KubeObject {
  const { resourceVersion, uid, finalizers, ownerReferences } = live.metadata;
  return {
    ...manifest,
    metadata: {
      ...manifest.metadata,
      ...(uid && { uid }),
      ...(resourceVersion && { resourceVersion }),
      ...(finalizers && { finalizers }),
      ...(ownerReferences && { ownerReferences }),
      labels: { ...live.metadata.labels, ...manifest.metadata.labels },
      annotations: { ...live.metadata.annotations, ...manifest.metadata.annotations },
    },
  };
}

function without(map: JsonObject, keys: readonly string[]): Record<string, string> {
  const kept: Record<string, string> = {};
  for (const [key, value] of Object.entries(map)) {
    if (!keys.includes(key) && typeof value === "string") kept[key] = value;
  }
  return kept;
}
