import { isJsonObject, type Json, ownField, valueAt } from "../../runtime/index.ts";
import { RefusalError } from "../refusal.ts";
import { HOOK_EVENTS, type Hook, type HookEvent } from "../types.ts";

const DELETE_POLICIES = ["before-hook-creation", "hook-succeeded", "hook-failed"];

/** What Helm means by an object's hook annotations; undefined if the object is no hook. */
export function hookOf(object: Json, place: string): Hook | undefined {
  const annotations = valueAt(object, "metadata", "annotations");
  const at = (key: string) => (isJsonObject(annotations) ? ownField(annotations, key) : undefined);
  const names = at("helm.sh/hook");
  if (typeof names !== "string") return undefined;
  const weight = Number.parseInt(String(at("helm.sh/hook-weight") ?? ""), 10);
  const policies = words(at("helm.sh/hook-delete-policy"));
  const unknown = policies.find((policy) => !DELETE_POLICIES.includes(policy));
  if (unknown !== undefined) throw unknownWord(place, "delete policy", unknown, DELETE_POLICIES);
  return {
    events: [...new Set(words(names).map((name) => eventOf(name, place)))],
    // Helm takes a weight that is not a number for 0.
    weight: Number.isNaN(weight) ? 0 : weight,
    deletePolicies: policies.length > 0 ? policies : ["before-hook-creation"],
  };
}

/** helm leaves out objects whose hook it does not know, with one line on stderr; the first such name, if there is one. */
export function skippedHook(stderr: string): string | undefined {
  // helm 3: `skipping unknown hook: "x"`; helm 4: `msg="skipping unknown hooks" hookTypes=x`.
  const [, old, quoted, plain] =
    /skipping unknown hook(?:: "([^"]*)"|s" hookTypes=(?:"([^"]*)"|(\S+)))/.exec(stderr) ?? [];
  return old ?? quoted ?? plain;
}

export function unknownHook(place: string, name: string): RefusalError {
  return unknownWord(place, "hook", name, HOOK_EVENTS);
}

function eventOf(name: string, place: string): HookEvent {
  // Helm 2's name, which Helm still takes.
  const known = name === "test-success" ? "test" : HOOK_EVENTS.find((event) => event === name);
  if (known === undefined) throw unknownHook(place, name);
  return known;
}

function unknownWord(place: string, what: string, word: string, known: readonly string[]): RefusalError {
  return new RefusalError(
    "RenderFailed",
    `${place} has the unknown Helm ${what} "${word}", so helm would leave it out`,
    `correct the chart; Helm knows ${known.join(", ")}`,
  );
}

function words(value: Json | undefined): string[] {
  if (typeof value !== "string") return [];
  return value
    .split(",")
    .map((word) => word.trim().toLowerCase())
    .filter((word) => word !== "");
}
