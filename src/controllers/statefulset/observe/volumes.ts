import type { ClaimNames, Engine, EngineApp } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { Ledger, Observations, PlanResult } from "../../../plan/index.ts";
import { type Clock, isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import type { Subject } from "../subject.ts";
import { type Moment, memberIn } from "./moment.ts";

/**
 * A volume that is in the way is read again after this long. No event reports that a user deleted it: a watch of every
 * claim in every cluster would cost far more than reading the one that the plan waits for.
 */
export const VOLUMES_ASKED_AFTER_MS = 10_000;

/** The ordinals of which volumes were found in a cluster. `all`: there are no others. */
interface FoundVolumes {
  readonly ordinals: readonly number[];
  readonly all: boolean;
}

/** By cluster; one that is missing could not be asked. */
export type KnownVolumes = ReadonlyMap<string, FoundVolumes>;

/** What was read for one plan. */
export interface VolumesRead {
  readonly asked: ReadonlySet<string>;
  readonly found: KnownVolumes;
}

/** What was read longer ago than this is read again: a claim may have been made since. */
const VOLUMES_KNOWN_FOR_MS = 10_000;

/**
 * Which volumes exist in a member, read when a plan needs to know ([I3], [I5]): before an ordinal is used again, and
 * before one is used for the first time if volumes may not be reused, because an earlier object of the same name may
 * have left some. What cannot be read stays unknown: then no ordinal is used again.
 *
 * A plan that needs to know is not carried out: the volumes are read, and the next reconcile plans with them. What was
 * read counts for that one plan alone, because the grant that comes of it may make a volume.
 */
export class Volumes {
  readonly #engine: Engine;
  readonly #clock: Clock;
  /**
   * Until when each application's cluster is not asked again, on the monotonic clock: it has just said that there is
   * one.
   */
  readonly #askedUntilMs = new Map<string, Map<string, number>>();

  /** Read, and not planned with yet. */
  readonly #read = new Map<string, VolumesRead & { readonly atMs: number }>();

  constructor(engine: Engine, clock: Clock) {
    this.#engine = engine;
    this.#clock = clock;
  }

  /** What was read for this plan, once; undefined: nothing was. */
  take(key: string): VolumesRead | undefined {
    const read = this.#read.get(key);
    this.#read.delete(key);
    return read && this.#clock.monotonicMs() - read.atMs <= VOLUMES_KNOWN_FOR_MS ? read : undefined;
  }

  /**
   * Reads what the plan would have needed to know and can be known now; the next `take` has it. `taken`: what that plan
   * rested on. False: there is nothing more to ask.
   */
  async ask(
    subject: Subject,
    moment: Pick<Moment, "members">,
    ledger: Ledger,
    result: PlanResult,
    taken: VolumesRead | undefined,
  ): Promise<boolean> {
    const askedUntilMs = this.#askedUntilMs.get(subject.key);
    const nowMs = this.#clock.monotonicMs();
    const isDue = (cluster: string) => (askedUntilMs?.get(cluster) ?? 0) <= nowMs;
    const isReachable = (cluster: string) => memberIn(moment, cluster).kind !== "unreachable";
    const asked = volumesWanted(ledger, result).filter((cluster) => isDue(cluster) && isReachable(cluster));
    if (asked.every((cluster) => taken?.asked.has(cluster))) return false;
    const found = new Map<string, FoundVolumes>();
    await Promise.all(
      asked.map(async (cluster) => {
        const volumes = await this.#volumesIn(subject, moment, ledger, cluster);
        if (volumes) found.set(cluster, volumes);
      }),
    );
    this.#read.set(subject.key, { asked: new Set(asked), found, atMs: this.#clock.monotonicMs() });
    return true;
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
    this.#read.delete(key);
    this.#askedUntilMs.delete(key);
  }

  async #volumesIn(
    { app, template }: Subject,
    moment: Pick<Moment, "members">,
    ledger: Ledger,
    cluster: string,
  ): Promise<FoundVolumes | undefined> {
    const snapshot = memberIn(moment, cluster);
    const objects = [
      ...(snapshot.kind === "present" ? [snapshot.object] : []),
      ...(template.kind === "one" ? [template.object] : []),
    ];
    const names = claimNames(app, objects);
    if (names.templates?.length === 0) return { ordinals: [], all: true };
    const ordinals = await this.#engine.member(cluster).volumes(app.template.namespace, names);
    if (!ordinals) return undefined;
    return { ordinals, all: names.templates !== undefined || isTelling(ordinals, ledger, cluster) };
  }
}

/**
 * The clusters in which an ordinal could be given again, if only its old volume were known to be gone; and those where
 * one is given that may have an old volume from an earlier life.
 */
export function volumesWanted(before: Ledger, result: PlanResult): string[] {
  const tookNewOrdinal = result.ledger.nextOrdinal > before.nextOrdinal;
  const holders = tookNewOrdinal ? result.ledger.retired.map(({ cluster }) => cluster) : [];
  return [...new Set([...clustersWaiting(result), ...holders, ...firstGiven(before, result.ledger)])];
}

/** Where an ordinal is given that this ledger never gave; of the very first ones, every cluster may have a volume. */
function firstGiven(before: Ledger, after: Ledger): string[] {
  const { identity } = after;
  if (!identity || identity.reuseVolumes || identity.mode === "PerCluster") return [];
  const growing = Object.entries(after.clusters).flatMap(([cluster, { instances, highWater }]) => {
    const was = before.clusters[cluster];
    const isNew =
      identity.mode === "Dense" ? after.nextOrdinal > before.nextOrdinal : highWater > (was?.highWater ?? 0);
    return isNew && instances.length > (was?.instances.length ?? 0) ? [cluster] : [];
  });
  const isFirst = Object.values(before.clusters).every(({ instances }) => instances.length === 0);
  return growing.length > 0 && isFirst ? Object.keys(after.clusters) : growing;
}

function clustersWaiting({ waiting }: PlanResult): string[] {
  return waiting.flatMap(({ code, cluster }) => (code === "VolumeSurvives" && cluster !== undefined ? [cluster] : []));
}

/**
 * The names of the application's claims. A StatefulSet's templates define them. Operators do not declare how they name
 * their claims, so only a claim that cannot belong to another workload counts.
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

/** A missing claim of an operator is evidence only if every existing instance has a claim. */
function isTelling(volumes: readonly number[], { clusters }: Ledger, cluster: string): boolean {
  const members = (clusters[cluster]?.instances ?? []).filter(({ state }) => state === "member");
  return members.length > 0 && members.every(({ ordinal }) => volumes.includes(ordinal));
}

/** The observations with what is known of volumes. */
export function withVolumes(seen: Observations, volumes: KnownVolumes | undefined): Observations {
  if (!volumes || volumes.size === 0) return seen;
  const clusters = { ...seen.clusters };
  for (const [cluster, known] of volumes) {
    const observation = clusters[cluster];
    if (!observation || observation.kind === "unreachable") continue;
    const { ordinals, all } = known;
    clusters[cluster] = { ...observation, foundVolumes: ordinals, ...(all && { volumes: ordinals }) };
  }
  return { ...seen, clusters };
}
