import type { KubeObject, Reflector } from "../../kube/index.ts";
import { type Reflecting, reflect } from "../hub-works.ts";
import type { EngineApp, EngineOwner, EngineSchedule, Kept } from "../port.ts";
import type { Tracking } from "../tracking.ts";
import type { Dropped } from "./drops.ts";
import { readPlacement } from "./placements.ts";
import { PLACEMENT_DECISIONS, PLACEMENT_LABEL, PLACEMENT_SCORES, PLACEMENTS } from "./resources.ts";
import { withWeights } from "./scores.ts";

type KeptOf = (cluster: string, decided: Omit<Dropped, "cluster">) => Kept | undefined;

/** The clusters that Placements select, and the scores that add-ons give them. */
export class Selections {
  readonly #from: Reflecting;
  readonly #tracking: Tracking;
  readonly #placements: Reflector<KubeObject>;
  readonly #decisions: Reflector<KubeObject>;
  /** Runs from when the first application asks for scores: few hubs have add-ons that give them. */
  readonly #scores: Reflector<KubeObject>;
  #runScores: (() => void) | undefined;
  #wantsScores = false;

  constructor(from: Reflecting, tracking: Tracking) {
    this.#from = from;
    this.#tracking = tracking;
    this.#placements = reflect(from, PLACEMENTS);
    this.#decisions = reflect(from, PLACEMENT_DECISIONS, { indexes: { placement: placementOf } });
    this.#scores = reflect(from, PLACEMENT_SCORES);
  }

  async run(signal: AbortSignal): Promise<void> {
    const changed = (namespace: string | undefined, placement: string | undefined) => {
      for (const { app, changed } of this.#tracking.all()) {
        if (app.namespace === namespace && app.placement === placement) changed("own");
      }
    };
    const placed = ({ metadata }: KubeObject) => changed(metadata.namespace, metadata.name);
    this.#placements.cache.subscribe({ added: placed, updated: placed, deleted: placed });
    const decided = ({ metadata }: KubeObject) => changed(metadata.namespace, metadata.labels?.[PLACEMENT_LABEL]);
    this.#decisions.cache.subscribe({ added: decided, updated: decided, deleted: decided });
    const scored = () => {
      for (const { app, changed } of this.#tracking.all()) if (scoreOf(app)) changed("own");
    };
    this.#scores.cache.subscribe({ added: scored, updated: scored, deleted: scored });
    const scores = new Promise<void>((resolve, reject) => {
      this.#runScores = () => void this.#scores.run(signal).then(resolve, reject);
      const end = () => this.#wantsScores || resolve();
      signal.addEventListener("abort", end, { once: true });
      // A leader that lost its lease while it started.
      if (signal.aborted) end();
    });
    if (this.#wantsScores) this.#runScores?.();
    await Promise.all([this.#placements.run(signal), this.#decisions.run(signal), scores]);
  }

  /** Scores are awaited by no application that does not ask for them. */
  hasSynced(): boolean {
    return this.#placements.cache.hasSynced && this.#decisions.cache.hasSynced;
  }

  tracked(app: EngineOwner): void {
    if (!scoreOf(app) || this.#wantsScores) return;
    this.#wantsScores = true;
    this.#runScores?.();
  }

  /** `keptOf`: why a cluster that is not selected stays in the schedule, among those that hold something. */
  schedule(app: EngineOwner, holding: ReadonlySet<string>, keptOf: KeptOf): EngineSchedule {
    const { namespace, placement: name = "" } = app;
    const placement = this.#placements.cache.get({ namespace, name });
    const decisions = this.#decisions.cache.byIndex("placement", `${namespace}/${name}`);
    const schedule = readPlacement(app, placement, decisions);
    if (schedule.kind === "unknown") return schedule;
    const selected = new Set(schedule.clusters.map(({ cluster }) => cluster));
    const others = [...holding].filter((cluster) => !selected.has(cluster)).sort();
    const lost = others.flatMap((cluster) => {
      const kept = keptOf(cluster, { placement, decisions });
      return kept ? [{ cluster, replicas: 1, kept }] : [];
    });
    const all = [...schedule.clusters, ...lost];
    return withWeights({ ...schedule, clusters: all }, scoreOf(app), this.#scores.cache, this.#from.clock.now());
  }
}

function scoreOf(owner: EngineOwner): EngineApp["placementScore"] {
  return owner.kind === undefined ? owner.placementScore : undefined;
}

function placementOf({ metadata }: KubeObject): string[] {
  const placement = metadata.labels?.[PLACEMENT_LABEL];
  return placement === undefined ? [] : [`${metadata.namespace}/${placement}`];
}
