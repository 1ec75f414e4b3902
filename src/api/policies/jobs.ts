/** What a CrossClusterJob may hold: rules about the template's fields, its author and the clusters. */
import { ALLOWED_CLUSTERS } from "../allowed-clusters.ts";
import { JOB_TEMPLATE_MESSAGES, KUEUE_LABEL, MAX_JOB_NAME_CHARS, NOT_WITH_EXCLUSIVE } from "../job-template.ts";
import { CROSS_CLUSTER_JOB } from "../kinds/cross-cluster-job.ts";
import { JOB_WORKLOAD, kindsOf, workloadText } from "../workloads.ts";
import {
  celKind,
  celList,
  celText,
  exceptOwners,
  leavesAlone,
  type Policy,
  type PolicySettings,
  type Validation,
} from "./policy.ts";

const { group, plural } = CROSS_CLUSTER_JOB;
const TEMPLATE = "object.spec.template";
const SPEC = `${TEMPLATE}.spec`;
const COMMON = { resources: [{ group, plurals: [plural] }], operations: ["CREATE", "UPDATE"] as const };
const IS_NEW = {
  name: "the-template-is-new",
  expression: `oldObject == null || ${TEMPLATE} != oldObject.spec.template`,
};
const IS_JOB = `(${TEMPLATE}.apiVersion == 'batch/v1' && ${TEMPLATE}.kind == 'Job')`;
const IS_EXCLUSIVE = "object.spec.failover.onClusterLoss.guarantee == 'Exclusive'";
const has = (field: string) => `(has(${SPEC}) && has(${SPEC}.${field}))`;
const IS_INDEXED = `(${has("completionMode")} && ${SPEC}.completionMode == 'Indexed')`;

function invalid(expression: string, message: string): Validation {
  return { expression, message, reason: "Invalid" };
}

/** `jobTemplateErrors` is the same check for the controller. */
export function jobTemplate(): Policy {
  const metadata = `${TEMPLATE}.metadata`;
  const name = `(has(${metadata}) && has(${metadata}.name) ? ${metadata}.name : object.metadata.name)`;
  const { exclusive, kueue, selector } = JOB_TEMPLATE_MESSAGES;
  const taken = NOT_WITH_EXCLUSIVE.map(has).join(" || ");
  return {
    name: "job-template",
    ...COMMON,
    matchConditions: [IS_NEW],
    validations: [
      invalid("oldObject == null", "spec.template is immutable: create another CrossClusterJob for other work"),
      invalid(`size(${name}) <= ${MAX_JOB_NAME_CHARS}`, `spec.template.metadata.name: ${JOB_TEMPLATE_MESSAGES.name}`),
      invalid(
        `!has(${metadata}) || !has(${metadata}.namespace) || ${metadata}.namespace == request.namespace`,
        "spec.template.metadata.namespace must be the CrossClusterJob's own namespace: leave it out",
      ),
      invalid(
        `object.spec.division != 'Indexes' || (${IS_INDEXED} && ${has("completions")})`,
        `spec.${JOB_TEMPLATE_MESSAGES.indexes}`,
      ),
      invalid(
        `object.spec.division != 'Completions' || (!${IS_INDEXED} && ${has("completions")})`,
        `spec.${JOB_TEMPLATE_MESSAGES.completions}`,
      ),
      invalid(`!${IS_JOB} || !(${has("selector")} || ${has("manualSelector")})`, `spec.${selector}`),
      invalid(`!(${IS_EXCLUSIVE}) || !(${taken})`, `spec.failover.onClusterLoss.guarantee: ${exclusive}`),
      invalid(
        `!(${IS_EXCLUSIVE}) || !has(${metadata}) || !has(${metadata}.labels) || !('${KUEUE_LABEL}' in ${metadata}.labels)`,
        `spec.failover.onClusterLoss.guarantee: ${kueue}`,
      ),
    ],
  };
}

/** Otherwise an object of any kind would be sent to members with the engine's rights. */
export function jobKinds({ workloads }: PolicySettings): Policy {
  const allowed = [JOB_WORKLOAD, ...workloads];
  const said = `may not be a template here. Allowed: Job${workloads.map((each) => `, ${workloadText(each)}`).join("")}. To allow another kind, an administrator of the hub runs 'lockstep install --workload PLURAL.GROUP --apply', and starts the controller with the same --workload`;
  return {
    name: "job-kinds",
    ...COMMON,
    matchConditions: [IS_NEW],
    validations: [
      {
        expression: `${celKind(TEMPLATE)} in ${celList(allowed.flatMap(kindsOf))}`,
        message: "spec.template: this kind may not be a template here; an administrator allows it with --workload",
        messageExpression: `'spec.template: ' + ${TEMPLATE}.kind + ' of ' + ${TEMPLATE}.apiVersion + ' ' + ${celText(said)}`,
        reason: "Invalid",
      },
    ],
  };
}

/** The controller sends the template to members: its author must be allowed to create that object on the hub. */
export function jobAuthor({ workloads }: PolicySettings): Policy {
  const pairs = [JOB_WORKLOAD, ...workloads].flatMap((workload) =>
    kindsOf(workload).map((kind) => `${celText(kind)}: ${celText(workload.plural)}`),
  );
  return {
    name: "job-author",
    ...COMMON,
    matchConditions: [IS_NEW],
    variables: [
      { name: "plurals", expression: `{${pairs.join(", ")}}` },
      { name: "kind", expression: celKind(TEMPLATE) },
    ],
    validations: [
      {
        // Other kinds are refused by the policy job-kinds, which says which ones are allowed.
        expression: `!(variables.kind in variables.plurals) || authorizer.group(variables.kind.split('/')[0]).resource(variables.plurals[variables.kind]).namespace(request.namespace).check('create').allowed()`,
        message: "spec.template: its author must be allowed to create that object in this namespace",
        messageExpression: `'spec.template: ' + request.userInfo.username + ' may not create ' + variables.plurals[variables.kind] + ' in namespace ' + request.namespace + '. An administrator of the namespace grants the verb create on ' + variables.plurals[variables.kind]`,
        reason: "Forbidden",
      },
    ],
  };
}

/** Clusters that are named. Those of a selector or placement are checked by the controller, which skips the others. */
export function jobClusters({ requireAllowedClusters }: PolicySettings): Policy {
  const isSet = `has(namespaceObject.metadata.annotations) && '${ALLOWED_CLUSTERS}' in namespaceObject.metadata.annotations`;
  const remedy = `. An administrator of the hub sets the annotation ${ALLOWED_CLUSTERS} on the namespace`;
  return {
    name: "job-clusters",
    ...COMMON,
    matchConditions: [
      {
        name: "the-clusters-are-new",
        expression:
          "has(object.spec.clusters.names) && (oldObject == null || object.spec.clusters != oldObject.spec.clusters)",
      },
    ],
    variables: [
      {
        name: "allowed",
        expression: `${isSet} ? namespaceObject.metadata.annotations['${ALLOWED_CLUSTERS}'].split(',').map(c, c.trim()) : ['${requireAllowedClusters ? "" : "*"}']`,
      },
      {
        name: "refused",
        expression: "'*' in variables.allowed ? [] : object.spec.clusters.names.filter(c, !(c in variables.allowed))",
      },
    ],
    validations: [
      {
        expression: "size(variables.refused) == 0",
        message: `spec.clusters.names has a cluster that this namespace may not use${remedy}`,
        messageExpression: `'spec.clusters.names: namespace ' + request.namespace + ' may not use ' + variables.refused.join(', ') + ${celText(remedy)}`,
        reason: "Forbidden",
      },
    ],
  };
}

/** It tells people and programs that the work is done; and if the ledger is lost, it says what need not be done again. */
export function jobStatus(settings: PolicySettings): Policy {
  return {
    name: "job-status",
    resources: [{ group, plurals: [`${plural}/status`] }],
    operations: ["UPDATE"],
    matchConditions: exceptOwners(settings),
    validations: [
      {
        expression: leavesAlone("status"),
        message: "only Lockstep's controller may write the status of a CrossClusterJob: it says what has been done",
        reason: "Forbidden",
      },
    ],
  };
}
