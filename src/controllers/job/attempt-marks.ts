/** How an attempt's object is named and marked in its cluster. */
import { createHash } from "node:crypto";
import type { ParsedCrossClusterJob } from "../../api/index.ts";
import type { ObjectRef } from "../../engine/index.ts";
import type { Attempt, Share } from "../../jobs/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, valueAt } from "../../runtime/index.ts";

/** Annotation: whose attempt it is, its number, and what of the work it has. */
export const ATTEMPT_ANNOTATION = "lockstep.karmada.io/job-attempt";

const LIFE_CHARS = 5;

/**
 * [J1] Each attempt has a name that no other one ever had, of no other life of the CrossClusterJob either: what arrives
 * late, or returns with a cluster, can never be taken for another attempt.
 */
export function attemptRef({ metadata, spec }: ParsedCrossClusterJob, number: number): ObjectRef {
  const own = valueAt(spec.template, "metadata", "name");
  const life = createHash("sha256")
    .update(metadata.uid ?? "")
    .digest("hex")
    .slice(0, LIFE_CHARS);
  const name = `${typeof own === "string" ? own : metadata.name}-${life}-${number}`;
  const { apiVersion, kind } = spec.template;
  return { apiVersion: String(apiVersion), kind: String(kind), namespace: metadata.namespace, name };
}

export function attemptMark(ownerUid: string, { number, share }: Pick<Attempt, "number" | "share">): string {
  return JSON.stringify({ owner: ownerUid, number, share });
}

/** What the object says that it is; undefined: it is no attempt of this owner. */
export function readAttemptMark(object: KubeObject, ownerUid: string, number: number): Share | undefined {
  const text = object.metadata.annotations?.[ATTEMPT_ANNOTATION];
  if (text === undefined) return undefined;
  try {
    const mark: unknown = JSON.parse(text);
    if (!isJsonObject(mark) || mark.owner !== ownerUid || mark.number !== number) return undefined;
    return readShare(mark.share);
  } catch {
    return undefined;
  }
}

function readShare(share: unknown): Share | undefined {
  if (!isJsonObject(share)) return undefined;
  if (share.kind === "indexes" && typeof share.indexes === "string") return { kind: "indexes", indexes: share.indexes };
  if (share.kind === "count" && typeof share.count === "number") return { kind: "count", count: share.count };
  return share.kind === "whole" ? { kind: "whole" } : undefined;
}
