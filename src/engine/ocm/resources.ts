import { resource } from "../../kube/index.ts";

/** Open Cluster Management's kinds, as far as the adapter uses them. */
export const MANAGED_CLUSTERS = resource({
  apiVersion: "cluster.open-cluster-management.io/v1",
  kind: "ManagedCluster",
  plural: "managedclusters",
  namespaced: false,
});
export const MANIFEST_WORKS = resource({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "ManifestWork",
  plural: "manifestworks",
  namespaced: true,
});
export const PLACEMENTS = resource({
  apiVersion: "cluster.open-cluster-management.io/v1beta1",
  kind: "Placement",
  plural: "placements",
  namespaced: true,
});
export const PLACEMENT_DECISIONS = resource({
  apiVersion: "cluster.open-cluster-management.io/v1beta1",
  kind: "PlacementDecision",
  plural: "placementdecisions",
  namespaced: true,
});
export const PLACEMENT_SCORES = resource({
  apiVersion: "cluster.open-cluster-management.io/v1alpha1",
  kind: "AddOnPlacementScore",
  plural: "addonplacementscores",
  namespaced: true,
});

/** OCM's label on the decisions of a Placement: the Placement's name. */
export const PLACEMENT_LABEL = "cluster.open-cluster-management.io/placement";

/** OCM's label on ManifestWorks that a ManifestWorkReplicaSet created, and recreates if they are deleted. */
export const REPLICA_SET_LABEL = "work.open-cluster-management.io/manifestworkreplicaset";

/** Lockstep's marks that only ManifestWorks have. */
export const OCM_MARKS = {
  /** Annotation on a ManifestWork: how often Lockstep has written it. Writes of the engine do not change it. */
  version: "lockstep.karmada.io/version",
  /** Annotation on a ManifestWork that should once delete its object: only its agent knows whether it still would. */
  removal: "lockstep.karmada.io/removal",
  /** Annotation on what a ManifestWork delivers: the write that it came from (write-marks.ts). */
  write: "lockstep.karmada.io/write",
} as const;
