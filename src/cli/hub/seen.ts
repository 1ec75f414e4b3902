/** What a person saw when they decided. An action on anything else is refused: it would not be what they meant. */
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { Seen } from "../../web/index.ts";
import { CommandError } from "../errors.ts";

/** Of what was seen, the part that an action depends on. */
export type Expected = Partial<Seen>;

/** An option of everything that acts on one object. */
export interface Bound {
  readonly seen?: Expected;
}

/** What a person sees of the object now; of any kind that Lockstep acts on. */
export function seenOf({ metadata, status: given }: KubeObject): Seen {
  const status = isJsonObject(given) ? given : {};
  const rollout = isJsonObject(status.rollout) ? status.rollout : {};
  // A CrossClusterStatefulset has updateRevision, a DistributedApplication revision.
  const revision = textIn(rollout.to) ?? textIn(status.updateRevision) ?? textIn(status.revision);
  const wave = typeof rollout.wave === "number" ? rollout.wave : undefined;
  const from = textIn(rollout.from);
  const attempts = listIn(status.attempts).flatMap(({ number }) => (typeof number === "number" ? [number] : []));
  return {
    uid: metadata.uid ?? "",
    ...(revision !== undefined && { revision }),
    ...(from !== undefined && { from }),
    ...(wave !== undefined && { wave }),
    past: heldBy(status, rollout),
    ...(attempts.length > 0 && { attempt: Math.max(...attempts) }),
  };
}

/** What a promotion would go past. A DistributedApplication says it by its reasons. */
function heldBy(status: JsonObject, rollout: JsonObject): Seen["past"] {
  const reasons = [status.reason, ...listIn(status.clusters).map(({ reason }) => reason)];
  const isDistribution = status.revision !== undefined;
  const soaks = isDistribution
    ? reasons.includes("Soaking") && rollout.wave !== undefined
    : rollout.soakUntil !== undefined;
  const isClosed = isDistribution ? reasons.includes("WindowClosed") : rollout.windowClosed === true;
  return [...(soaks ? (["soak"] as const) : []), ...(isClosed ? (["window"] as const) : [])];
}

/** Throws CommandError if what was seen is no longer so. Nothing must have been written before. */
export function expectSeen(what: string, expected: Expected, object: KubeObject): void {
  const difference = differenceOf(expected, seenOf(object));
  if (difference === undefined) return;
  throw new CommandError(
    `${what} has changed since you looked: ${difference}. Nothing was done. Look again, then decide`,
  );
}

function differenceOf(expected: Expected, now: Seen): string | undefined {
  if ("uid" in expected && expected.uid !== now.uid) return "it was deleted, and another one has its name";
  if ("revision" in expected && expected.revision !== now.revision) {
    return `it was to run revision ${expected.revision ?? "none"}, and is now to run ${now.revision ?? "none"}`;
  }
  if ("from" in expected && expected.from !== now.from) {
    return `its rollout started from ${expected.from ?? "nothing"}, and is now ${now.from === undefined ? "over" : `one from ${now.from}`}`;
  }
  if ("wave" in expected && expected.wave !== now.wave) {
    return `it was at wave ${expected.wave ?? "none"}, and is now at wave ${now.wave ?? "none"}`;
  }
  if ("past" in expected && expected.past?.join() !== now.past.join()) {
    return `it waited for ${holdWords(expected.past)}, and now waits for ${holdWords(now.past)}`;
  }
  if ("attempt" in expected && expected.attempt !== now.attempt) {
    return `its last attempt was number ${expected.attempt ?? "none"}, and is now number ${now.attempt ?? "none"}`;
  }
  return undefined;
}

function holdWords(past: Seen["past"] = []): string {
  const words = { soak: "its soak", window: "a maintenance window" };
  return past.map((one) => words[one]).join(" and ") || "neither a soak nor a maintenance window";
}

/** `--revision` and `--wave`. */
export function named({ revision, wave }: { readonly revision?: string; readonly wave?: string }): Expected {
  if (wave !== undefined && !/^[1-9]\d{0,3}$/.test(wave))
    throw new CommandError(`--wave '${wave}' is not a number from 1`);
  return { ...(revision !== undefined && { revision }), ...(wave !== undefined && { wave: Number(wave) }) };
}

function textIn(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function listIn(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
