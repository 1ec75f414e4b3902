/**
 * One rolling update of five instances over three clusters, three times on the same real Karmada: by Lockstep; by hand,
 * as people do it today (suspend dispatching on the PropagationPolicy, edit, release cluster by cluster, poll); and with
 * no coordination at all.
 */
import { performance } from "node:perf_hooks";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import { isJsonObject, type Transport } from "../../src/runtime/index.ts";
import type { World, WorldOptions } from "../../test/stories/world.ts";
import type { BenchRow } from "../main.ts";
import { machineLoad, round, sleep } from "./measure.ts";

const INSTANCES = 5;
const QUORUM = 3;
/** As often as a person's loop around kubectl. */
const POLL_MS = 1_000;
const MERGE_PATCH = "application/merge-patch+json";

type Api = World["stack"]["hub"];

/** Which pods of each application are ready, from watches of the members. */
class Readiness {
  readonly #ready = new Map<string, Set<string>>();
  readonly #since = new Map<string, { atMs: number; mostDown: number; withoutQuorumMs: number; lostAtMs?: number }>();

  async watch(cluster: string, api: Api, signal: AbortSignal): Promise<void> {
    for await (const { type, object } of api.watch("/api/v1/namespaces/default/pods", signal)) {
      const app = /^(.+)-\d+$/.exec(object.metadata.name)?.[1];
      if (app === undefined) continue;
      const ready = this.#ready.get(app) ?? new Set<string>();
      this.#ready.set(app, ready);
      const id = `${cluster}/${object.metadata.name}`;
      if (type !== "DELETED" && object.metadata.deletionTimestamp === undefined && isReady(object.status))
        ready.add(id);
      else ready.delete(id);
      this.#changed(app, ready.size);
    }
  }

  count(app: string): number {
    return this.#ready.get(app)?.size ?? 0;
  }

  begin(app: string): void {
    this.#since.set(app, { atMs: performance.now(), mostDown: 0, withoutQuorumMs: 0 });
  }

  end(app: string): BenchRow {
    this.#changed(app, this.count(app));
    const { atMs, mostDown, withoutQuorumMs } = this.#since.get(app) ?? { atMs: 0, mostDown: 0, withoutQuorumMs: 0 };
    this.#since.delete(app);
    return {
      "update s": round((performance.now() - atMs) / 1_000),
      "most instances down": mostDown,
      "without quorum s": round(withoutQuorumMs / 1_000),
    };
  }

  #changed(app: string, ready: number): void {
    const since = this.#since.get(app);
    if (!since) return;
    since.mostDown = Math.max(since.mostDown, INSTANCES - ready);
    if (since.lostAtMs !== undefined) since.withoutQuorumMs += performance.now() - since.lostAtMs;
    if (ready < QUORUM) since.lostAtMs = performance.now();
    else delete since.lostAtMs;
  }
}

function isReady(status: unknown): boolean {
  const conditions = isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions : [];
  return conditions.some((each) => isJsonObject(each) && each.type === "Ready" && each.status === "True");
}

export async function comparison(startWorld: (options: WorldOptions) => Promise<World>): Promise<BenchRow[]> {
  let asked = 0;
  const counted = (transport: Transport): Transport => ({
    stream: (request) => transport.stream(request),
    request: (request) => {
      asked++;
      return transport.request(request);
    },
  });
  const world = await startWorld({ through: counted });
  const stop = new AbortController();
  try {
    const readiness = new Readiness();
    const watching = [...world.stack.members].map(([name, api]) => readiness.watch(name, api, stop.signal));
    for (const name of ["hand", "alone"])
      await world.stage.runWithoutLockstep(world, statefulSet(name, INSTANCES, "app:0"));
    await world.stage.declare(world, "web", statefulSet("web", INSTANCES, "app:0"));
    for (const name of ["web", "hand", "alone"]) {
      await world.until(`${name} is deployed`, async () => readiness.count(name) === INSTANCES);
    }
    await world.until("web is settled", async () => (await world.settled("web", INSTANCES)) === true);
    await sleep(POLL_MS);
    const rows: BenchRow[] = [];

    readiness.begin("web");
    asked = 0;
    await world.stage.declare(world, "web", statefulSet("web", INSTANCES, "app:1"));
    await world.until("web is updated", async () => {
      return (await isUpdated(world, "web", "app:1")) && (await world.settled("web", INSTANCES)) === true;
    });
    rows.push({ way: "Lockstep", ...readiness.end("web"), "hub requests": asked });

    readiness.begin("hand");
    const requests = await updateByHand(world, "hand", "app:1");
    rows.push({ way: "by hand: suspend, release, poll", ...readiness.end("hand"), "hub requests": requests });

    readiness.begin("alone");
    await edit(world.stack.hub, "alone", "app:1");
    await world.until("alone is updated", () => isUpdated(world, "alone", "app:1"));
    rows.push({ way: "Karmada alone", ...readiness.end("alone"), "hub requests": 1 });
    stop.abort();
    await Promise.allSettled(watching);
    return [...rows, { way: `load of the machine: ${machineLoad()}` }];
  } finally {
    stop.abort();
    await world.stop();
  }
}

/** Returns how many requests to the hub it took. */
async function updateByHand({ stack }: World, name: string, image: string): Promise<number> {
  const { hub, members } = stack;
  const clusters = [...members.keys()];
  const policy = `/apis/policy.karmada.io/v1alpha1/namespaces/default/propagationpolicies/${name}`;
  let requests = 0;
  const suspend = (clusterNames: readonly string[]) => {
    requests++;
    const suspension = clusterNames.length > 0 ? { dispatchingOnClusters: { clusterNames } } : null;
    return patch(hub, policy, { spec: { suspension } }, MERGE_PATCH);
  };
  const poll = async (isDone: () => Promise<boolean>) => {
    for (requests++; !(await isDone()); requests++) await sleep(POLL_MS);
  };
  await suspend(clusters);
  // An edit before Karmada has passed the suspension on reaches clusters at once.
  await poll(async () => {
    const binding = `/apis/work.karmada.io/v1alpha2/namespaces/default/resourcebindings/${name}-statefulset`;
    const found = await hub.get<{ spec: { suspension?: { dispatchingOnClusters?: unknown } } }>(binding);
    return found?.spec.suspension?.dispatchingOnClusters !== undefined;
  });
  await sleep(POLL_MS);
  requests++;
  await edit(hub, name, image);
  for (const [index, cluster] of clusters.entries()) {
    await suspend(clusters.slice(index + 1));
    const path = `/apis/cluster.karmada.io/v1alpha1/clusters/${cluster}/proxy/apis/apps/v1/namespaces/default/statefulsets/${name}`;
    await poll(async () => isDone(await hub.get<Workload>(path), image));
  }
  return requests;
}

interface Workload {
  readonly metadata: { readonly generation?: number };
  readonly spec: {
    readonly replicas: number;
    readonly template: { readonly spec: { readonly containers: { image: string }[] } };
  };
  readonly status?: { observedGeneration?: number; updatedReplicas?: number; readyReplicas?: number };
}

function isDone(set: Workload | undefined, image: string): boolean {
  if (!set) return false;
  const { observedGeneration, updatedReplicas, readyReplicas } = set.status ?? {};
  return (
    set.spec.template.spec.containers[0]?.image === image &&
    observedGeneration === set.metadata.generation &&
    updatedReplicas === set.spec.replicas &&
    readyReplicas === set.spec.replicas
  );
}

async function isUpdated({ stack }: World, name: string, image: string): Promise<boolean> {
  const path = `/apis/apps/v1/namespaces/default/statefulsets/${name}`;
  const sets = await Promise.all([...stack.members.values()].map((api) => api.get<Workload>(path)));
  return sets.every((set) => isDone(set, image));
}

function edit(hub: Api, name: string, image: string): Promise<void> {
  const operations = [{ op: "replace", path: "/spec/template/spec/containers/0/image", value: image }];
  return patch(hub, `/apis/apps/v1/namespaces/default/statefulsets/${name}`, operations, "application/json-patch+json");
}

async function patch(hub: Api, path: string, body: object, contentType: string): Promise<void> {
  const { status, text } = await hub.request("PATCH", path, body, contentType);
  if (status >= 300) throw new Error(`PATCH ${path}: ${status} ${text}`);
}
