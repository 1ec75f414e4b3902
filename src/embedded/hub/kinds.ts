/** Karmada's kinds on the hub, in its groups and shapes, as far as Lockstep's adapter and users need them. */
import type { KubeObject } from "../../apiserver/index.ts";
import type { JsonObject } from "../../runtime/index.ts";

export const RESOURCES = {
  clusters: "cluster.karmada.io/clusters",
  works: "work.karmada.io/works",
  bindings: "work.karmada.io/resourcebindings",
  clusterBindings: "work.karmada.io/clusterresourcebindings",
  policies: "policy.karmada.io/propagationpolicies",
  clusterPolicies: "policy.karmada.io/clusterpropagationpolicies",
  overrides: "policy.karmada.io/overridepolicies",
  clusterOverrides: "policy.karmada.io/clusteroverridepolicies",
  customizations: "config.karmada.io/resourceinterpretercustomizations",
  namespaces: "/namespaces",
  definitions: "apiextensions.k8s.io/customresourcedefinitions",
} as const;

/** Karmada's marks on the objects that it creates. */
export const KARMADA = {
  bindingId: "resourcebinding.karmada.io/permanent-id",
  bindingName: "resourcebinding.karmada.io/name",
  bindingNamespace: "resourcebinding.karmada.io/namespace",
  workId: "work.karmada.io/permanent-id",
  workName: "work.karmada.io/name",
  workNamespace: "work.karmada.io/namespace",
  managed: "karmada.io/managed",
  conflictResolution: "work.karmada.io/conflict-resolution",
  appliedOverrides: "policy.karmada.io/applied-overrides",
  executionFinalizer: "karmada.io/execution-controller",
  deletionProtected: "resourcetemplate.karmada.io/deletion-protected",
  policyName: "propagationpolicy.karmada.io/name",
  policyNamespace: "propagationpolicy.karmada.io/namespace",
  clusterPolicyName: "clusterpropagationpolicy.karmada.io/name",
} as const;

export const KARMADA_NAMESPACE = "karmada-system";

/** Where the binding of a template is: in its namespace, or cluster-scoped like the template. */
export function bindingResource(namespace: string): string {
  return namespace === "" ? RESOURCES.clusterBindings : RESOURCES.bindings;
}

export function executionNamespace(cluster: string): string {
  return `karmada-es-${cluster}`;
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly plural: string;
  readonly shortNames?: readonly string[];
  readonly clusterScoped?: true;
  readonly status?: true;
  /** Name and JSONPath of what `kubectl get` shows. */
  readonly columns?: Readonly<Record<string, string>>;
}

const KINDS: readonly Kind[] = [
  {
    group: "cluster.karmada.io",
    version: "v1alpha1",
    kind: "Cluster",
    plural: "clusters",
    clusterScoped: true,
    status: true,
    columns: { Mode: ".spec.syncMode", Ready: ".status.conditions[?(@.type=='Ready')].status" },
  },
  {
    group: "work.karmada.io",
    version: "v1alpha1",
    kind: "Work",
    plural: "works",
    shortNames: ["wk"],
    status: true,
    columns: {
      "Workload-Kind": ".spec.workload.manifests[0].kind",
      "Workload-Name": ".spec.workload.manifests[0].metadata.name",
      Applied: ".status.conditions[?(@.type=='Applied')].status",
    },
  },
  {
    group: "work.karmada.io",
    version: "v1alpha2",
    kind: "ResourceBinding",
    plural: "resourcebindings",
    shortNames: ["rb"],
    status: true,
    columns: { Scheduled: ".status.conditions[?(@.type=='Scheduled')].status" },
  },
  {
    group: "work.karmada.io",
    version: "v1alpha2",
    kind: "ClusterResourceBinding",
    plural: "clusterresourcebindings",
    shortNames: ["crb"],
    clusterScoped: true,
    status: true,
    columns: { Scheduled: ".status.conditions[?(@.type=='Scheduled')].status" },
  },
  {
    group: "policy.karmada.io",
    version: "v1alpha1",
    kind: "PropagationPolicy",
    plural: "propagationpolicies",
    shortNames: ["pp"],
  },
  {
    group: "policy.karmada.io",
    version: "v1alpha1",
    kind: "ClusterPropagationPolicy",
    plural: "clusterpropagationpolicies",
    shortNames: ["cpp"],
    clusterScoped: true,
  },
  {
    group: "policy.karmada.io",
    version: "v1alpha1",
    kind: "OverridePolicy",
    plural: "overridepolicies",
    shortNames: ["op"],
  },
  {
    group: "policy.karmada.io",
    version: "v1alpha1",
    kind: "ClusterOverridePolicy",
    plural: "clusteroverridepolicies",
    shortNames: ["cop"],
    clusterScoped: true,
  },
  {
    group: "config.karmada.io",
    version: "v1alpha1",
    kind: "ResourceInterpreterCustomization",
    plural: "resourceinterpretercustomizations",
    shortNames: ["ric"],
    clusterScoped: true,
  },
  {
    group: "config.karmada.io",
    version: "v1alpha1",
    kind: "ResourceInterpreterWebhookConfiguration",
    plural: "resourceinterpreterwebhookconfigurations",
    clusterScoped: true,
  },
];

const ANYTHING = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

export function karmadaDefinitions(): KubeObject[] {
  return KINDS.map((kind) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${kind.plural}.${kind.group}` },
    spec: {
      group: kind.group,
      scope: kind.clusterScoped ? "Cluster" : "Namespaced",
      names: {
        kind: kind.kind,
        plural: kind.plural,
        singular: kind.kind.toLowerCase(),
        ...(kind.shortNames && { shortNames: [...kind.shortNames] }),
      },
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: ANYTHING },
          ...(kind.status && { subresources: { status: {} } }),
          ...(kind.columns && { additionalPrinterColumns: columns(kind.columns) }),
        },
      ],
    },
  }));
}

function columns(shown: Readonly<Record<string, string>>): JsonObject[] {
  return Object.entries(shown).map(([name, jsonPath]) => ({ name, type: "string", jsonPath }));
}
