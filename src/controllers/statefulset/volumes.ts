import type { ClaimNames, Engine, EngineApp } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { Ledger, Observations, PlanResult } from "../../plan/index.ts";
import { type Clock, isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { Subject } from "./subject.ts";

/**
 * A volume that is in the way is looked for again after this long. Nobody is told when a person deletes one: a watch of
 * every claim in every cluster would cost far more than asking about the one that is waited for.
 */
export const VOLUMES_ASKED_AFTER_MS = 10_000;

/** The ordinals of which volumes exist, by cluster; a cluster that is missing could not tell. */
export type KnownVolumes = ReadonlyMap<string, readonly number[]>;

/**
 * Which volumes there are in a member, read when a plan needs to know: when an ordinal would be given again ([I3], [I5]).
 * Whatever cannot be told stays unknown, and then the ordinal is not given again.
 */
export class Volumes {
  readonly #engine: Engine;
  readonly #clock: Clock;
  /** Until when each application's cluster is not asked again, on the monotonic clock: it has just said that there is one. */
  readonly #askedUntilMs = new Map<string, Map<string, number>>();

  constructor(engine: Engine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** What the plan would have needed to know and can be known now. */
  async read(subject: Subject, ledger: Ledger, result: PlanResult, seen: Observations): Promise<KnownVolumes> {
    const asked = this.#askedUntilMs.get(subject.key);
    const nowMs = this.#clock.monotonicMs();
    const isDue = (cluster: string) => (asked?.get(cluster) ?? 0) <= nowMs;
    const isReachable = (cluster: string) => (seen.clusters[cluster]?.kind ?? "unreachable") !== "unreachable";
    const wanted = volumesWanted(ledger, result).filter((cluster) => isDue(cluster) && isReachable(cluster));
    const known = new Map<string, readonly number[]>();
    await Promise.all(
      wanted.map(async (cluster) => {
        const volumes = await this.#volumesIn(subject, ledger, cluster);
        if (volumes) known.set(cluster, volumes);
      }),
    );
    return known;
  }

  /** When to look again, after a plan with all that is known; undefined: no volume is in the way. */
  askAgainAfterMs(key: string, result: PlanResult): number | undefined {
    const waiting = clustersWaiting(result);
    if (waiting.length === 0) {
      this.#askedUntilMs.delete(key);
      return undefined;
    }
    const nowMs = this.#clock.monotonicMs();
    const before = this.#askedUntilMs.get(key);
    const until = waiting.map((cluster) => {
      const knownMs = before?.get(cluster) ?? 0;
      return [cluster, knownMs > nowMs ? knownMs : nowMs + VOLUMES_ASKED_AFTER_MS] as const;
    });
    this.#askedUntilMs.set(key, new Map(until));
    return Math.min(...until.map(([, untilMs]) => untilMs)) - nowMs;
  }

  forget(key: string): void {
    this.#askedUntilMs.delete(key);
  }

  async #volumesIn({ app, template }: Subject, ledger: Ledger, cluster: string) {
    const snapshot = this.#engine.snapshot(app, cluster);
    const objects = [
      ...(snapshot.kind === "present" ? [snapshot.object] : []),
      ...(template.kind === "one" ? [template.object] : []),
    ];
    const names = claimNames(app, objects);
    if (names.templates?.length === 0) return [];
    const volumes = await this.#engine.member(cluster).volumes(app.template.namespace, names);
    return names.templates || volumes === undefined || isTelling(volumes, ledger, cluster) ? volumes : undefined;
  }
}

/** The clusters in which an ordinal could be given again, if only its old volume were known to be gone. */
export function volumesWanted(before: Ledger, result: PlanResult): string[] {
  const tookNewOrdinal = result.ledger.nextOrdinal > before.nextOrdinal;
  const holders = tookNewOrdinal ? result.ledger.retired.map(({ cluster }) => cluster) : [];
  return [...new Set([...clustersWaiting(result), ...holders])];
}

function clustersWaiting({ waiting }: PlanResult): string[] {
  return waiting.flatMap(({ code, cluster }) => (code === "VolumeSurvives" && cluster !== undefined ? [cluster] : []));
}

/**
 * How the application's claims are called. A StatefulSet's templates say it; how an operator calls its claims nobody
 * knows, and only what can belong to nobody else is taken for one.
 */
export function claimNames({ template }: EngineApp, objects: readonly (KubeObject | JsonObject)[]): ClaimNames {
  const workload = template.name;
  if (template.apiVersion !== "apps/v1" || template.kind !== "StatefulSet") return { workload };
  const templates = objects.flatMap(({ spec }) =>
    isJsonObject(spec) && Array.isArray(spec.volumeClaimTemplates)
      ? spec.volumeClaimTemplates.filter(isJsonObject)
      : [],
  );
  const names = templates.flatMap(({ metadata }) =>
    isJsonObject(metadata) && typeof metadata.name === "string" ? [metadata.name] : [],
  );
  return { workload, templates: [...new Set(names)] };
}

/** An operator's claims prove something by their absence only where every instance that is there has one. */
function isTelling(volumes: readonly number[], { clusters }: Ledger, cluster: string): boolean {
  const members = (clusters[cluster]?.instances ?? []).filter(({ state }) => state === "member");
  return members.length > 0 && members.every(({ ordinal }) => volumes.includes(ordinal));
}

/** The observations with what is known of volumes. */
export function withVolumes(seen: Observations, volumes: KnownVolumes): Observations {
  const clusters = { ...seen.clusters };
  for (const [cluster, known] of volumes) {
    const observation = clusters[cluster];
    if (observation && observation.kind !== "unreachable") clusters[cluster] = { ...observation, volumes: known };
  }
  return { ...seen, clusters };
}
