/**
 * Parses the answers of scripts and webhooks. Other people write them, so each answer is checked here, once, and an
 * invalid one becomes a BadAnswer that names the field.
 */
import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import {
  BadObject,
  describe,
  integerAt,
  objectAt,
  objectsAt,
  presentAt,
  textAt,
  textMapAt,
  wrongType,
} from "./fields.ts";
import { Quantity, QuantityError } from "./lua/quantity.ts";
import type { Completion, Component, Dependency, LeaderClaim, Progress, ReplicaRequirements } from "./operations.ts";

/** Thrown when the answer of a script or webhook is not valid for the operation. */
export class BadAnswer extends Error {
  override readonly name = "BadAnswer";
}

/** Thrown when an object has no field that the operation could read. */
export class NothingToRead extends Error {
  override readonly name = "NothingToRead";
}

/** Karmada's API uses 32 bits; a count outside of that range is a bug in a script. */
const MAX_REPLICAS = 2 ** 31 - 1;

/** Lua has only floating-point numbers: as in Karmada, the fraction is dropped. */
export function parseReplicas(value: Json | undefined, field: string): number {
  if (typeof value !== "number" || !Number.isFinite(value)) {
    throw new BadAnswer(`${field} must be a number, found ${describe(value)}`);
  }
  const replicas = Math.trunc(value);
  if (replicas < 0 || replicas > MAX_REPLICAS) {
    throw new BadAnswer(`${field} must be between 0 and ${MAX_REPLICAS}, found ${value}`);
  }
  return replicas;
}

export function parseBoolean(value: Json | undefined, field: string): boolean {
  if (typeof value === "boolean") return value;
  throw new BadAnswer(`${field} must be true or false, found ${describe(value)}`);
}

export function parseObject(value: Json | undefined, field: string): JsonObject {
  if (isJsonObject(value)) return value;
  throw new BadAnswer(`${field} must be an object, found ${describe(value)}`);
}

/** An answer may change everything in an object except its identity. */
export function parseSameObject(value: Json | undefined, field: string, original: JsonObject): JsonObject {
  const changed = parseObject(value, field);
  for (const path of [["apiVersion"], ["kind"], ["metadata", "name"], ["metadata", "namespace"]]) {
    const before = presentAt(original, ...path);
    const after = presentAt(changed, ...path);
    if (before !== after) {
      throw new BadAnswer(
        `${field} is another object: ${path.join(".")} was ${describe(before)}, is ${describe(after)}`,
      );
    }
  }
  return changed;
}

export function parseRequirements(value: Json | undefined, field: string): ReplicaRequirements | undefined {
  if (value === undefined || value === null) return undefined;
  if (isEmptyList(value)) return {};
  const answer = parseObject(value, field);
  return reading(field, () => {
    const requirements: ReplicaRequirements = {};
    const claim = objectAt(answer, "nodeClaim");
    if (claim !== undefined) {
      const hardNodeAffinity = objectAt(claim, "hardNodeAffinity");
      const nodeSelector = textMapAt(claim, "nodeSelector");
      const tolerations = objectsAt(claim, "tolerations");
      requirements.nodeClaim = {
        ...(hardNodeAffinity !== undefined && { hardNodeAffinity }),
        ...(nodeSelector !== undefined && Object.keys(nodeSelector).length > 0 && { nodeSelector }),
        ...(tolerations.length > 0 && { tolerations }),
      };
    }
    const request = objectAt(answer, "resourceRequest");
    if (request !== undefined && Object.keys(request).length > 0) requirements.resourceRequest = quantities(request);
    const namespace = textAt(answer, "namespace");
    if (namespace) requirements.namespace = namespace;
    const priorityClassName = textAt(answer, "priorityClassName");
    if (priorityClassName) requirements.priorityClassName = priorityClassName;
    return requirements;
  });
}

function quantities(request: JsonObject): Record<string, string> {
  return Object.fromEntries(
    Object.entries(request).map(([resource, value]): [string, string] => {
      try {
        if (typeof value === "number" || typeof value === "string")
          return [resource, String(Quantity.parse(String(value)))];
      } catch (error) {
        if (!(error instanceof QuantityError)) throw error;
      }
      throw wrongType(`resourceRequest.${resource}`, "a quantity such as 500m or 1Gi", value);
    }),
  );
}

export function parseComponents(value: Json | undefined, field: string): Component[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new BadAnswer(`${field} must be a list, found ${describe(value)}`);
  return value.map((item, index) => {
    const at = `${field}[${index}]`;
    const answer = parseObject(item, at);
    return reading(at, () => {
      const requirements = parseRequirements(answer.replicaRequirements, `${at}.replicaRequirements`);
      return {
        name: textAt(answer, "name") ?? "",
        replicas: answer.replicas === undefined ? 0 : parseReplicas(answer.replicas, `${at}.replicas`),
        ...(requirements !== undefined && { replicaRequirements: requirements }),
      };
    });
  });
}

/** Checked as in Karmada: apiVersion, kind, and a name or a selector. Without duplicates, in a fixed order. */
export function parseDependencies(value: Json | undefined, field: string): Dependency[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new BadAnswer(`${field} must be a list, found ${describe(value)}`);
  return sortedDependencies(
    value.map((item, index) => {
      const at = `${field}[${index}]`;
      const answer = parseObject(item, at);
      return reading(at, () => {
        const apiVersion = textAt(answer, "apiVersion") ?? "";
        const kind = textAt(answer, "kind") ?? "";
        const namespace = textAt(answer, "namespace");
        const name = textAt(answer, "name");
        const labelSelector = objectAt(answer, "labelSelector");
        if (apiVersion === "") throw new BadAnswer(`${at}.apiVersion is required`);
        if (kind === "") throw new BadAnswer(`${at}.kind is required`);
        if (!name && labelSelector === undefined) throw new BadAnswer(`${at} needs a name or a labelSelector`);
        return {
          apiVersion,
          kind,
          ...(namespace && { namespace }),
          ...(name && { name }),
          ...(labelSelector !== undefined && { labelSelector }),
        };
      });
    }),
  );
}

export function sortedDependencies(dependencies: readonly Dependency[]): Dependency[] {
  const keyed = dependencies.map((dependency): [string, Dependency] => [
    JSON.stringify([
      dependency.apiVersion,
      dependency.kind,
      dependency.namespace ?? "",
      dependency.name ?? "",
      dependency.labelSelector ?? null,
    ]),
    dependency,
  ]);
  return [...new Map(keyed)].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)).map(([, dependency]) => dependency);
}

/**
 * The result of GetProgress. `observedGeneration`, `complete` and `message` may be absent: then the generation cannot
 * be verified, and complete follows from the counts.
 */
export function parseProgress(value: Json | undefined, field: string, generation: number | undefined): Progress {
  const answer = parseObject(value, field);
  return reading(field, () => {
    const desired = parseReplicas(answer.desired, `${field}.desired`);
    const optional = (key: "updated" | "ready" | "available" | "total" | "epoch") =>
      presentAt(answer, key) === undefined ? undefined : parseReplicas(answer[key], `${field}.${key}`);
    const updated = optional("updated");
    const ready = optional("ready");
    const available = optional("available");
    const total = optional("total");
    const epoch = optional("epoch");
    const revision = textAt(answer, "revision");
    const message = textAt(answer, "message");
    const observed = observedState(generation, integerAt(answer, "observedGeneration"));
    const said = presentAt(answer, "complete");
    const counted = updated !== undefined && updated >= desired && ready !== undefined && ready >= desired;
    const complete = observed === "current" && (said === undefined ? counted : parseBoolean(said, `${field}.complete`));
    return {
      desired,
      ...(updated !== undefined && { updated }),
      ...(ready !== undefined && { ready }),
      ...(available !== undefined && { available }),
      ...(total !== undefined && { total }),
      ...(epoch !== undefined && { epoch }),
      ...(revision !== undefined && { revision }),
      observed,
      complete,
      ...(!complete && { message: message ?? missing(observed, desired, updated, ready) }),
    };
  });
}

export function observedState(generation: number | undefined, observed: number | undefined): Progress["observed"] {
  if (observed === undefined || generation === undefined) return "unknown";
  return observed >= generation ? "current" : "stale";
}

function missing(observed: Progress["observed"], desired: number, updated?: number, ready?: number): string {
  if (observed === "stale") return "the status refers to an older generation of the spec";
  if (observed === "unknown") return "the status does not name its generation";
  return `${updated ?? 0} of ${desired} updated, ${ready ?? 0} ready`;
}

/** No instance or cluster has a longer name, and the answer is cached. */
const MAX_NAME_CHARACTERS = 253;

/** A name, or whether the leader is here; nil or an empty text: unknown. */
export function parseLeader(value: Json | undefined, field: string): LeaderClaim {
  if (value === undefined || value === null || value === "") return { claim: "unknown" };
  if (typeof value === "boolean") return { claim: value ? "here" : "elsewhere" };
  if (typeof value === "string") {
    if (value.length <= MAX_NAME_CHARACTERS) return { claim: "named", name: value };
    throw new BadAnswer(`${field} must be a name of at most ${MAX_NAME_CHARACTERS} characters, found ${value.length}`);
  }
  throw new BadAnswer(`${field} must be a name, true, false or nothing, found ${describe(value)}`);
}

const COMPLETION_STATES = ["running", "succeeded", "failed"] as const;
/** A word of a status; a longer one is no word. */
const MAX_REASON_CHARACTERS = 128;
const MAX_MESSAGE_CHARACTERS = 1024;

export function parseCompletion(value: Json | undefined, field: string): Completion {
  const answer = parseObject(value, field);
  return reading(field, () => {
    const state = COMPLETION_STATES.find((each) => each === answer.state);
    if (state === undefined) {
      throw new BadAnswer(`${field}.state must be ${COMPLETION_STATES.join(", ")}, found ${describe(answer.state)}`);
    }
    const reason = textAt(answer, "reason")?.slice(0, MAX_REASON_CHARACTERS);
    const message = textAt(answer, "message")?.slice(0, MAX_MESSAGE_CHARACTERS);
    return { state, ...(reason && { reason }), ...(message && { message }) };
  });
}

function isEmptyList(value: Json): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Reports field errors inside an answer as errors of the answer, with the path as a prefix. */
function reading<T>(field: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof BadObject) throw new BadAnswer(`${field}.${error.message}`);
    throw error;
  }
}
