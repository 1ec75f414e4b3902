import { ROLLOUT_APPROVAL } from "../kinds/rollout-approval.ts";
import type { Policy } from "./policy.ts";

/** Kubernetes does not record an object's creator. So the creator that the object names must be checked at creation. */
export function approver(): Policy {
  const { group, plural } = ROLLOUT_APPROVAL;
  const message =
    "spec.approvedBy must be the name of the user who creates the RolloutApproval: leave it out, or use 'lockstep approve', which fills it in";
  return {
    name: "approver",
    resources: [{ group, plurals: [plural] }],
    operations: ["CREATE", "UPDATE"],
    validations: [
      {
        expression:
          "request.operation != 'CREATE' || !has(object.spec.approvedBy) || object.spec.approvedBy == request.userInfo.username",
        message,
        messageExpression: `'spec.approvedBy is ' + object.spec.approvedBy + ', but this request comes from ' + request.userInfo.username + ': leave it out, or use \\'lockstep approve\\', which fills it in'`,
        reason: "Forbidden",
      },
      {
        expression:
          "request.operation != 'UPDATE' || (has(object.spec.approvedBy) ? object.spec.approvedBy : '') == (has(oldObject.spec.approvedBy) ? oldObject.spec.approvedBy : '')",
        message: "spec.approvedBy is immutable: delete the RolloutApproval, and let the other user create one",
        reason: "Forbidden",
      },
    ],
  };
}
