/** What only the controller may write: each guard refuses the writes of other users, and names what to do instead. */
import { APPS_GROUP } from "../kinds/cross-cluster-statefulset.ts";
import { CROSS_CLUSTER_LEDGER } from "../kinds/ledger.ts";
import {
  deliveries,
  type Expression,
  exceptOwners,
  leavesAlone,
  NAMESPACE_IS_GOING,
  type Policy,
  type PolicySettings,
} from "./policy.ts";

const ALL = ["CREATE", "UPDATE", "DELETE"] as const;
const HOLD_LABEL = "lockstep.karmada.io/hold";
const WORK_LABEL = "lockstep.karmada.io/app";
const REVISION_LABEL = "lockstep.karmada.io/statefulset";
const PROTECTION_LABEL = "resourcetemplate.karmada.io/deletion-protected";

/** Matches an object by this label, before or after the write. */
const labelled = (key: string) => ({ matchExpressions: [{ key, operator: "Exists" }] });

export function holds(settings: PolicySettings): Policy {
  const isHold = `(has(o.metadata.labels) && '${HOLD_LABEL}' in o.metadata.labels) || (has(o.metadata.name) && o.metadata.name.startsWith('lockstep-hold-'))`;
  // After a release, the controller removes the protection and leaves the hold for its owner to delete.
  const isFree = `(request.operation == 'DELETE' && !(has(oldObject.metadata.labels) && '${PROTECTION_LABEL}' in oldObject.metadata.labels))`;
  return {
    name: "holds",
    resources: [{ group: "policy.karmada.io", plurals: ["overridepolicies", "clusteroverridepolicies"] }],
    operations: ALL,
    matchConditions: [
      { name: "a-hold", expression: `[object, oldObject].exists(o, o != null && (${isHold}))` },
      ...exceptOwners(settings),
    ],
    validations: [
      {
        expression: `${isFree} || ${NAMESPACE_IS_GOING} || ${leavesAlone("spec")}`,
        message:
          "only Lockstep's controller may write a hold (an OverridePolicy named lockstep-hold-... or labelled lockstep.karmada.io/hold): without it Karmada would change every cluster at once. To end the hold, delete the CrossClusterStatefulset",
        reason: "Forbidden",
      },
    ],
  };
}

export function works(settings: PolicySettings): Policy {
  const { group, plural, kind } = deliveries(settings);
  return {
    name: "works",
    resources: [{ group, plurals: [plural] }],
    operations: ALL,
    objectSelector: labelled(WORK_LABEL),
    matchConditions: [...exceptOwners(settings), ...exceptDetaching(settings)],
    validations: [
      {
        expression: `${NAMESPACE_IS_GOING} || ${leavesAlone("spec")}`,
        message: `only Lockstep's controller may write a ${kind} labelled ${WORK_LABEL}: it says what a member cluster was granted. Change the template or the CrossClusterStatefulset instead`,
        reason: "Forbidden",
      },
    ],
  };
}

/**
 * A cluster that is detached from Open Cluster Management loses all its ManifestWorks; its hub's own controllers delete
 * them. What Lockstep delivered stays in the cluster.
 */
function exceptDetaching({ engine }: PolicySettings): Expression[] {
  if (engine !== "ocm") return [];
  const isHubs = "'system:serviceaccounts:open-cluster-management-hub' in request.userInfo.groups";
  return [{ name: "not-detaching-a-cluster", expression: `!(request.operation == 'DELETE' && ${isHubs})` }];
}

export function ledgers(settings: PolicySettings): Policy {
  return {
    name: "ledgers",
    resources: [{ group: APPS_GROUP, plurals: [CROSS_CLUSTER_LEDGER.plural] }],
    operations: ALL,
    matchConditions: exceptOwners(settings),
    validations: [
      {
        expression: `${NAMESPACE_IS_GOING} || ${leavesAlone("spec")}`,
        message:
          "only Lockstep's controller may write a CrossClusterLedger: it is the controller's memory of what each cluster was granted",
        reason: "Forbidden",
      },
    ],
  };
}

export function revisions(settings: PolicySettings): Policy {
  return {
    name: "revisions",
    resources: [{ group: "apps", plurals: ["controllerrevisions"] }],
    operations: ALL,
    objectSelector: labelled(REVISION_LABEL),
    matchConditions: exceptOwners(settings),
    validations: [
      {
        expression: `${NAMESPACE_IS_GOING} || ${leavesAlone("data", "revision")}`,
        message: `only Lockstep's controller may write a ControllerRevision labelled ${REVISION_LABEL}: it records what was rolled out. To return to an earlier revision, run 'lockstep undo'`,
        reason: "Forbidden",
      },
    ],
  };
}

/**
 * Covers only what Lockstep stores there, and what grants rights there. If pods run there, nodes and schedulers may
 * write them.
 */
export function systemNamespace(settings: PolicySettings): Policy {
  const { systemNamespace: name } = settings;
  return {
    name: "system-namespace",
    resources: [
      { group: "", plurals: ["secrets", "configmaps", "serviceaccounts"] },
      { group: "apps", plurals: ["controllerrevisions"] },
      { group: "coordination.k8s.io", plurals: ["leases"] },
      { group: "rbac.authorization.k8s.io", plurals: ["roles", "rolebindings"] },
    ],
    operations: ALL,
    namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": name } },
    matchConditions: exceptOwners(settings),
    validations: [
      {
        expression: NAMESPACE_IS_GOING,
        message: `namespace ${name} is Lockstep's own: only its controller and administrators of the hub may write there`,
        reason: "Forbidden",
      },
    ],
  };
}
