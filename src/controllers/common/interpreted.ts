import type { Interpreter, Layer, Operation, Outcome, Results } from "../../interpret/index.ts";
import { NEUTRAL_REPLICAS, type ReplicaSource } from "../../render/index.ts";
import type { JsonObject } from "../../runtime/index.ts";

/** Why there is no answer yet. `pending` ends by itself or with the webhook's repair, `refused` needs an edit. */
export interface Unanswered {
  readonly kind: "pending" | "refused";
  readonly message: string;
  readonly remedy: string;
}

/** What the interpreter says. `none`: no layer at all reads this kind, so that the object is taken as it is. */
export type Answer<Value> =
  | { readonly kind: "known"; readonly value: Value; readonly layer: Layer; readonly source: string | undefined }
  | { readonly kind: "none" }
  | Unanswered;

/**
 * An answer that decides what members get. Only `none` may be replaced by the object as it is: in place of an answer
 * that is late or failed, any other one would be another revision, and a rollout that no user asked for.
 */
export function answerOf<O extends Operation>(operation: O, outcome: Outcome<O>): Answer<Results[O]> {
  if (outcome.state === "pending") {
    return {
      kind: "pending",
      message: `webhook ${outcome.source} has been asked about ${operation} and has not answered yet`,
      remedy: "No action needed. If this takes too long, check the webhook.",
    };
  }
  if (outcome.passedOver !== undefined) {
    return {
      kind: "pending",
      message: `${operation}: ${outcome.passedOver}`,
      remedy:
        "Repair the webhook; it is asked again by itself. Its failurePolicy Ignore does not apply here, because " +
        "another interpreter's answer would be another revision. To have that one, delete the webhook's configuration.",
    };
  }
  if (outcome.state === "known") {
    return { kind: "known", value: outcome.value, layer: outcome.layer, source: outcome.source };
  }
  if (outcome.code === "NoInterpreter") return { kind: "none" };
  const message = `${operation}: ${outcome.reason}`;
  return outcome.layer === "webhook"
    ? {
        kind: "pending",
        message,
        remedy: "Repair the webhook, or delete its configuration; it is asked again by itself.",
      }
    : { kind: "refused", message, remedy: "Correct the script, or the object that it reads." };
}

export function isUnanswered(answer: { readonly kind: string } | Unanswered): answer is Unanswered {
  return answer.kind === "pending" || answer.kind === "refused";
}

/** Kubernetes' own kinds are revised natively; any other kind as the interpreter says, where it has been taught. */
export function replicaSource(
  interpreter: Pick<Interpreter, "interpret">,
  template: JsonObject,
  replicas: number,
): ReplicaSource | Unanswered {
  const apiVersion = String(template.apiVersion);
  if (apiVersion === "apps/v1" || apiVersion === "batch/v1") return { kind: "native" };
  const revised = answerOf("ReviseReplica", interpreter.interpret("ReviseReplica", { object: template, replicas }));
  if (isUnanswered(revised)) return revised;
  return revised.kind === "known" && revised.layer !== "native"
    ? { kind: "revised", object: revised.value }
    : { kind: "native" };
}

/** A template as it goes into a revision: packed, and with the means to take its count out. */
export interface Packed {
  readonly kind: "packed";
  readonly object: JsonObject;
  readonly replicas: ReplicaSource;
}

export function packed(interpreter: Pick<Interpreter, "interpret">, template: JsonObject): Packed | Unanswered {
  const pruned = answerOf("Prune", interpreter.interpret("Prune", { object: template }));
  if (isUnanswered(pruned)) return pruned;
  const object = pruned.kind === "known" ? pruned.value : template;
  const replicas = replicaSource(interpreter, object, NEUTRAL_REPLICAS);
  return isUnanswered(replicas) ? replicas : { kind: "packed", object, replicas };
}

/** What the template is packed by: it is packed again only when this or the template changes. */
export function packedBy(interpreter: Pick<Interpreter, "sourcesOf">, template: JsonObject): string {
  const input = { object: template, replicas: NEUTRAL_REPLICAS };
  return `${interpreter.sourcesOf("Prune", input)} ${interpreter.sourcesOf("ReviseReplica", input)}`;
}
