/** The contract's use of an Open Cluster Management hub. */
import { resource } from "../../../kube/index.ts";
import { MANIFEST_WORKS, PLACEMENTS } from "../../ocm/resources.ts";
import type { ContractHub } from "./hub.ts";
import { MANAGER, NAMESPACE, specOf, statefulSet } from "./objects.ts";

const SET_BINDINGS = resource({
  apiVersion: "cluster.open-cluster-management.io/v1beta2",
  kind: "ManagedClusterSetBinding",
  plural: "managedclustersetbindings",
  namespaced: true,
});

/** The set that contains every cluster, on every hub. */
const ALL_CLUSTERS = "global";

const UNEVEN = { member1: 2, member2: 2, member3: 1 };

export const OCM_HUB: ContractHub = {
  works: MANIFEST_WORKS,
  namespaceOf: (cluster) => cluster,
  rendersTemplates: false,
  async schedule(hub, { placement = "" }) {
    const binding = { name: ALL_CLUSTERS, namespace: NAMESPACE };
    const { apiVersion, kind } = SET_BINDINGS;
    await hub.apply(SET_BINDINGS, { apiVersion, kind, metadata: binding, spec: { clusterSet: ALL_CLUSTERS } }, MANAGER);
    const spec = { clusterSets: [ALL_CLUSTERS], tolerations: [{ operator: "Exists" }] };
    const metadata = { name: placement, namespace: NAMESPACE };
    await hub.apply(PLACEMENTS, { apiVersion: PLACEMENTS.apiVersion, kind: PLACEMENTS.kind, metadata, spec }, MANAGER);
  },
  // A Placement selects clusters; it does not divide instances.
  fiveInstances: { member1: 1, member2: 1, member3: 1 },
  async runWithoutLockstep(hub, { name }) {
    for (const [namespace, replicas] of Object.entries(UNEVEN)) {
      const work = OCM_HUB.foreignWork({ namespace, name }, [statefulSet(name, replicas, "app:1")]);
      // The common case: deleting it deletes what it delivered.
      await hub.create(MANIFEST_WORKS, {
        ...work,
        spec: { ...specOf(work), deleteOption: { propagationPolicy: "Foreground" } },
      });
    }
  },
  foreignWork: (metadata, objects) => ({
    apiVersion: MANIFEST_WORKS.apiVersion,
    kind: MANIFEST_WORKS.kind,
    metadata: { ...metadata },
    spec: {
      deleteOption: { propagationPolicy: "Orphan" },
      workload: { manifests: objects.map((object) => ({ ...object })) },
    },
  }),
  async deleteWork(hub, { metadata }) {
    await hub.delete(MANIFEST_WORKS, metadata);
  },
};
