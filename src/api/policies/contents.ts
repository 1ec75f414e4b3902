import { JOB_WORKLOAD, kindsOf, STATEFULSET_WORKLOAD } from "../workloads.ts";
import { celKind, celList, celText, deliveries, type Policy, type PolicySettings } from "./policy.ts";

/** The kinds that a revision may contain in addition to its template, as `group/kind`. */
const DEPENDENCIES = [
  "/configmap",
  "/secret",
  "/serviceaccount",
  "/service",
  "multicluster.x-k8s.io/serviceexport",
] as const;

const LABELLED = "(has(object.metadata.labels) && 'lockstep.karmada.io/app' in object.metadata.labels)";
const APP_NAMESPACE = "lockstep.karmada.io/app-namespace";
const APP_KIND = "lockstep.karmada.io/app-kind";
/**
 * What a DistributedApplication distributes may be of any kind and in any namespace: the controller has asked for each
 * object whether the application's ServiceAccount may `distribute` it.
 */
const OF_APPLICATION = `(has(object.metadata.annotations) && '${APP_KIND}' in object.metadata.annotations && object.metadata.annotations['${APP_KIND}'] == 'DistributedApplication')`;

const configs = (object: string) => `(has(${object}.spec.manifestConfigs) ? ${object}.spec.manifestConfigs : [])`;

/** Pods are only ever named in order to be observed. */
const OBSERVED_POD =
  "(m.apiVersion == 'v1' && m.kind == 'Pod' && has(object.spec.manifestConfigs) && object.spec.manifestConfigs.exists(c, (!has(c.resourceIdentifier.group) || c.resourceIdentifier.group == '') && c.resourceIdentifier.resource == 'pods' && c.resourceIdentifier.name == m.metadata.name && has(c.updateStrategy) && c.updateStrategy.type == 'ReadOnly'))";

/**
 * The engine applies a Work with its own rights, which are an administrator's or nearly so. So the API server checks what the
 * controller puts into a Work: templates and their allowed dependencies, in the application's namespace. Only a
 * DistributedApplication's Works may hold anything else.
 */
export function workContents(settings: PolicySettings): Policy {
  const { controller, workloads, engine } = settings;
  const { group, plural, kind } = deliveries(settings);
  const kinds = [...[STATEFULSET_WORKLOAD, JOB_WORKLOAD, ...workloads].flatMap(kindsOf), ...DEPENDENCIES];
  const isDelivered = `${celKind("m")} in ${celList(kinds)}`;
  const isKind = engine === "ocm" ? `(${isDelivered} || ${OBSERVED_POD})` : isDelivered;
  const isOwn = `has(m.metadata.namespace) && has(object.metadata.annotations) && '${APP_NAMESPACE}' in object.metadata.annotations && m.metadata.namespace == object.metadata.annotations['${APP_NAMESPACE}']`;
  return {
    name: "work-contents",
    resources: [{ group, plurals: [plural] }],
    operations: ["CREATE", "UPDATE"],
    matchConditions: [
      { name: "lockstep-s-own", expression: `request.userInfo.username == ${celText(controller)} || ${LABELLED}` },
      {
        name: "the-workload-is-new",
        // On Open Cluster Management, the settings beside a manifest say whether it is written or only observed. What
        // another writer's ManifestWork leaves behind may be changed: so its object is adopted.
        expression:
          engine === "ocm"
            ? `oldObject == null || object.spec.workload != oldObject.spec.workload || ${configs("object")} != ${configs("oldObject")}`
            : "oldObject == null || object.spec.workload != oldObject.spec.workload",
      },
    ],
    validations: [
      {
        expression: LABELLED,
        message: `Lockstep's controller may write only its own ${kind}s`,
        reason: "Forbidden",
      },
      {
        expression: `!has(object.spec.workload.manifests) || ${OF_APPLICATION} || object.spec.workload.manifests.all(m, ${isKind} && ${isOwn})`,
        message: `a ${kind} of Lockstep may hold only the template's kinds, ConfigMaps, Secrets, ServiceAccounts, Services and ServiceExports, in the application's own namespace. The template's kinds are those of 'lockstep install --workload'`,
        reason: "Forbidden",
      },
    ],
  };
}
