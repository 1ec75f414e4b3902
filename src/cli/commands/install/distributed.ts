/** The kinds that DistributedApplications bring to members, and the rights that reading and writing them needs. Pure. */
import type { Workload } from "../../../api/index.ts";
import { CommandError } from "../../errors.ts";
import { workloadsOf } from "../workload-option.ts";
import { type Rule, rule } from "./roles.ts";

/** Kinds beside Kubernetes' own that applications may distribute; `all`: every kind. */
export type Distributed = readonly Workload[] | "all";

/** Reading every Secret of a member is a right of its own: an administrator has to ask for it. */
const SECRETS = { plural: "secrets", group: "" };

/** Kubernetes' own kinds that charts and kustomizations bring, by group; Secrets only on request. */
const COMMON_KINDS: ReadonlyArray<readonly [group: string, plurals: readonly string[]]> = [
  [
    "",
    [
      "configmaps",
      "limitranges",
      "namespaces",
      "persistentvolumeclaims",
      "persistentvolumes",
      "pods",
      "resourcequotas",
      "serviceaccounts",
      "services",
    ],
  ],
  [
    "admissionregistration.k8s.io",
    [
      "mutatingwebhookconfigurations",
      "validatingadmissionpolicies",
      "validatingadmissionpolicybindings",
      "validatingwebhookconfigurations",
    ],
  ],
  ["apiextensions.k8s.io", ["customresourcedefinitions"]],
  ["apiregistration.k8s.io", ["apiservices"]],
  ["apps", ["daemonsets", "deployments", "replicasets", "statefulsets"]],
  ["autoscaling", ["horizontalpodautoscalers"]],
  ["batch", ["cronjobs", "jobs"]],
  ["networking.k8s.io", ["ingressclasses", "ingresses", "networkpolicies"]],
  ["policy", ["poddisruptionbudgets"]],
  ["rbac.authorization.k8s.io", ["clusterrolebindings", "clusterroles", "rolebindings", "roles"]],
  ["scheduling.k8s.io", ["priorityclasses"]],
  ["storage.k8s.io", ["storageclasses"]],
];

/**
 * These verbs on everything that may be distributed. Whether it is there and healthy is read in the members: without
 * the rights to read it, its health stays unknown.
 */
export function rulesFor(distributed: Distributed, verbs: readonly string[]): Rule[] {
  if (distributed === "all") return [rule("*", ["*"], verbs)];
  return [
    ...COMMON_KINDS.map(([group, plurals]) => rule(group, plurals, verbs)),
    ...distributed.map(({ group, plural }) => rule(group, [plural], verbs)),
  ];
}

/** The values of `--distribute`. */
export function distributedOf(texts: readonly string[] = []): Distributed {
  if (texts.includes("*")) return "all";
  try {
    const others = workloadsOf(texts.filter((text) => text !== SECRETS.plural));
    return texts.includes(SECRETS.plural) ? [...others, SECRETS] : others;
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    throw new CommandError(
      `--distribute: give PLURAL.GROUP, such as certificates.cert-manager.io, or secrets, or '*' for all kinds`,
    );
  }
}
