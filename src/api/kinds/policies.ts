import type { JsonObject } from "../../runtime/index.ts";
import { CROSS_CLUSTER_STATEFULSET } from "./cross-cluster-statefulset.ts";

/** Said by the policy and by the controller's own check alike. */
export const FOREIGN_NAMESPACE_REMEDY =
  "resourceSelector.namespace must be the CrossClusterStatefulset's own namespace: leave it out, or create the CrossClusterStatefulset in that namespace";

const POLICY_NAME = "crossclusterstatefulset-namespace.lockstep.karmada.io";

/**
 * What a CRD's own rules cannot see, because they see no metadata.namespace: whoever may create a
 * CrossClusterStatefulset in one namespace must not reach objects of another through it.
 */
export function admissionPolicies(): JsonObject[] {
  const { group, version, plural } = CROSS_CLUSTER_STATEFULSET;
  const labels = { "app.kubernetes.io/part-of": "lockstep" };
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata: { name: POLICY_NAME, labels },
      spec: {
        failurePolicy: "Fail",
        matchConstraints: {
          resourceRules: [
            { apiGroups: [group], apiVersions: [version], operations: ["CREATE", "UPDATE"], resources: [plural] },
          ],
        },
        validations: [
          {
            expression:
              "!has(object.spec.resourceSelector.namespace) || object.spec.resourceSelector.namespace == request.namespace",
            message: `spec.${FOREIGN_NAMESPACE_REMEDY}`,
            reason: "Invalid",
          },
        ],
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata: { name: POLICY_NAME, labels },
      spec: { policyName: POLICY_NAME, validationActions: ["Deny"] },
    },
  ];
}
