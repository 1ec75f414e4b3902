/** The engines that a hub may have, as far as programs beside the controller have to know them. */
import type { EngineName } from "../api/index.ts";
import type { KubeClient, KubeObject, RequestOptions, Resource } from "../kube/index.ts";
import { type Headroom, karmadaHeadroom, ocmHeadroom } from "./headroom.ts";
import { readCluster } from "./karmada/hub.ts";
import { CLUSTERS, executionNamespace, WORKS } from "./karmada/resources.ts";
import { readManagedCluster } from "./ocm/clusters.ts";
import { MANAGED_CLUSTERS, MANIFEST_WORKS } from "./ocm/resources.ts";
import type { EngineCluster } from "./port.ts";

export interface EngineDefinition {
  readonly name: EngineName;
  /** What it is called in sentences. */
  readonly title: string;
  readonly clusters: Resource;
  /** What delivers objects to members. */
  readonly dispatches: Resource;
  /** The hub's namespace of what is delivered to this cluster. */
  readonly dispatchNamespace: (cluster: string) => string;
  /** Undefined: it has not joined the fleet. */
  readonly readCluster: (cluster: KubeObject) => EngineCluster | undefined;
  /** What it offers to pods; undefined: the engine does not tell. */
  readonly readHeadroom: (cluster: KubeObject) => Headroom | undefined;
  /** The kind of the objects with which users select clusters. */
  readonly selects: string;
  /** The effect of DRAIN_TAINT: it repels new instances, and those that run stay. */
  readonly drainEffect: string;
  /** What the adapter reads and writes, as apiVersion and kind. */
  readonly kinds: readonly (readonly [apiVersion: string, kind: string])[];
  /** The first version of it that serves all of them. */
  readonly since: string;
}

export const ENGINES: Readonly<Record<EngineName, EngineDefinition>> = {
  karmada: {
    name: "karmada",
    title: "Karmada",
    clusters: CLUSTERS,
    dispatches: WORKS,
    dispatchNamespace: executionNamespace,
    readCluster,
    readHeadroom: karmadaHeadroom,
    selects: "PropagationPolicy",
    drainEffect: "NoSchedule",
    kinds: [
      ["cluster.karmada.io/v1alpha1", "Cluster"],
      ["work.karmada.io/v1alpha1", "Work"],
      ["work.karmada.io/v1alpha2", "ResourceBinding"],
      ["policy.karmada.io/v1alpha1", "OverridePolicy"],
      ["policy.karmada.io/v1alpha1", "ClusterOverridePolicy"],
    ],
    since: "Karmada 1.18",
  },
  ocm: {
    name: "ocm",
    title: "Open Cluster Management",
    clusters: MANAGED_CLUSTERS,
    dispatches: MANIFEST_WORKS,
    dispatchNamespace: (cluster) => cluster,
    readCluster: readManagedCluster,
    readHeadroom: ocmHeadroom,
    selects: "Placement",
    // Placements keep clusters that they have selected already; NoSelect would drop this one at once.
    drainEffect: "NoSelectIfNew",
    kinds: [
      ["cluster.open-cluster-management.io/v1", "ManagedCluster"],
      ["work.open-cluster-management.io/v1", "ManifestWork"],
      ["cluster.open-cluster-management.io/v1beta1", "Placement"],
      ["cluster.open-cluster-management.io/v1beta1", "PlacementDecision"],
    ],
    since: "Open Cluster Management 1.2",
  },
};

export function isEngineName(name: string): name is EngineName {
  return Object.hasOwn(ENGINES, name);
}

/** The engines that this server has, by the API group of their clusters. */
export async function findEngines(
  { discovery }: Pick<KubeClient, "discovery">,
  options: RequestOptions = {},
): Promise<EngineName[]> {
  const found = await Promise.all(
    Object.values(ENGINES).map(async ({ name, clusters }) => {
      const [group = ""] = clusters.apiVersion.split("/");
      return (await discovery.versions(group, options)).length > 0 ? [name] : [];
    }),
  );
  return found.flat();
}
