import type { JsonObject } from "../runtime/index.ts";
import { BadObject, describeObject } from "./fields.ts";
import { LuaLimitError, LuaRuntimeError } from "./lua/index.ts";
import type { Operation, Results } from "./operations.ts";
import { BadAnswer, NothingToRead } from "./results.ts";
import { WebhookFailure, type WebhookFailureCode } from "./webhook/failure.ts";

/** Where an answer comes from, first wins. `rule` is the user's own leader rule. */
export type Layer = "rule" | "customization" | "webhook" | "bundled" | "native";

export type FailureCode =
  /** No layer reads this operation of this kind. */
  | "NoInterpreter"
  /** The customization's script does not compile, and no earlier version of it did. */
  | "BadCustomization"
  | "ScriptError"
  | "ScriptLimit"
  /** A script or webhook answered with something the operation has no place for. */
  | "BadAnswer"
  /** The object does not keep to its own kind's types. */
  | "BadObject"
  /** A mistake in Lockstep: reported as any failure, because one object must not stop the others. */
  | "Internal"
  | Exclude<WebhookFailureCode, "BadAnswer">;

export interface Known<O extends Operation> {
  state: "known";
  value: Results[O];
  layer: Layer;
  /** The customization, webhook or bundled file that answered; `native` has none. */
  source?: string;
}

/** Not answered yet: a webhook has been asked. Unknown, and never healthy. */
export interface Pending {
  state: "pending";
}

export interface Failed {
  state: "failed";
  code: FailureCode;
  /** Names the source, the field or line, and what to do. */
  reason: string;
  layer?: Layer;
  source?: string;
  /** Line in the script. */
  line?: number;
}

export type Settled<O extends Operation> = Known<O> | Failed;
export type Outcome<O extends Operation> = Settled<O> | Pending;

/** Whatever went wrong inside a layer, as a typed reason. Nothing that a script, object or webhook does is thrown on. */
export function failureOf(error: unknown, layer: Layer, source: string | undefined): Failed {
  const failed = (code: FailureCode, message: string, line?: number): Failed => ({
    state: "failed",
    code,
    reason: source === undefined ? message : `${layer} ${source}: ${message}`,
    layer,
    ...(source !== undefined && { source }),
    ...(line !== undefined && { line }),
  });
  if (error instanceof LuaRuntimeError) return failed("ScriptError", `line ${error.line}: ${error.reason}`, error.line);
  if (error instanceof LuaLimitError) return failed("ScriptLimit", error.message, error.line);
  if (error instanceof BadAnswer) return failed("BadAnswer", error.message);
  if (error instanceof NothingToRead) return failed("NoInterpreter", error.message);
  if (error instanceof BadObject) return failed("BadObject", error.message);
  if (error instanceof WebhookFailure) return failed(error.code, error.message);
  // What V8 says when recursion over a value runs out of stack: no API server stores such an object.
  if (error instanceof RangeError) return failed("BadObject", "nests too deep");
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return failed("Internal", `a mistake in Lockstep, please report it: ${message}`);
}

export function noInterpreter(operation: Operation, object: JsonObject): Failed {
  const reason = `nothing reads ${operation} of ${String(object.apiVersion)} ${describeObject(object)}; write a ResourceInterpreterCustomization or a webhook for it`;
  return { state: "failed", code: "NoInterpreter", reason };
}
