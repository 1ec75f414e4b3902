import { JOB_WORKLOAD, kindsOf, STATEFULSET_WORKLOAD } from "../workloads.ts";
import { celKind, celList, celText, type Policy, type PolicySettings } from "./policy.ts";

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

/**
 * Karmada applies a Work with its own rights, which are an administrator's. So the API server checks what the
 * controller puts into a Work, without exceptions: templates and their allowed dependencies, in the application's
 * namespace.
 */
export function workContents({ controller, workloads }: PolicySettings): Policy {
  const kinds = [...[STATEFULSET_WORKLOAD, JOB_WORKLOAD, ...workloads].flatMap(kindsOf), ...DEPENDENCIES];
  const isKind = `${celKind("m")} in ${celList(kinds)}`;
  const isOwn = `has(m.metadata.namespace) && has(object.metadata.annotations) && '${APP_NAMESPACE}' in object.metadata.annotations && m.metadata.namespace == object.metadata.annotations['${APP_NAMESPACE}']`;
  return {
    name: "work-contents",
    resources: [{ group: "work.karmada.io", plurals: ["works"] }],
    operations: ["CREATE", "UPDATE"],
    matchConditions: [
      { name: "lockstep-s-own", expression: `request.userInfo.username == ${celText(controller)} || ${LABELLED}` },
      {
        name: "the-workload-is-new",
        expression: "oldObject == null || object.spec.workload != oldObject.spec.workload",
      },
    ],
    validations: [
      {
        expression: LABELLED,
        message: "Lockstep's controller may write only its own Works",
        reason: "Forbidden",
      },
      {
        expression: `!has(object.spec.workload.manifests) || object.spec.workload.manifests.all(m, ${isKind} && ${isOwn})`,
        message:
          "a Work of Lockstep may hold only the template's kinds, ConfigMaps, Secrets, ServiceAccounts, Services and ServiceExports, in the application's own namespace. The template's kinds are those of 'lockstep install --workload'",
        reason: "Forbidden",
      },
    ],
  };
}
