import { type JsonObject, timestamp } from "../../runtime/index.ts";
import { integerAt, objectsAt, presentAt, textAt, withValue } from "../fields.ts";
import type { Handler } from "../operations.ts";
import { collected } from "./aggregate.ts";

/**
 * A Job over several clusters is complete if it is complete in all, and failed if it failed in any. After it has
 * finished, its status never changes again. `now` stamps the conditions.
 */
export function aggregateJob(now: () => number): Handler<"AggregateStatus"> {
  return ({ object, items = [] }) => {
    if (finishedAs(objectsAt(object, "status", "conditions")) !== undefined) return object;
    const members = collected(items).map(({ cluster, status }) => ({
      cluster,
      status,
      conditions: objectsAt(status, "conditions"),
    }));
    const all = (count: number) => count > 0 && count === items.length;
    const add = (field: string) => members.reduce((sum, { status }) => sum + (integerAt(status, field) ?? 0), 0);
    const times = (field: string) => members.flatMap(({ status }) => textAt(status, field) ?? []).sort();

    const stamp = timestamp(now());
    const condition = (type: string, reason: string, message: string): JsonObject => ({
      type,
      status: "True",
      lastProbeTime: stamp,
      lastTransitionTime: stamp,
      reason,
      message,
    });
    const conditions: JsonObject[] = [];
    const failed = members.filter(({ conditions }) => finishedAs(conditions) === "Failed");
    if (failed.length > 0) {
      const clusters = failed.map(({ cluster }) => cluster).join(", ");
      conditions.push(condition("Failed", "JobFailed", `failed in ${clusters}`));
    }
    if (all(members.filter(({ conditions }) => finishedAs(conditions) === "Complete").length)) {
      conditions.push(condition("Complete", "Completed", "complete in every cluster"));
      if (all(members.filter(({ conditions }) => conditions.some(isTrue("SuccessCriteriaMet"))).length)) {
        conditions.push(condition("SuccessCriteriaMet", "CompletionsReached", "met in every cluster"));
      }
    }

    const started = times("startTime");
    const completed = times("completionTime");
    const startTime = presentAt(object, "status", "startTime") ?? (all(started.length) ? started[0] : undefined);
    const completionTime = all(completed.length) ? completed.at(-1) : undefined;
    const counts = ["active", "succeeded", "failed"].flatMap((field): [string, number][] => {
      const count = add(field);
      return count > 0 ? [[field, count]] : [];
    });
    return withValue(object, ["status"], {
      ...Object.fromEntries(counts),
      ...(conditions.length > 0 && { conditions }),
      ...(startTime !== undefined && { startTime }),
      ...(completionTime !== undefined && { completionTime }),
    });
  };
}

function finishedAs(conditions: readonly JsonObject[]): "Complete" | "Failed" | undefined {
  const finished = conditions.find((condition) => isTrue("Complete")(condition) || isTrue("Failed")(condition));
  if (finished === undefined) return undefined;
  return finished.type === "Complete" ? "Complete" : "Failed";
}

function isTrue(type: string): (condition: JsonObject) => boolean {
  return (condition) => condition.type === type && condition.status === "True";
}
