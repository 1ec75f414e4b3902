import { type EngineApp, type EngineCluster, type EngineSchedule, KarmadaEngine } from "../engine/index.ts";
import { isKubeObject, type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject } from "../runtime/index.ts";
import { CommandError } from "./errors.ts";
import { CLUSTERS, type Hub } from "./hub.ts";

const EVENTS = resource({ apiVersion: "v1", kind: "Event", plural: "events", namespaced: true });

const WORKS = resource({ apiVersion: "work.karmada.io/v1alpha1", kind: "Work", plural: "works", namespaced: true });
/** Lockstep's own Works carry this label. */
const NOT_OURS = "!lockstep.karmada.io/app";

export interface EngineFacts {
  readonly clusters: readonly EngineCluster[];
  readonly schedule: EngineSchedule;
  readonly policies: readonly KubeObject[];
  /** Clusters to which the engine itself dispatches the template today. */
  readonly renderedIn: readonly string[];
  /** What the controller said about the application lately. */
  readonly events: readonly KubeObject[];
}

/** A hub whose few kinds cannot be listed within this does not let us. */
const SYNC_MS = 15_000;
const LOOK_AGAIN_MS = 20;

/** What the engine says: read with the controller's own adapter, so that both read the same. Nothing is written. */
export async function engineFacts(hub: Hub, app: EngineApp): Promise<EngineFacts> {
  const { client, clock, random, request } = hub;
  // Says at once when this is no Karmada; the adapter would wait for the kinds to be installed.
  await client.discovery.resource(CLUSTERS.apiVersion, CLUSTERS.kind, request);
  const stop = new AbortController();
  const engine = new KarmadaEngine({ hub: client, clock, random });
  const running = engine.run(stop.signal);
  try {
    const endMs = clock.monotonicMs() + SYNC_MS;
    while (!engine.synced()) {
      if (clock.monotonicMs() > endMs) {
        throw new CommandError(
          `the hub's clusters, bindings, works and override policies could not be listed within ${SYNC_MS / 1000} s; 'lockstep doctor' shows which right or kind is missing`,
        );
      }
      await clock.sleep(LOOK_AGAIN_MS);
    }
    return {
      clusters: engine.clusters(),
      schedule: engine.schedule(app),
      policies: engine.overridePolicies(),
      events: await eventsOf(hub, app),
      renderedIn: await renderedIn(hub, app, engine.schedule(app)),
    };
  } finally {
    stop.abort();
    await running;
  }
}

/** From the engine's own Works: such clusters would be adopted as they are. */
async function renderedIn({ client, request }: Hub, app: EngineApp, schedule: EngineSchedule): Promise<string[]> {
  const found: string[] = [];
  for (const { cluster } of schedule.kind === "known" ? schedule.clusters : []) {
    const { items } = await client.listAll(WORKS, {
      namespace: `karmada-es-${cluster}`,
      labelSelector: NOT_OURS,
      ...request,
    });
    if (items.some((work) => carries(work, app))) found.push(cluster);
  }
  return found;
}

function carries(work: KubeObject, { template }: EngineApp): boolean {
  const spec = isJsonObject(work.spec) ? work.spec : {};
  const workload = isJsonObject(spec.workload) ? spec.workload : {};
  const manifests = Array.isArray(workload.manifests) ? workload.manifests.filter(isKubeObject) : [];
  return manifests.some(
    ({ kind, metadata }) =>
      kind === template.kind && metadata.name === template.name && metadata.namespace === template.namespace,
  );
}

/** Best effort: they only serve an estimate. */
async function eventsOf({ client, request }: Hub, { namespace, name }: EngineApp): Promise<KubeObject[]> {
  try {
    const fieldSelector = `involvedObject.name=${name}`;
    return (await client.listAll(EVENTS, { namespace, fieldSelector, ...request })).items;
  } catch {
    return [];
  }
}
