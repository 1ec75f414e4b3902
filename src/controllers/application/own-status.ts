import type { Ledger } from "../../applications/index.ts";
import type { Engine, EngineBundle, ObjectRef } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { aggregatedStatus } from "../common/workload-status.ts";
import type { Way } from "./way.ts";

/** One object's fields, and those of all objects: the whole status must fit into one object of the hub. */
const OBJECT_MAX_CHARS = 8_000;
const ALL_MAX_CHARS = 200_000;

export interface StatusSources {
  readonly engine: Pick<Engine, "snapshot">;
  readonly interpreter: Pick<Interpreter, "interpret" | "isCustom">;
  readonly owner: EngineBundle;
  readonly way: Way;
}

/**
 * The status fields of objects for which a customization, a webhook or a bundled script aggregates them, by object.
 * Kubernetes' own kinds have health and replicas in status already.
 */
export function ownStatuses(
  { engine, interpreter, owner, way }: StatusSources,
  { clusters }: Ledger,
): ReadonlyMap<string, JsonObject> {
  const holders = new Map<string, { readonly ref: ObjectRef; readonly clusters: string[] }>();
  for (const [cluster, { grant }] of Object.entries(clusters)) {
    if (!grant || grant.mode === "Delete") continue;
    for (const { key, ref, object, hook } of way.parts(grant.revision, cluster) ?? []) {
      const known = holders.get(key);
      if (known) known.clusters.push(cluster);
      else if (!hook && interpreter.isCustom("AggregateStatus", { object })) {
        holders.set(key, { ref, clusters: [cluster] });
      }
    }
  }
  const found = new Map<string, JsonObject>();
  let left = ALL_MAX_CHARS;
  for (const [key, { ref, clusters: names }] of holders) {
    const members = names.map((cluster) => [cluster, engine.snapshot(owner, cluster, ref)] as const);
    const status = aggregatedStatus(interpreter, members);
    const size = status ? JSON.stringify(status).length : 0;
    if (!status || size > OBJECT_MAX_CHARS || size > left) continue;
    left -= size;
    found.set(key, status);
  }
  return found;
}
