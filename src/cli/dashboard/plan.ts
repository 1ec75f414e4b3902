/** The plan ahead, computed by `lockstep plan` with the viewer's rights. */
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { AheadView, DiffView, PlanView } from "../../web/index.ts";
import { given } from "./words.ts";

/** A page shows no more steps; nor would a person read them. */
const MAX_AHEAD = 200;
const MAX_DIFF_LINES = 400;
/** Of all differences together: with overrides, each of a hundred clusters may have its own. */
const MAX_ALL_LINES = 2_000;
const MAX_BLOCKED = 50;
/** Of one cluster's difference. */
const MAX_OBJECTS = 200;

/** Reads the JSON that `lockstep plan -o json` prints. Pure. */
export function planView(printed: JsonObject): PlanView {
  const all = listOf(printed.blockedBy);
  const events = listOf(printed.events);
  const { diffs, left } = fewer(alike(listOf(printed.diffs)));
  const hidden = Math.max(0, events.length - MAX_AHEAD) + Math.max(0, all.length - MAX_BLOCKED) + left;
  const blockedBy = all.slice(0, MAX_BLOCKED).map(({ code, message, remedy }) => ({
    code: String(code),
    message: String(message),
    remedy: typeof remedy === "string" ? remedy : "",
  }));
  return {
    ahead: events.slice(0, MAX_AHEAD).flatMap(aheadOf),
    blockedBy,
    diffs,
    ...given("hidden", hidden === 0 ? undefined : hidden),
  };
}

/** Reads the JSON that `lockstep plan ccj/NAME -o json` prints. Pure. */
export function jobPlanView(printed: JsonObject): PlanView {
  const attempts = (of: unknown, step: string) =>
    listOf(of).map(
      ({ number, cluster, work }): AheadView => ({
        kind: "step",
        cluster: String(cluster),
        step: `${step} attempt ${number}`,
        why: String(work),
        instances: [],
        ready: 0,
        needed: 0,
      }),
    );
  const waits = listOf(printed.waiting).map(({ code, message, remedy }) => ({
    code: String(code),
    message: String(message),
    remedy: typeof remedy === "string" ? remedy : "",
  }));
  const afterFailure = listOf(printed.afterFailure).map(({ failed, next, otherwise }): AheadView => {
    const cluster = isJsonObject(next) ? String(next.cluster) : "";
    const message = cluster === "" ? String(otherwise) : `its work continues in ${cluster}`;
    return { kind: "otherwise", message: `If attempt ${failed} fails: ${message}` };
  });
  return {
    ahead: [...attempts(printed.running, "finish"), ...attempts(printed.starts, "start"), ...afterFailure],
    blockedBy: waits,
    diffs: [],
  };
}

/** Reads the JSON that `lockstep plan dapp/NAME -o json` prints: what each cluster gets. Pure. */
export function changesView(printed: unknown): Pick<PlanView, "diffs" | "hidden"> {
  const all = listOf(printed).map(({ cluster, added, changed, removed, hooks }) => ({
    cluster: String(cluster),
    objects: [
      ...textsOf(added).map((object) => ({ object, change: "new", lines: [] })),
      ...listOf(changed).map(({ key, diff }) => ({ object: String(key), change: "changed", lines: textsOf(diff) })),
      ...listOf(removed).map(({ key, stays }) => ({
        object: String(key),
        change: typeof stays === "string" ? `left there: ${stays}` : "removed",
        lines: [],
      })),
      ...textsOf(hooks).map((object) => ({ object, change: "hook, runs on the way", lines: [] })),
    ].slice(0, MAX_OBJECTS),
  }));
  const { diffs, left } = fewer(alike(all.filter(({ objects }) => objects.length > 0)));
  return { diffs, ...given("hidden", left === 0 ? undefined : left) };
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.map(String) : [];
}

function aheadOf(event: JsonObject): AheadView[] {
  const cluster = String(event.cluster ?? "");
  const figures = isJsonObject(event.figures) ? event.figures : {};
  switch (event.kind) {
    case "step":
      return [
        {
          kind: "step",
          cluster,
          step: String(event.step),
          why: String(event.why),
          instances: Array.isArray(event.instances) ? event.instances.map(String) : [],
          ready: Number(figures.ready ?? 0),
          needed: Number(figures.majority ?? 0),
          ...given("expectedMs", typeof event.expectedMs === "number" ? event.expectedMs : undefined),
        },
      ];
    case "remove":
      return [{ kind: "remove", cluster, why: `its objects are removed; volumes: ${event.volumes}` }];
    case "wait":
      return [{ kind: "wait", code: String(event.code), message: String(event.message), forMs: Number(event.forMs) }];
    case "person":
      return [
        {
          kind: "person",
          code: String(event.code),
          message: String(event.message),
          remedy: String(event.remedy),
        },
      ];
    default:
      return [];
  }
}

/** Clusters with the same difference are shown once. */
function alike(diffs: readonly JsonObject[]): DiffView[] {
  const groups = new Map<string, { clusters: string[]; objects: DiffView["objects"] }>();
  for (const { cluster, objects } of diffs) {
    const key = JSON.stringify(objects);
    const group = groups.get(key);
    if (group) group.clusters.push(String(cluster));
    else groups.set(key, { clusters: [String(cluster)], objects: listOf(objects).map(objectDiff) });
  }
  return [...groups.values()];
}

/** The first ones, as far as they fit; at least one. */
function fewer(diffs: readonly DiffView[]): { diffs: DiffView[]; left: number } {
  let lines = 0;
  const kept = diffs.filter(({ objects }, index) => {
    lines += objects.reduce((sum, { lines: each }) => sum + each.length, 0);
    return index === 0 || lines <= MAX_ALL_LINES;
  });
  return { diffs: kept, left: diffs.length - kept.length };
}

function objectDiff({ object, change, lines }: JsonObject): DiffView["objects"][number] {
  const all = Array.isArray(lines) ? lines.map(String) : [];
  const rest = all.length - MAX_DIFF_LINES;
  const shown = rest > 0 ? [...all.slice(0, MAX_DIFF_LINES), `... and ${rest} more lines`] : all;
  return { object: String(object), change: String(change), lines: shown };
}

function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
