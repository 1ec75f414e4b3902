import { type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../../../api/index.ts";
import { DRAIN_TAINT, type EngineDefinition } from "../../../engine/index.ts";
import { ConflictError, ForbiddenError, type KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject, timestamp } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import { describe, FIELD_MANAGER, patchSpec } from "../../hub/change.ts";
import { engineOf } from "../../hub/engine.ts";
import { type Hub, listStatefulsets, withHub } from "../../hub/hub.ts";
import { type Bound, expectSeen } from "../../hub/seen.ts";
import type { GlobalOptions } from "../../options.ts";
import { confirm } from "../../terminal/confirm.ts";
import type { Io } from "../../terminal/io.ts";
import { nearest } from "../../terminal/nearest.ts";
import { print } from "../../terminal/output.ts";
import type { DrainOptions } from "./command.ts";
import { drainLines, movedTopology } from "./view.ts";

/** The engine writes the cluster's status, and its taints when it becomes unreachable: at most this often in a row. */
const ATTEMPTS = 10;

/** [C11] First shows the effects on every application there; then one taint on the Cluster applies to all of them. */
export function drain(io: Io, name: string, options: DrainOptions & GlobalOptions & Bound): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const engine = await engineOf(hub);
    const cluster = await getCluster(hub, engine, name);
    expectSeen(`cluster ${name}`, options.seen ?? {}, cluster);
    if (isDrained(cluster)) {
      print(io, `cluster ${name} is already drained`);
      return undefined;
    }
    const { applications, everywhere } = await applicationsOf(hub);
    const moves = await movesFrom(hub, engine, options.moveInstances ? applications : [], name);
    const lines = applications.flatMap((application) => drainLines(application.read, name, moves.get(application)));
    print(io, lines.length === 0 ? `no application has instances in ${name}` : lines.join("\n"));
    if (!everywhere) print(io, `Only namespace ${hub.namespace} was checked: this user may not list the others.`);
    await confirm(
      io,
      options.yes,
      `No step would start in ${name} until it is undrained, and leaders would be moved away.`,
    );
    await setTaint(hub, engine, cluster, true);
    for (const [{ object }, clusters] of moves) {
      await patchSpec(hub, object, { topology: { clusters: clusters.map((each) => ({ ...each })) } });
      print(io, `${describe(object)}: its instances leave ${name}, one membership change at a time`);
    }
    print(io, `cluster ${name} is drained for maintenance; end it with '${io.program} undrain ${name}'`);
    return undefined;
  });
}

export function undrain(io: Io, name: string, options: GlobalOptions & Bound): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const engine = await engineOf(hub);
    const cluster = await getCluster(hub, engine, name);
    expectSeen(`cluster ${name}`, options.seen ?? {}, cluster);
    if (!isDrained(cluster)) {
      print(io, `cluster ${name} is not drained`);
      return undefined;
    }
    await setTaint(hub, engine, cluster, false);
    print(io, `cluster ${name} is available again: waiting steps start now`);
    return undefined;
  });
}

async function getCluster(hub: Hub, { clusters }: EngineDefinition, name: string): Promise<KubeObject> {
  const found = await hub.client.find(clusters, { name }, hub.request);
  if (found) return found;
  const { items } = await hub.client.listAll(clusters, hub.request);
  const names = items.map(({ metadata }) => metadata.name);
  const like = nearest(name, names);
  throw new CommandError(
    `the fleet has no cluster '${name}'; ${like ? `did you mean '${like}'?` : `there are: ${names.join(", ") || "none"}`}`,
  );
}

interface Application {
  readonly object: KubeObject;
  readonly read: ParsedCrossClusterStatefulset;
}

/** Those of every namespace, or of the user's own if no more may be listed. */
async function applicationsOf(hub: Hub): Promise<{ applications: Application[]; everywhere: boolean }> {
  const read = (objects: readonly KubeObject[]) =>
    objects.flatMap((object) => {
      const parsed = parseCrossClusterStatefulset(object);
      return parsed.ok ? [{ object, read: parsed.value }] : [];
    });
  try {
    return { applications: read(await listStatefulsets(hub, undefined)), everywhere: true };
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    return { applications: read(await listStatefulsets(hub, hub.namespace)), everywhere: false };
  }
}

/** If Lockstep's own topology sets the numbers; if an engine schedules, only the engine moves instances. */
async function movesFrom(hub: Hub, { clusters }: EngineDefinition, applications: readonly Application[], name: string) {
  const { items } = await hub.client.listAll(clusters, hub.request);
  const drained = new Set(items.filter(isDrained).map(({ metadata }) => metadata.name));
  const moves = new Map<Application, NonNullable<ReturnType<typeof movedTopology>>>();
  for (const application of applications) {
    const moved = movedTopology(application.read.spec, name, (other) => drained.has(other));
    const held = application.read.status?.clusters?.find((row) => row.name === name)?.ordinals?.length ?? 0;
    if (moved && held > 0) moves.set(application, moved);
  }
  return moves;
}

function taintsOf({ spec }: KubeObject): JsonObject[] {
  return isJsonObject(spec) && Array.isArray(spec.taints) ? spec.taints.filter(isJsonObject) : [];
}

function isDrained(cluster: KubeObject): boolean {
  return taintsOf(cluster).some(({ key }) => key === DRAIN_TAINT);
}

/** A compare-and-swap: others store taints in the same list. */
async function setTaint(
  hub: Hub,
  { clusters, drainEffect: effect }: EngineDefinition,
  cluster: KubeObject,
  isOn: boolean,
): Promise<void> {
  let current = cluster;
  const { name } = cluster.metadata;
  for (let attempt = 1; ; attempt++) {
    const others = taintsOf(current).filter(({ key }) => key !== DRAIN_TAINT);
    const timeAdded = timestamp(hub.clock.now());
    const taints = isOn ? [...others, { key: DRAIN_TAINT, effect, timeAdded }] : others;
    const { resourceVersion } = current.metadata;
    const body: JsonObject = { metadata: resourceVersion === undefined ? {} : { resourceVersion }, spec: { taints } };
    try {
      await hub.client.patch(
        clusters,
        { name },
        { type: "merge", body },
        { ...hub.request, fieldManager: FIELD_MANAGER },
      );
      return;
    } catch (error) {
      if (!(error instanceof ConflictError) || attempt === ATTEMPTS) throw error;
      current = await hub.client.get(clusters, { name }, hub.request);
      expectSeen(`cluster ${name}`, { uid: cluster.metadata.uid ?? "" }, current);
    }
  }
}
