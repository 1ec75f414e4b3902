import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type {
  Dispatched,
  Engine,
  EngineApp,
  EngineCluster,
  EngineSchedule,
  EngineSetting,
  Snapshot,
} from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { Ledger } from "../../../plan/index.ts";

/**
 * What the hub and the members showed at one moment. Taken once for each reconcile and never changed: what is gathered,
 * planned, carried out and reported rests on the same view. Only a guard right before a write looks again.
 */
export interface Moment {
  readonly nowMs: number;
  /** The fleet, by name. */
  readonly clusters: ReadonlyMap<string, EngineCluster>;
  readonly schedule: EngineSchedule;
  readonly policies: readonly KubeObject[];
  /** What of the engine's settings would work against a rollout. */
  readonly settings: readonly EngineSetting[];
  readonly dispatched: readonly Dispatched[];
  /** The application's object in every cluster that may matter to it. */
  readonly members: ReadonlyMap<string, Snapshot>;
}

/** `adopting`: clusters that the engine itself rendered the template for. */
export function takeMoment(
  engine: Engine,
  { app, statefulset }: { readonly app: EngineApp; readonly statefulset: ParsedCrossClusterStatefulset },
  ledger: Ledger,
  adopting: Iterable<string>,
  nowMs: number,
): Moment {
  const clusters = new Map(engine.clusters().map((cluster) => [cluster.name, cluster]));
  const schedule = engine.schedule(app);
  const names = new Set([
    ...Object.keys(ledger.clusters),
    ...(schedule.kind === "known" ? schedule.clusters.map(({ cluster }) => cluster) : []),
    ...(statefulset.spec.topology?.clusters ?? []).map(({ name }) => name),
    ...adopting,
    // An earlier life of the application may run anywhere.
    ...(isFresh(ledger) ? clusters.keys() : []),
  ]);
  return {
    nowMs,
    clusters,
    schedule,
    policies: engine.overridePolicies?.() ?? [],
    settings: engine.settings?.(app) ?? [],
    dispatched: engine.dispatched(app),
    members: new Map([...names].map((name) => [name, engine.snapshot(app, name)])),
  };
}

export function memberIn({ members }: Pick<Moment, "members">, cluster: string): Snapshot {
  return members.get(cluster) ?? { kind: "unreachable", message: `cluster ${cluster} was not looked at` };
}

/** Nothing was ever granted by this ledger. */
export function isFresh({ clusters }: Ledger): boolean {
  return Object.values(clusters).every(({ epoch }) => epoch === 0);
}
