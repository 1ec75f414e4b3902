import type { JsonObject } from "../../runtime/index.ts";
import { APPS_GROUP } from "../kinds/cross-cluster-statefulset.ts";
import { DEFAULT_SYSTEM_NAMESPACE } from "../system-namespace.ts";
import { type Workload, workloadText } from "../workloads.ts";

/** The settings of this installation that the policies depend on. */
export interface PolicySettings {
  readonly systemNamespace: string;
  /** The controller's user name on the hub, as the API server authenticates it. */
  readonly controller: string;
  /** Kinds that may be templates, in addition to StatefulSets. */
  readonly workloads: readonly Workload[];
  /** Whether a namespace must name its clusters before a CrossClusterStatefulset in it may have spec.topology. */
  readonly requireAllowedClusters: boolean;
  /** The hub's engine; absent: Karmada. */
  readonly engine?: EngineName;
}

/** The engines of hubs (src/engine). */
export type EngineName = "karmada" | "ocm";

/** What an engine delivers objects with: its group, plural and kind. */
export function deliveries({ engine = "karmada" }: Pick<PolicySettings, "engine">) {
  return engine === "ocm"
    ? { group: "work.open-cluster-management.io", plural: "manifestworks", kind: "ManifestWork" }
    : { group: "work.karmada.io", plural: "works", kind: "Work" };
}

/** The account that `lockstep install` creates for the controller. */
export const CONTROLLER_ACCOUNT = "lockstep-controller";

export function accountUser(namespace: string): string {
  return `system:serviceaccount:${namespace}:${CONTROLLER_ACCOUNT}`;
}

export const DEFAULT_POLICY_SETTINGS: PolicySettings = {
  systemNamespace: DEFAULT_SYSTEM_NAMESPACE,
  controller: accountUser(DEFAULT_SYSTEM_NAMESPACE),
  workloads: [],
  requireAllowedClusters: false,
};

/** On every policy: its settings, so that `lockstep doctor` can detect an outdated policy. */
export const SETTINGS_ANNOTATION = "lockstep.karmada.io/install-settings";

export type Operation = "CREATE" | "UPDATE" | "DELETE";

export interface Expression {
  readonly name: string;
  readonly expression: string;
}

export interface Validation {
  readonly expression: string;
  readonly message: string;
  readonly messageExpression?: string;
  /** Forbidden: this user may not write it. Invalid: no user may write such an object. */
  readonly reason: "Forbidden" | "Invalid";
}

export interface Policy {
  /** The first label of its name. */
  readonly name: string;
  readonly resources: readonly { readonly group: string; readonly plurals: readonly string[] }[];
  readonly operations: readonly Operation[];
  readonly namespaceSelector?: JsonObject;
  readonly objectSelector?: JsonObject;
  readonly matchConditions?: readonly Expression[];
  /** An object that the expressions read as `params`. If it does not exist, the policy refuses nothing. */
  readonly params?: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly namespace: string;
    readonly name: string;
  };
  readonly variables?: readonly Expression[];
  readonly validations: readonly Validation[];
}

/** The policy, and the binding that enforces it. */
export function manifests(policy: Policy, settings: PolicySettings): JsonObject[] {
  const name = `${policy.name}.lockstep.karmada.io`;
  const metadata = {
    name,
    labels: { "app.kubernetes.io/part-of": "lockstep" },
    annotations: { [SETTINGS_ANNOTATION]: settingsText(settings) },
  };
  const { namespaceSelector, objectSelector, matchConditions, params, variables } = policy;
  return [
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicy",
      metadata,
      spec: {
        failurePolicy: "Fail",
        ...(params && { paramKind: { apiVersion: params.apiVersion, kind: params.kind } }),
        matchConstraints: {
          resourceRules: policy.resources.map(({ group, plurals }) => ({
            apiGroups: [group],
            apiVersions: ["*"],
            operations: [...policy.operations],
            resources: [...plurals],
          })),
          ...(namespaceSelector && { namespaceSelector }),
          ...(objectSelector && { objectSelector }),
        },
        ...(matchConditions && { matchConditions: matchConditions.map((each) => ({ ...each })) }),
        ...(variables && { variables: variables.map((each) => ({ ...each })) }),
        validations: policy.validations.map((each) => ({ ...each })),
      },
    },
    {
      apiVersion: "admissionregistration.k8s.io/v1",
      kind: "ValidatingAdmissionPolicyBinding",
      metadata,
      spec: {
        policyName: name,
        validationActions: ["Deny"],
        ...(params && {
          paramRef: { namespace: params.namespace, name: params.name, parameterNotFoundAction: "Allow" },
        }),
      },
    },
  ];
}

function settingsText(settings: PolicySettings): string {
  const { systemNamespace, controller, workloads, requireAllowedClusters, engine } = settings;
  return JSON.stringify({
    systemNamespace,
    controller,
    workloads: workloads.map(workloadText),
    ...(requireAllowedClusters && { requireAllowedClusters }),
    ...(engine && { engine }),
  });
}

/**
 * Excludes requests of the controller, of administrators and of Kubernetes itself. An administrator is a member of
 * system:masters, or has the verb `administer` on crossclusterledgers in all namespaces, as cluster-admin does.
 * Kubernetes itself: its garbage collector and namespace controller, which act as accounts of kube-system or as
 * system:kube-controller-manager.
 */
export function exceptOwners({ controller }: PolicySettings): Expression[] {
  return [
    { name: "not-the-controller", expression: `request.userInfo.username != ${celText(controller)}` },
    {
      name: "not-kubernetes-itself",
      expression:
        "request.userInfo.username != 'system:kube-controller-manager' && !('system:serviceaccounts:kube-system' in request.userInfo.groups)",
    },
    {
      name: "not-an-administrator",
      expression: `!('system:masters' in request.userInfo.groups) && !authorizer.group('${APPS_GROUP}').resource('crossclusterledgers').check('administer').allowed()`,
    },
  ];
}

/** A user who may delete the namespace may delete its content; otherwise the deletion would never complete. */
export const NAMESPACE_IS_GOING =
  "(request.operation == 'DELETE' && namespaceObject != null && has(namespaceObject.metadata.deletionTimestamp))";

/** Whether an update leaves the marks and these fields unchanged: Karmada may write finalizers, owners and status. */
export function leavesAlone(...fields: readonly string[]): string {
  const same = ["metadata.labels", "metadata.annotations", ...fields].map((field) => {
    const value = (object: string) => `(has(${object}.${field}) ? ${object}.${field} : null)`;
    return `${value("object")} == ${value("oldObject")}`;
  });
  return `(request.operation == 'UPDATE' && ${same.join(" && ")})`;
}

/** A CEL literal. */
export function celText(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'").replaceAll("\n", "\\n")}'`;
}

export function celList(texts: readonly string[]): string {
  return `[${texts.map(celText).join(", ")}]`;
}

/** `group/kind` of an object with apiVersion and kind, the kind in lower case; `/secret` for a Secret. */
export function celKind(of: string): string {
  return `((${of}.apiVersion.contains('/') ? ${of}.apiVersion.split('/')[0] : '') + '/' + ${of}.kind.lowerAscii())`;
}
