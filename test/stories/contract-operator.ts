import { setTimeout as sleep } from "node:timers/promises";
import {
  type ConfigMap,
  type Grant,
  type GrantedObject,
  readWholeGrant,
  report,
  reportPatch,
} from "../../src/sdk/index.ts";
import type { Api, KubeObject } from "../stack/api.ts";

/** As long as starting an instance takes here. */
const WORK_MS = 200;
const PATH = "/apis/apps.my.io/v1alpha1";

/** The simulated database that all operators serve: who leads, and what happened to it, in order. */
export class SharedDatabase {
  leader = "";
  readonly events: string[] = [];
  /** Operators, to whom a new leader is news. */
  readonly watchers: (() => Promise<void>)[] = [];
  #down = 0;
  mostDown = 0;

  restart(cluster: string, instance: string): void {
    this.events.push(`${cluster} restarts ${instance}${instance === this.leader ? " (the leader)" : ""}`);
    this.#down += 1;
    this.mostDown = Math.max(this.mostDown, this.#down);
  }

  up(): void {
    this.#down -= 1;
  }

  async transfer(cluster: string, to: string): Promise<void> {
    if (this.leader === to) return;
    this.events.push(`${cluster} hands the leadership over to ${to}`);
    this.leader = to;
    await Promise.all(this.watchers.map((tell) => tell()));
  }
}

/** An operator on the contract, with the SDK, on a real API server; its instances are simulated. */
export function startContractOperator(
  cluster: string,
  api: Api,
  database: SharedDatabase,
  { workMs = WORK_MS, name = "xline" }: { readonly workMs?: number; readonly name?: string } = {},
): { stop(): Promise<void> } {
  const stop = new AbortController();
  const running = new Map<string, string>();
  let last: { object: KubeObject; grant: Grant } | undefined;
  database.watchers.push(async () => {
    if (last) await tell(last.object, last.grant);
  });

  const reconcile = async (object: KubeObject) => {
    const { namespace } = object.metadata;
    const configMap = (name: string) => api.get<ConfigMap>(`/api/v1/namespaces/${namespace}/configmaps/${name}`);
    const reading = await readWholeGrant(object as GrantedObject, configMap);
    if (reading.state !== "granted") return;
    const { grant } = reading;
    last = { object, grant };
    if (grant.processor) await act(object, grant);
    await tell(object, grant);
  };
  const act = async (object: KubeObject, grant: Grant) => {
    const own = grant.topology.find((each) => each.cluster === cluster);
    const staying = (own?.instances ?? []).filter((_, at) => own?.states[at] !== "leaving");
    if (grant.transferLeaderTo !== undefined && staying.includes(database.leader)) {
      await database.transfer(cluster, grant.transferLeaderTo);
    }
    for (const instance of [...running.keys()]) if (!staying.includes(instance)) running.delete(instance);
    const outdated = staying.filter((name, at) => at >= grant.partition && running.get(name) !== grant.revision);
    for (const instance of outdated.reverse()) {
      const isRestart = running.delete(instance);
      if (isRestart) {
        database.restart(cluster, instance);
        await tell(object, grant);
      }
      await sleep(workMs, undefined, { signal: stop.signal });
      running.set(instance, grant.revision);
      if (isRestart) database.up();
      if (database.leader === "") database.leader = instance;
    }
  };
  const tell = async ({ metadata, spec }: KubeObject, grant: Grant) => {
    const desired = (spec as { replicas: number }).replicas;
    const ready = running.size;
    const updated = [...running.values()].filter((revision) => revision === grant.revision).length;
    const leader = running.has(database.leader) ? database.leader : "";
    const { status } = reportPatch(report(grant, { desired, updated, ready, present: ready, leader }));
    const counts = { observedGeneration: metadata.generation, replicas: ready, ready, readyReplicas: ready };
    const path = `${PATH}/namespaces/${metadata.namespace}/xlineclusters/${metadata.name}/status`;
    await api.request("PATCH", path, { status: { ...counts, ...status } }, "application/merge-patch+json");
  };

  const run = async () => {
    while (!stop.signal.aborted) {
      try {
        const path = `${PATH}/xlineclusters?fieldSelector=metadata.name%3D${name}`;
        for await (const { type, object } of api.watch(path, stop.signal)) {
          if (type === "ADDED" || type === "MODIFIED") await reconcile(object);
        }
      } catch {
        await sleep(100, undefined, { signal: stop.signal }).catch(() => {});
      }
    }
  };
  const ended = run();
  return {
    async stop() {
      stop.abort();
      await ended;
    },
  };
}
