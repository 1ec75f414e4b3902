import { parseCrossClusterStatefulset } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { CommandError } from "../../errors.ts";
import { describe, patchSpec, readStatefulset, timeNow } from "../../hub/change.ts";
import { engineOf } from "../../hub/engine.ts";
import { getStatefulset, type Hub, listStatefulsets, withHub } from "../../hub/hub.ts";
import type { GlobalOptions } from "../../options.ts";
import { confirm } from "../../terminal/confirm.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";
import { print } from "../../terminal/output.ts";
import type { ConfirmOptions } from "./command.ts";

export function runConfirmLost(
  io: Io,
  cluster: string,
  given: string | undefined,
  options: ConfirmOptions & GlobalOptions,
): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const objects = await namedUsers(hub, cluster, given);
    const engine = await engineOf(hub);
    const found = await hub.client.find(engine.clusters, { name: cluster }, hub.request);
    if (found && engine.readCluster(found)?.state === "Ready") {
      throw new CommandError(
        `Cluster ${cluster} is Ready: its instances are not lost. To move them away, set it to 0 in spec.topology (lockstep scale NAME --cluster ${cluster}=0), or remove it from the ${engine.selects}`,
      );
    }
    const names = objects.map(describe).join(", ");
    await confirm(
      io,
      options.yes,
      `The instances of ${names} in ${cluster} would count as permanently lost. If they are still alive, the application may split in two.`,
    );
    const at = timeNow(hub);
    for (const object of objects) {
      const { failover } = readStatefulset(object).spec;
      const others = (failover.confirmedLost ?? []).filter(({ name }) => name !== cluster);
      await patchSpec(hub, object, { failover: { confirmedLost: [...others, { name: cluster, at }] } });
      print(io, `${describe(object)}: ${cluster} is confirmed lost`);
    }
    return undefined;
  });
}

export function runConfirmDrain(
  io: Io,
  cluster: string,
  given: string | undefined,
  options: ConfirmOptions & GlobalOptions,
): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const objects = await namedUsers(hub, cluster, given);
    const names = objects.map(describe).join(", ");
    await confirm(io, options.yes, `The instances of ${names} in ${cluster} would be removed, one after the other.`);
    for (const object of objects) {
      const { failover } = readStatefulset(object).spec;
      const confirmedDrain = [...new Set([...(failover.confirmedDrain ?? []), cluster])];
      await patchSpec(hub, object, { failover: { confirmedDrain } });
      print(io, `${describe(object)}: ${cluster} may be drained`);
    }
    return undefined;
  });
}

/** The named object, or all of the namespace that use the cluster; never none. */
async function namedUsers(hub: Hub, cluster: string, given: string | undefined): Promise<KubeObject[]> {
  const objects = given === undefined ? await usersOf(hub, cluster) : [await getStatefulset(hub, given)];
  for (const object of objects) checkUses(object, cluster);
  if (objects.length > 0) return objects;
  throw new CommandError(
    `no CrossClusterStatefulset of namespace ${hub.namespace} uses cluster '${cluster}'; check the name, or use -n`,
  );
}

async function usersOf(hub: Hub, cluster: string): Promise<KubeObject[]> {
  const items = await listStatefulsets(hub, hub.namespace);
  return items.filter((object) => clustersOf(object).includes(cluster));
}

function checkUses(object: KubeObject, cluster: string): void {
  const clusters = clustersOf(object);
  if (clusters.includes(cluster)) return;
  const like = nearest(cluster, clusters);
  throw new CommandError(
    `${describe(object)} has nothing in cluster '${cluster}'; ${like ? `did you mean '${like}'?` : `it uses ${clusters.join(", ") || "none"}`}`,
  );
}

function clustersOf(object: KubeObject): string[] {
  const parsed = parseCrossClusterStatefulset(object);
  if (!parsed.ok) return [];
  const { spec, status } = parsed.value;
  const named = (spec.topology?.clusters ?? []).map(({ name }) => name);
  return [...new Set([...named, ...(status?.clusters ?? []).map(({ name }) => name)])];
}
