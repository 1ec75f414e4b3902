/** Topologies in members that no application has any longer. Reads only. */
import { CROSS_CLUSTER_STATEFULSET } from "../../../api/index.ts";
import { selectedBy } from "../../../controllers/index.ts";
import { carriedBy } from "../../../engine/index.ts";
import { type KubeClient, type KubeObject, resource } from "../../../kube/index.ts";
import { MANAGED_BY } from "../../../render/index.ts";
import type { Hub } from "../../hub/hub.ts";
import { all, type Orphan } from "./owners.ts";

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const LABELS = Object.entries(MANAGED_BY)
  .map(([key, value]) => `${key}=${value}`)
  .join(",");
/** A topology's files, or a part of a topology that is named after its content; a part's name may be cut. */
const NAME = /^(?<workload>.+)-topology(?<part>-[0-9a-f]{32})?$/;

/**
 * They are only listed: a ConfigMap in a member does not name the life of its owner, and pods or operators of what was
 * released read it. `delivered`: the dispatch objects of this cluster. What one of them delivers is listed as that.
 */
export async function orphanConfigMaps(
  hub: Hub,
  member: KubeClient,
  cluster: string,
  delivered: readonly KubeObject[],
): Promise<Orphan[]> {
  const { items } = await member.listAll(CONFIG_MAPS, { labelSelector: LABELS, ...hub.request });
  const carried = new Set(
    delivered
      .flatMap(carriedBy)
      .filter(({ kind }) => kind === CONFIG_MAPS.kind)
      .map(({ namespace, name }) => `${namespace}/${name}`),
  );
  const loose = items.filter(({ metadata: { namespace, name } }) => {
    return NAME.test(name) && !carried.has(`${namespace}/${name}`);
  });
  if (loose.length === 0) return [];
  const living = await all(hub, CROSS_CLUSTER_STATEFULSET);
  return loose
    .filter(({ metadata }) => !living.some((statefulset) => mayTell(statefulset, metadata)))
    .map(({ apiVersion, kind, metadata }) => ({
      where: cluster,
      resource: CONFIG_MAPS,
      // Without the topology itself.
      object: { apiVersion, kind, metadata },
      why: "no CrossClusterStatefulset has this topology",
      kept: `what was released may read it; if nothing in ${cluster} does, there: kubectl -n ${metadata.namespace} delete configmap ${metadata.name}`,
    }));
}

/** Whether the topology may be this application's. One that selects its template by label may have any name. */
function mayTell(statefulset: KubeObject, { namespace, name }: KubeObject["metadata"]): boolean {
  if (statefulset.metadata.namespace !== namespace) return false;
  const selected = selectedBy(statefulset);
  if (selected?.kind === "by label") return true;
  const { workload = "", part } = NAME.exec(name)?.groups ?? {};
  const names = [statefulset.metadata.name, ...(selected ? [selected.ref.name] : [])];
  return names.some((each) => each === workload || (part !== undefined && each.startsWith(workload)));
}
