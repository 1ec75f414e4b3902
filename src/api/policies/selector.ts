import { INLINE_NAMESPACE_REMEDY } from "../inline-template.ts";
import { CROSS_CLUSTER_STATEFULSET } from "../kinds/cross-cluster-statefulset.ts";
import { kindsOf, STATEFULSET_WORKLOAD, workloadText } from "../workloads.ts";
import { celKind, celList, celText, type Policy, type PolicySettings, type Validation } from "./policy.ts";

/** The policy and the controller's own check use the same message. */
export const FOREIGN_NAMESPACE_REMEDY =
  "resourceSelector.namespace must be the CrossClusterStatefulset's own namespace: leave it out, or create the CrossClusterStatefulset in that namespace";

const { group, plural } = CROSS_CLUSTER_STATEFULSET;
const STATEFULSETS = [{ group, plurals: [plural] }];

/**
 * Objects that are older than the policy stay unchanged and can be deleted: the controller must be able to remove its
 * finalizer from each of them.
 */
const isNew = (field: string) =>
  `(has(object.spec.${field}) && (oldObject == null || !has(oldObject.spec.${field}) || object.spec.${field} != oldObject.spec.${field}))`;
const SELECTOR_IS_NEW = isNew("resourceSelector");
const TEMPLATE_IS_NEW = isNew("template");
const EITHER_IS_NEW = {
  name: "what-runs-is-new",
  expression: `${SELECTOR_IS_NEW} || ${TEMPLATE_IS_NEW}`,
};

/**
 * A CRD's own rules cannot check this, because they cannot read metadata.namespace. A user who may create a
 * CrossClusterStatefulset in one namespace must not reach objects of another namespace through it.
 */
export function ownNamespace(): Policy {
  const isOwn = (where: string) => `!has(${where}.namespace) || ${where}.namespace == request.namespace`;
  return {
    name: "template-namespace",
    resources: STATEFULSETS,
    operations: ["CREATE", "UPDATE"],
    matchConditions: [EITHER_IS_NEW],
    validations: [
      {
        expression: `!${SELECTOR_IS_NEW} || ${isOwn("object.spec.resourceSelector")}`,
        message: `spec.${FOREIGN_NAMESPACE_REMEDY}`,
        reason: "Invalid",
      },
      {
        expression: `!${TEMPLATE_IS_NEW} || !has(object.spec.template.metadata) || ${isOwn("object.spec.template.metadata")}`,
        message: `spec.${INLINE_NAMESPACE_REMEDY}`,
        reason: "Invalid",
      },
    ],
  };
}

/** Otherwise an object of any kind, Secrets included, would be copied into revisions and to members. */
export function templateKinds({ workloads }: PolicySettings): Policy {
  const allowed = [STATEFULSET_WORKLOAD, ...workloads];
  const said = `may not be a template here. Allowed: StatefulSet${workloads.map((each) => `, ${workloadText(each)}`).join("")}. To allow another kind, an administrator of the hub runs 'lockstep install --workload PLURAL.GROUP --apply', and starts the controller with the same --workload`;
  const isAllowed = (field: string, isNewer: string): Validation => {
    const where = `object.spec.${field}`;
    return {
      expression: `!${isNewer} || ${celKind(where)} in ${celList(allowed.flatMap(kindsOf))}`,
      message: `spec.${field}: this kind ${said}`,
      messageExpression: `'spec.${field}: ' + ${where}.kind + ' of ' + ${where}.apiVersion + ' ' + ${celText(said)}`,
      reason: "Invalid",
    };
  };
  return {
    name: "template-kinds",
    resources: STATEFULSETS,
    operations: ["CREATE", "UPDATE"],
    matchConditions: [EITHER_IS_NEW],
    validations: [isAllowed("resourceSelector", SELECTOR_IS_NEW), isAllowed("template", TEMPLATE_IS_NEW)],
  };
}

/**
 * The controller sends an inline template to the members with its own rights. So its author must be allowed to
 * create that object on the hub; otherwise a CrossClusterStatefulset would be a way to run any pod.
 */
export function templateAuthor({ workloads }: PolicySettings): Policy {
  const pairs = [STATEFULSET_WORKLOAD, ...workloads].flatMap((workload) =>
    kindsOf(workload).map((kind) => `${celText(kind)}: ${celText(workload.plural)}`),
  );
  return {
    name: "template-author",
    resources: STATEFULSETS,
    operations: ["CREATE", "UPDATE"],
    matchConditions: [{ name: "the-template-is-new", expression: TEMPLATE_IS_NEW }],
    variables: [
      { name: "plurals", expression: `{${pairs.join(", ")}}` },
      { name: "kind", expression: celKind("object.spec.template") },
    ],
    validations: [
      {
        // Other kinds are refused by the policy template-kinds, which says which ones are allowed.
        expression: `!(variables.kind in variables.plurals) || authorizer.group(variables.kind.split('/')[0]).resource(variables.plurals[variables.kind]).namespace(request.namespace).check('create').allowed()`,
        message: "spec.template: its author must be allowed to create that object in this namespace",
        messageExpression: `'spec.template: ' + request.userInfo.username + ' may not create ' + variables.plurals[variables.kind] + ' in namespace ' + request.namespace + ', and so may not write one inline. An administrator of the namespace grants the verb create on ' + variables.plurals[variables.kind]`,
        reason: "Forbidden",
      },
    ],
  };
}
