/** What an installation needs on a hub of Open Cluster Management, and in its members. Pure. */
import type { Workload } from "../../../api/index.ts";
import type { JsonObject } from "../../../runtime/index.ts";
import { clusterRole, LABELS, rule } from "./roles.ts";

const WORK_GROUP = "work.open-cluster-management.io";
/** The agent's own role in a member collects the rules of all roles with this label. */
const AGGREGATE_TO_WORK = "open-cluster-management.io/aggregate-to-work";
const MEMBER_ROLE = "lockstep-work";
/** The ManifestWork in each cluster's namespace that carries the role to the member. */
export const MEMBER_RIGHTS_WORK = "lockstep-member-rights";

/**
 * Agents may apply Kubernetes' own workloads already. What they may not list and watch they would poll, so a custom kind
 * needs these rights as well as those to write it.
 */
export function memberRightsWork(cluster: string, workloads: readonly Workload[]): JsonObject {
  const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
  const rules = workloads.map(({ group, plural }) => rule(group, [plural], verbs));
  return {
    apiVersion: `${WORK_GROUP}/v1`,
    kind: "ManifestWork",
    metadata: { name: MEMBER_RIGHTS_WORK, namespace: cluster, labels: LABELS },
    spec: { workload: { manifests: [clusterRole(MEMBER_ROLE, rules, { [AGGREGATE_TO_WORK]: "true" })] } },
  };
}

/** Karmada's format for how a kind is read is Lockstep's, too; only Karmada's hubs have the kind already. */
export function customizationDefinition(): JsonObject {
  const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const names = {
    kind: "ResourceInterpreterCustomization",
    listKind: "ResourceInterpreterCustomizationList",
    plural: "resourceinterpretercustomizations",
    singular: "resourceinterpretercustomization",
    shortNames: ["ric"],
  };
  const group = "config.karmada.io";
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${names.plural}.${group}`, labels: LABELS },
    spec: {
      group,
      names,
      scope: "Cluster",
      versions: [
        {
          name: "v1alpha1",
          served: true,
          storage: true,
          schema: { openAPIV3Schema: { type: "object", required: ["spec"], properties: { spec: anything } } },
        },
      ],
    },
  };
}
