/** The moment that a preview speaks of: read with the controller's own adapter, so that both read the same. */
import type { ParsedCrossClusterStatefulset } from "../../api/index.ts";
import { isFresh, type Moment } from "../../controllers/index.ts";
import type {
  Dispatched,
  Engine,
  EngineApp,
  EngineCluster,
  EngineDefinition,
  EngineSchedule,
  HoldState,
  Snapshot,
} from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { Ledger } from "../../plan/index.ts";
import { CommandError, explain } from "../errors.ts";
import { engineOf, openEngine } from "../hub/engine.ts";
import type { Hub } from "../hub/hub.ts";
import { withMember } from "../hub/members.ts";

/** What the engine says. */
export interface EngineFacts {
  readonly clusters: readonly EngineCluster[];
  readonly schedule: EngineSchedule;
  readonly policies: readonly KubeObject[];
  readonly dispatched: readonly Dispatched[];
  readonly hold: HoldState;
  /** Absent: no hub was asked. */
  readonly engine?: EngineDefinition;
}

/** If the hub's few kinds cannot be listed within this time, rights are missing or the hub does not answer. */
const SYNC_MS = 15_000;
const LOOK_AGAIN_MS = 20;

/** Nothing is written. */
export async function engineFacts(hub: Hub, app: EngineApp): Promise<EngineFacts> {
  return withEngine(hub, async (engine, definition) => ({
    clusters: engine.clusters(),
    schedule: engine.schedule(app),
    policies: engine.overridePolicies?.() ?? [],
    dispatched: engine.dispatched(app),
    hold: await (engine.foreseeHold?.(app) ?? engine.hold(app)),
    engine: definition,
  }));
}

/** The engine's adapter, running until `use` has ended. */
export async function withEngine<T>(
  hub: Hub,
  use: (engine: Engine, definition: EngineDefinition) => Promise<T>,
): Promise<T> {
  const { client, clock, random, request } = hub;
  // Says at once when this is no hub; the adapter would wait for the kinds to be installed.
  const definition = await engineOf(hub);
  const { clusters } = definition;
  await client.discovery.resource(clusters.apiVersion, clusters.kind, request);
  const stop = new AbortController();
  const engine = openEngine(definition, { hub: client, clock, random });
  const running = engine.run(stop.signal);
  try {
    const endMs = clock.monotonicMs() + SYNC_MS;
    while (!engine.synced()) {
      if (clock.monotonicMs() > endMs) {
        throw new CommandError(
          `the hub's clusters and what ${definition.title} schedules and delivers could not be listed within ` +
            `${SYNC_MS / 1000} s; 'lockstep doctor' shows which right or kind is missing`,
        );
      }
      await clock.sleep(LOOK_AGAIN_MS);
    }
    return await use(engine, definition);
  } finally {
    stop.abort();
    await running;
  }
}

/** Without a hub: every cluster of spec.topology is there and Ready, and nothing is deployed. */
export function offlineFacts({ spec, metadata }: ParsedCrossClusterStatefulset): EngineFacts {
  const names = spec.topology?.placementRef ? undefined : spec.topology?.clusters.map(({ name }) => name);
  if (!names) {
    throw new CommandError(
      `CrossClusterStatefulset ${metadata.namespace}/${metadata.name} has no clusters in spec.topology, and ` +
        "--offline asks no engine for a schedule; add them, or leave --offline out",
    );
  }
  const clusters: EngineCluster[] = names.map((name) => ({ name, state: "Ready", labels: {}, zones: [] }));
  const schedule: EngineSchedule = { kind: "unknown", message: "offline" };
  return { clusters, schedule, policies: [], dispatched: [], hold: { kind: "held" } };
}

/**
 * Members are read only where something may run that the ledger does not know; what clusters with grants show is in the
 * status, and a preview needs no rights in the members for it.
 */
export async function previewMoment(
  hub: Hub | undefined,
  app: EngineApp,
  facts: EngineFacts,
  ledger: Ledger,
  nowMs: number,
  notes: string[],
): Promise<Moment> {
  const { clusters, schedule, policies, dispatched, engine } = facts;
  const rendered = renderedIn(facts);
  const members = new Map<string, Snapshot>();
  const absent = { kind: "absent", atMs: nowMs } as const;
  for (const name of new Set([...clusters.map((cluster) => cluster.name), ...Object.keys(ledger.clusters)])) {
    const mayRun = isFresh(ledger) || (rendered.has(name) && !ledger.clusters[name]?.grant);
    const isInFleet = clusters.some((cluster) => cluster.name === name);
    const isRead = hub && engine && mayRun && isInFleet;
    members.set(name, isRead ? await memberObject(hub, engine, app, name, rendered.has(name), notes) : absent);
  }
  return {
    nowMs,
    clusters: new Map(clusters.map((cluster) => [cluster.name, cluster])),
    schedule,
    policies,
    settings: [],
    dispatched,
    members,
  };
}

/** Clusters to which the engine itself dispatches the template today: they would be adopted as they are. */
export function renderedIn({ hold }: Pick<EngineFacts, "hold">): ReadonlySet<string> {
  return new Set(hold.kind === "adopting" ? hold.clusters : []);
}

async function memberObject(
  hub: Hub,
  engine: EngineDefinition,
  { template }: EngineApp,
  cluster: string,
  isRendered: boolean,
  notes: string[],
): Promise<Snapshot> {
  const { apiVersion, kind, namespace, name } = template;
  const atMs = hub.clock.now();
  try {
    const object = await withMember(hub, engine, cluster, async ({ client }) => {
      const resource = await client.discovery.resource(apiVersion, kind, hub.request);
      return client.find(resource, { namespace, name }, hub.request);
    });
    return object ? { kind: "present", object, source: "live", atMs } : { kind: "absent", atMs };
  } catch (error) {
    const message = `what it runs cannot be read ${engine.name === "karmada" ? "through the hub's cluster proxy" : "there"}: ${explain(error)}`;
    notes.push(`${cluster}: ${message}`);
    // Something may run there: no instance may be planned into it.
    return isRendered ? { kind: "unreachable", message } : { kind: "absent", atMs };
  }
}
