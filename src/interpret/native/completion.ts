import { objectsAt, textAt } from "../fields.ts";
import type { Handler } from "../operations.ts";

/** A Job's own conditions. `FailureTarget` and `SuccessCriteriaMet` come before the end: pods are still going away. */
export const jobCompletion: Handler<"InterpretCompletion"> = ({ object }) => {
  for (const condition of objectsAt(object, "status", "conditions")) {
    if (condition.status !== "True") continue;
    const state = condition.type === "Complete" ? "succeeded" : condition.type === "Failed" ? "failed" : undefined;
    if (state === undefined) continue;
    const reason = textAt(condition, "reason");
    const message = textAt(condition, "message");
    return { state, ...(reason && { reason }), ...(message && { message }) };
  }
  return { state: "running" };
};
