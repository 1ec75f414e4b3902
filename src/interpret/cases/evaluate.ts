/** One operation of a customization, offline: for `lockstep interpret` and Karmada's test files. */
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import type { Interpreter } from "../interpreter.ts";
import { LUA_OPERATIONS, type LuaOperation } from "../lua-operations.ts";
import type { Inputs, LeaderClaim, Operation, Results, StatusItem } from "../operations.ts";
import type { Failed } from "../outcome.ts";

/** The possible inputs of an operation; each operation uses what it needs. */
export interface Arguments {
  readonly desired?: JsonObject;
  readonly observed?: JsonObject;
  readonly statusItems?: readonly StatusItem[];
  readonly replicas?: number;
}

export type Evaluation =
  /**
   * Results under the names that Karmada's test files use. `before`: the object that a changed object is compared with.
   */
  { ok: true; results: Record<string, Json>; before?: JsonObject } | { ok: false; reason: string; failure?: Failed };

/** Evaluates with customizations only: other layers would hide that a script is missing. */
export function evaluate(interpreter: Interpreter, operation: Operation, given: Arguments): Evaluation {
  if (operation === "Prune")
    return { ok: false, reason: "Prune has no Lua function; only webhooks and native code implement it" };
  const evaluator = new Evaluator(interpreter);
  if (operation === "Retain") {
    const { desired, observed } = given;
    if (desired === undefined || observed === undefined) {
      return { ok: false, reason: "Retain needs both objects: the desired one and the observed one" };
    }
    return evaluator.run("Retain", { object: desired, observed }, (retained) => ({ retained }), desired);
  }
  const object = given.desired ?? given.observed;
  if (object === undefined) return { ok: false, reason: `${operation} needs an object, desired or observed` };
  if (given.desired !== undefined && given.observed !== undefined) {
    return { ok: false, reason: `${operation} takes one object: give the desired or the observed one, not both` };
  }
  switch (operation) {
    case "InterpretReplica":
      return evaluator.run("InterpretReplica", { object }, ({ replicas, requirements }) => ({
        replica: replicas,
        requires: requirements === undefined ? null : toJson(requirements),
      }));
    case "ReviseReplica": {
      const { replicas } = given;
      if (replicas === undefined) return { ok: false, reason: "ReviseReplica needs the number of replicas" };
      return evaluator.run("ReviseReplica", { object, replicas }, (revised) => ({ revised }), object);
    }
    case "InterpretStatus":
      return evaluator.run("InterpretStatus", { object }, (status) => ({ status }));
    case "AggregateStatus": {
      const { statusItems: items } = given;
      const input = { object, ...(items !== undefined && { items }) };
      return evaluator.run("AggregateStatus", input, (aggregatedStatus) => ({ aggregatedStatus }), object);
    }
    case "InterpretHealth":
      return evaluator.run("InterpretHealth", { object }, (healthy) => ({ healthy }));
    case "InterpretDependency":
      return evaluator.run("InterpretDependency", { object }, (found) => ({ dependencies: toJson(found) }));
    case "InterpretComponent":
      return evaluator.run("InterpretComponent", { object }, (components) => ({ components: toJson(components) }));
    case "InterpretProgress":
      return evaluator.run("InterpretProgress", { object }, (progress) => ({ progress: toJson(progress) }));
    case "InterpretLeader":
      return evaluator.run("InterpretLeader", { object }, (leader) => ({ leader: leaderJson(leader) }));
    case "InterpretCompletion":
      return evaluator.run("InterpretCompletion", { object }, (completion) => ({ completion: toJson(completion) }));
  }
}

class Evaluator {
  readonly #interpreter: Interpreter;

  constructor(interpreter: Interpreter) {
    this.#interpreter = interpreter;
  }

  run<O extends LuaOperation>(
    operation: O,
    input: Inputs[O],
    present: (value: Results[O]) => Record<string, Json>,
    before?: JsonObject,
  ): Evaluation {
    const outcome = this.#interpreter.interpret(operation, input);
    if (outcome.state === "known" && outcome.layer === "customization") {
      return { ok: true, results: present(outcome.value), ...(before !== undefined && { before }) };
    }
    if (outcome.state === "failed" && outcome.layer === "customization") {
      return { ok: false, reason: outcome.reason, failure: outcome };
    }
    const { key, signature } = LUA_OPERATIONS[operation];
    const { apiVersion, kind } = input.object;
    const reason = `no customization reads ${operation} of ${String(apiVersion)} ${String(kind)}: add ${key}.luaScript with ${signature}`;
    return { ok: false, reason };
  }
}

function leaderJson(leader: LeaderClaim): Json {
  if (leader.claim === "named") return leader.name;
  return leader.claim === "unknown" ? null : leader.claim === "here";
}

/** Plain data without absent optional fields, as in JSON. */
function toJson(value: object): Json {
  const json: Json = JSON.parse(JSON.stringify(value));
  return Array.isArray(json) || isJsonObject(json) ? json : {};
}
