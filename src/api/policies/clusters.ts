import { ALLOWED_CLUSTERS } from "../allowed-clusters.ts";
import { CROSS_CLUSTER_STATEFULSET } from "../kinds/cross-cluster-statefulset.ts";
import { celText, exceptOwners, type Policy, type PolicySettings } from "./policy.ts";

const IS_SET = `has(namespaceObject.metadata.annotations) && '${ALLOWED_CLUSTERS}' in namespaceObject.metadata.annotations`;

/**
 * The clusters that a namespace may use, at admission. `forbiddenClusters` is the same rule for the controller, which
 * also sees later changes of the namespace. A cluster that is drained to 0 needs no permission. An unchanged topology
 * is not checked, so a user can always pause, drain and delete what was allowed once.
 */
export function allowedClusters({ requireAllowedClusters }: PolicySettings): Policy {
  const { group, plural } = CROSS_CLUSTER_STATEFULSET;
  const remedy = `. An administrator of the hub sets the annotation ${ALLOWED_CLUSTERS} on the namespace`;
  return {
    name: "allowed-clusters",
    resources: [{ group, plurals: [plural] }],
    operations: ["CREATE", "UPDATE"],
    matchConditions: [
      {
        name: "the-topology-is-new",
        expression:
          "has(object.spec.topology) && (oldObject == null || !has(oldObject.spec.topology) || object.spec.topology != oldObject.spec.topology)",
      },
    ],
    variables: [
      {
        name: "allowed",
        expression: `${IS_SET} ? namespaceObject.metadata.annotations['${ALLOWED_CLUSTERS}'].split(',').map(c, c.trim()) : ['${requireAllowedClusters ? "" : "*"}']`,
      },
      {
        name: "refused",
        expression:
          "'*' in variables.allowed ? [] : object.spec.topology.clusters.filter(c, !(c.name in variables.allowed) && !(has(c.replicas) && c.replicas == 0)).map(c, c.name)",
      },
    ],
    validations: [
      {
        expression: "size(variables.refused) == 0",
        message: `spec.topology names a cluster that this namespace may not use${remedy}`,
        messageExpression: `'spec.topology: namespace ' + request.namespace + ' may not use ' + variables.refused.join(', ') + '; allowed: ' + (variables.allowed.join('') == '' ? 'none' : variables.allowed.join(', ')) + ${celText(remedy)}`,
        reason: "Forbidden",
      },
    ],
  };
}

/** A user with all rights in a namespace also has them on the Namespace object, and must not widen its clusters. */
export function allowedClustersSetting(settings: PolicySettings): Policy {
  const setting = (object: string) =>
    `(${object} != null && has(${object}.metadata.annotations) && '${ALLOWED_CLUSTERS}' in ${object}.metadata.annotations ? ${object}.metadata.annotations['${ALLOWED_CLUSTERS}'] : '-')`;
  return {
    name: "allowed-clusters-setting",
    resources: [{ group: "", plurals: ["namespaces"] }],
    operations: ["CREATE", "UPDATE"],
    matchConditions: [
      { name: "it-is-set-or-changed", expression: `${setting("object")} != ${setting("oldObject")}` },
      ...exceptOwners(settings),
    ],
    validations: [
      {
        expression: "false",
        message: `only administrators of the hub may set the annotation ${ALLOWED_CLUSTERS} on a namespace: it says which clusters the namespace may use`,
        reason: "Forbidden",
      },
    ],
  };
}
