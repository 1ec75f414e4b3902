/** Calls a customization's scripts: which key holds which function, its arguments, and its results. */
import type { Json } from "../runtime/index.ts";
import { integerAt } from "./fields.ts";
import type { LuaScript } from "./lua/index.ts";
import type { Inputs, Operation, Results, StatusItem } from "./operations.ts";
import {
  parseBoolean,
  parseCompletion,
  parseComponents,
  parseDependencies,
  parseLeader,
  parseObject,
  parseProgress,
  parseReplicas,
  parseRequirements,
  parseSameObject,
} from "./results.ts";

/** Prune has no script: in Karmada only webhooks implement it. */
export type LuaOperation = Exclude<Operation, "Prune">;

interface LuaOperationRule<O extends Operation> {
  /** The key under spec.customizations. */
  readonly key: string;
  readonly functionName: string;
  /** The function's form, shown to users whose script lacks it. */
  readonly signature: string;
  run(script: LuaScript, input: Inputs[O], clock: { now(): number }): Results[O];
}

type LuaOperationRules = { readonly [O in LuaOperation]: LuaOperationRule<O> };

export const LUA_OPERATIONS: LuaOperationRules = {
  InterpretReplica: {
    key: "replicaResource",
    functionName: "GetReplicas",
    signature: "function GetReplicas(obj) ... return replica, requirement end",
    run(script, { object }, clock) {
      const [replica, requires] = script.call("GetReplicas", [object], { clock });
      const requirements = parseRequirements(requires, "the second result of GetReplicas");
      return {
        replicas: parseReplicas(replica, "the first result of GetReplicas"),
        ...(requirements !== undefined && { requirements }),
      };
    },
  },
  ReviseReplica: {
    key: "replicaRevision",
    functionName: "ReviseReplica",
    signature: "function ReviseReplica(obj, desiredReplica) ... return obj end",
    run(script, { object, replicas }, clock) {
      const [revised] = script.call("ReviseReplica", [object, replicas], { clock, references: [object] });
      return parseSameObject(revised, "the result of ReviseReplica", object);
    },
  },
  InterpretStatus: {
    key: "statusReflection",
    functionName: "ReflectStatus",
    signature: "function ReflectStatus(observedObj) ... return status end",
    run(script, { object }, clock) {
      const [status] = script.call("ReflectStatus", [object], { clock });
      if (Array.isArray(status)) return status;
      return parseObject(status, "the result of ReflectStatus");
    },
  },
  Retain: {
    key: "retention",
    functionName: "Retain",
    signature: "function Retain(desiredObj, observedObj) ... return desiredObj end",
    run(script, { object, observed }, clock) {
      const [retained] = script.call("Retain", [object, observed], { clock, references: [object, observed] });
      return parseSameObject(retained, "the result of Retain", object);
    },
  },
  AggregateStatus: {
    key: "statusAggregation",
    functionName: "AggregateStatus",
    signature: "function AggregateStatus(desiredObj, statusItems) ... return desiredObj end",
    run(script, { object, items }, clock) {
      const [aggregated] = script.call("AggregateStatus", [object, statusItemsJson(items)], { clock });
      return parseSameObject(aggregated, "the result of AggregateStatus", object);
    },
  },
  InterpretHealth: {
    key: "healthInterpretation",
    functionName: "InterpretHealth",
    signature: "function InterpretHealth(observedObj) ... return healthy end",
    run(script, { object }, clock) {
      const [healthy] = script.call("InterpretHealth", [object], { clock });
      return parseBoolean(healthy, "the result of InterpretHealth");
    },
  },
  InterpretDependency: {
    key: "dependencyInterpretation",
    functionName: "GetDependencies",
    signature: "function GetDependencies(desiredObj) ... return dependencies end",
    run(script, { object }, clock) {
      const [dependencies] = script.call("GetDependencies", [object], { clock, emptyResult: "array" });
      return parseDependencies(dependencies, "the result of GetDependencies");
    },
  },
  InterpretComponent: {
    key: "componentResource",
    functionName: "GetComponents",
    signature: "function GetComponents(obj) ... return components end",
    run(script, { object }, clock) {
      const [components] = script.call("GetComponents", [object], { clock, emptyResult: "array" });
      return parseComponents(components, "the result of GetComponents");
    },
  },
  InterpretProgress: {
    key: "progressInterpretation",
    functionName: "GetProgress",
    signature: "function GetProgress(observedObj) ... return {desired = n, updated = n, ready = n} end",
    run(script, { object }, clock) {
      const [progress] = script.call("GetProgress", [object], { clock });
      return parseProgress(progress, "the result of GetProgress", integerAt(object, "metadata", "generation"));
    },
  },
  InterpretLeader: {
    key: "leaderInterpretation",
    functionName: "GetLeader",
    signature: "function GetLeader(observedObj) ... return name end",
    run(script, { object }, clock) {
      const [leader] = script.call("GetLeader", [object], { clock });
      return parseLeader(leader, "the result of GetLeader");
    },
  },
  InterpretCompletion: {
    key: "completionInterpretation",
    functionName: "GetCompletion",
    signature: 'function GetCompletion(observedObj) ... return {state = "running"} end',
    run(script, { object }, clock) {
      const [completion] = script.call("GetCompletion", [object], { clock });
      return parseCompletion(completion, "the result of GetCompletion");
    },
  },
};

export function luaOperation<O extends Operation>(operation: O): LuaOperationRule<O> | undefined {
  const rules: { readonly [P in Operation]?: LuaOperationRule<P> } = LUA_OPERATIONS;
  return rules[operation];
}

function statusItemsJson(items: readonly StatusItem[] | undefined): Json {
  if (items === undefined) return null;
  return items.map(({ clusterName, status, applied, appliedMessage, health }) => ({
    clusterName,
    ...(status !== undefined && status !== null && { status }),
    ...(applied && { applied }),
    ...(appliedMessage && { appliedMessage }),
    ...(health && { health }),
  }));
}
