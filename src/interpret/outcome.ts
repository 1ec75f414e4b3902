import type { JsonObject } from "../runtime/index.ts";
import { BadObject, describeObject } from "./fields.ts";
import { LuaLimitError, LuaRuntimeError } from "./lua/index.ts";
import type { Operation, Results } from "./operations.ts";
import { BadAnswer, NothingToRead } from "./results.ts";
import { WebhookFailure, type WebhookFailureCode } from "./webhook/failure.ts";

/** The source of an answer, in order of precedence. `rule` is the user's own leader rule. */
export type Layer = "rule" | "customization" | "webhook" | "bundled" | "native";

export type FailureCode =
  /** No layer reads this operation of this kind. */
  | "NoInterpreter"
  /** The customization's script does not compile, and no earlier version of it did. */
  | "BadCustomization"
  | "ScriptError"
  | "ScriptLimit"
  /** The answer of a script or webhook is not valid for the operation. */
  | "BadAnswer"
  /** A field of the object does not have the type of its kind. */
  | "BadObject"
  /** A bug in Lockstep: reported like any failure, because one object must not stop the others. */
  | "Internal"
  | Exclude<WebhookFailureCode, "BadAnswer">;

export interface Known<O extends Operation> {
  readonly state: "known";
  readonly value: Results[O];
  readonly layer: Layer;
  /** The customization, webhook or bundled file that answered; `native` has none. */
  readonly source?: string;
  /** Why a webhook did not answer, if its failure policy let this layer answer instead. */
  readonly passedOver?: string;
}

/** No answer yet: a webhook was called, or a script is suspended. Unknown, and never healthy. */
export interface Pending {
  readonly state: "pending";
  /** The webhook, or the suspended script. */
  readonly source: string;
}

export interface Failed {
  readonly state: "failed";
  readonly code: FailureCode;
  /** Names the source, the field or line, and what to do. */
  readonly reason: string;
  readonly layer?: Layer;
  readonly source?: string;
  /** Line in the script. */
  readonly line?: number;
  /** As in Known. */
  readonly passedOver?: string;
}

export type Settled<O extends Operation> = Known<O> | Failed;
export type Outcome<O extends Operation> = Settled<O> | Pending;

/** Converts any error inside a layer to a typed reason. No error of a script, object or webhook is thrown further. */
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
  // V8's message when recursion over a value exhausts the stack: no API server stores such an object.
  if (error instanceof RangeError) return failed("BadObject", "nests too deep");
  const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
  return failed("Internal", `a bug in Lockstep, please report it: ${message}`);
}

export function noInterpreter(operation: Operation, object: JsonObject): Failed {
  const reason = `no interpreter reads ${operation} of ${String(object.apiVersion)} ${describeObject(object)}; write a ResourceInterpreterCustomization or a webhook for it`;
  return { state: "failed", code: "NoInterpreter", reason };
}
