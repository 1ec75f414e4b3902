import { CROSS_CLUSTER_STATEFULSET } from "../kinds/cross-cluster-statefulset.ts";
import type { Policy, Validation } from "./policy.ts";

/** Status and Events name the user who promoted a rollout or moved a leader. A new request must therefore be true about it. */
export function requester(): Policy {
  const { group, plural } = CROSS_CLUSTER_STATEFULSET;
  return {
    name: "requester",
    resources: [{ group, plurals: [plural] }],
    operations: ["CREATE", "UPDATE"],
    validations: [madeBy("promote", "lockstep promote"), madeBy("transferLeader", "lockstep transfer-leader")],
  };
}

function madeBy(field: string, command: string): Validation {
  const [now, before] = [`object.spec.${field}`, `oldObject.spec.${field}`];
  const remedy = `leave it out, or use \\'${command}\\', which fills it in`;
  return {
    expression: `!has(${now}) || !has(${now}.by) || (oldObject != null && has(${before}) && ${before} == ${now}) || ${now}.by == request.userInfo.username`,
    message: `spec.${field}.by must be the name of the user who makes the request: leave it out, or use '${command}', which fills it in`,
    messageExpression: `'spec.${field}.by is ' + ${now}.by + ', but this request comes from ' + request.userInfo.username + ': ${remedy}'`,
    reason: "Forbidden",
  };
}
