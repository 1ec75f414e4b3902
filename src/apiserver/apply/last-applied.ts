import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { KubeObject, Shape } from "../types.ts";
import { FieldSet } from "./field-set.ts";
import { compare, ownedFields } from "./structure.ts";

/** The annotation in which `kubectl apply` without --server-side stores what it applied last. */
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/** The field manager of `kubectl apply --server-side`, unless the user names another to opt out of taking over. */
const KUBECTL = "kubectl";

/**
 * What kubectl applied client-side and no other manager has changed since: `kubectl apply --server-side` may take it
 * over without a conflict, although the server records another manager.
 */
export function takenOver(manager: string, live: KubeObject | undefined, shape: Shape): FieldSet {
  const applied = manager === KUBECTL ? lastApplied(live) : undefined;
  if (!applied) return new FieldSet();
  const { changed, removed } = compare(applied, live, shape);
  return ownedFields(applied, shape).subtract(changed).subtract(removed);
}

/** Keeps the annotation current, so that client-side apply still works after a server-side one. */
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
    return undefined; // Any user may write annotations: one that is not JSON is ignored.
  }
}
