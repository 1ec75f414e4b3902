import type { Policy, PolicySettings } from "./policy.ts";

/** The ConfigMap in Lockstep's own namespace that lists the clusters with objects of Lockstep's, one key for each. */
export const CLUSTERS_IN_USE = "lockstep-clusters-in-use";

/** The annotation with which an administrator detaches a cluster that cannot be drained any more. */
export const DETACH_WITHOUT_DRAIN = "lockstep.karmada.io/detach-without-drain";

/**
 * Once a ManagedCluster or its namespace on the hub is being deleted, Open Cluster Management deletes every ManifestWork
 * of the cluster: its applications run on without Lockstep, and no step can drain them. So the deletion is refused
 * while Lockstep has objects there, for administrators too.
 */
export function clustersInUse({ systemNamespace }: PolicySettings): Policy {
  const name = "oldObject.metadata.name";
  const isConfirmed = `has(oldObject.metadata.annotations) && '${DETACH_WITHOUT_DRAIN}' in oldObject.metadata.annotations && oldObject.metadata.annotations['${DETACH_WITHOUT_DRAIN}'] == 'true'`;
  const kind = "(request.resource.resource == 'namespaces' ? 'namespace' : 'managedcluster')";
  return {
    name: "clusters-in-use",
    resources: [
      { group: "cluster.open-cluster-management.io", plurals: ["managedclusters"] },
      { group: "", plurals: ["namespaces"] },
    ],
    operations: ["DELETE"],
    params: { apiVersion: "v1", kind: "ConfigMap", namespace: systemNamespace, name: CLUSTERS_IN_USE },
    validations: [
      {
        expression: `!has(params.data) || !(${name} in params.data) || (${isConfirmed})`,
        message: "Lockstep has objects in this cluster: drain it before it is detached",
        messageExpression:
          `'Lockstep has objects in cluster ' + ${name} + ', and could not drain it any more. First run: lockstep drain ' + ${name} + ` +
          `' --move-instances, and wait until its objects are gone: kubectl get manifestworks -n ' + ${name} + ' -l lockstep.karmada.io/app. ' + ` +
          `'If the cluster is lost for good, run: kubectl annotate ' + ${kind} + ' ' + ${name} + ' ${DETACH_WITHOUT_DRAIN}=true, and delete it again'`,
        reason: "Forbidden",
      },
    ],
  };
}
