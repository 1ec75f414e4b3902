import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { KubeObject, Shape } from "../types.ts";
import { FieldSet } from "./field-set.ts";
import { compare, ownedFields } from "./structure.ts";

/** Where `kubectl apply` without --server-side keeps what it applied last. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** The field manager of `kubectl apply --server-side`, unless the user names another to opt out of taking over. */
const KUBECTL = "kubectl";

/**
 * What kubectl applied from the client's side and nobody changed since: `kubectl apply --server-side` may take it over
 * without a conflict, although the server knows it under another manager.
 */
export function takenOver(manager: string, live: KubeObject | undefined, shape: Shape): FieldSet {
  const applied = manager === KUBECTL ? lastApplied(live) : undefined;
  if (!applied) return new FieldSet();
  const { changed, removed } = compare(applied, live, shape);
  return ownedFields(applied, shape).subtract(changed).subtract(removed);
}

/** Keeps the annotation current, so that client-side apply goes on to work after a server-side one. */
export function refreshLastApplied(
  manager: string,
  live: KubeObject | undefined,
  config: JsonObject,
  merged: JsonObject,
): void {
  if (manager !== KUBECTL || !lastApplied(live) || !isJsonObject(merged.metadata)) return;
  const { annotations } = merged.metadata;
  if (isJsonObject(annotations)) annotations[LAST_APPLIED] = `${JSON.stringify(config)}\n`;
}

function lastApplied(live: KubeObject | undefined): JsonObject | undefined {
  const text = live?.metadata.annotations?.[LAST_APPLIED];
  if (text === undefined) return undefined;
  try {
    const applied: unknown = JSON.parse(text);
    return isJsonObject(applied) ? applied : undefined;
  } catch {
    return undefined; // Anyone may write annotations: one that is no JSON says nothing.
  }
}
