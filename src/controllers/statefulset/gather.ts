import type { Engine, EngineCluster } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import type { Baseline, Intent, Ledger, Observation, Observations, RevisionIntent } from "../../plan/index.ts";
import type { Approvals } from "./approvals.ts";
import { isDispatched } from "./dispatched.ts";
import { intentOf, leaderSourceOf } from "./intent.ts";
import { membershipOf } from "./membership.ts";
import { MissingClusters } from "./missing-clusters.ts";
import { instanceHomes, observe } from "./observe.ts";
import type { Reviser } from "./revise.ts";
import type { Subject } from "./subject.ts";
import { ordinalsStart, replicasIn } from "./template.ts";
import { WindowMemory } from "./window-memory.ts";

export interface GathererOptions {
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly reviser: Reviser;
  readonly approvals: Approvals;
}

/** All that a plan rests on, but for the ledger and the time. */
export interface Gathered {
  readonly intent: Intent;
  readonly seen: Observations;
  readonly clusters: ReadonlyMap<string, EngineCluster>;
}

/** Observe: puts together what was asked for and what every cluster shows, in the planner's words. */
export class Gatherer {
  readonly #options: GathererOptions;
  readonly #missing = new MissingClusters();
  readonly #windows = new WindowMemory();

  constructor(options: GathererOptions) {
    this.#options = options;
  }

  async gather(subject: Subject, ledger: Ledger, adopting: ReadonlySet<string>, nowMs: number): Promise<Gathered> {
    const { engine, approvals, interpreter } = this.#options;
    const { key, statefulset, app, template } = subject;
    const clusters = new Map(engine.clusters().map((cluster) => [cluster.name, cluster]));
    const revision = await this.#revision(subject, ledger, clusters);
    // What runs can be compared with what is asked for only once that is known; until then nothing is granted anyway.
    const baselines = revision.kind === "pending" ? {} : await this.#baselines(subject, adopting, ledger);
    const intent = intentOf({
      statefulset,
      template: template.kind === "one" ? template.object : undefined,
      templateReplicas: template.kind === "one" ? replicasIn(interpreter, template.object) : undefined,
      revision,
      schedule: engine.schedule(app),
      clusters: [...clusters.values()],
      goneSinceMs: this.#missing.of(ledger, clusters, nowMs),
      approvals: approvals.of(key),
      baselines,
      window: this.#windows.state(statefulset.spec.updateStrategy.rollingUpdate?.maintenanceWindows, nowMs),
      nowMs,
    });
    const observations = this.#observe(subject, intent, ledger);
    const snapshots = Object.keys(observations).map((cluster) => engine.snapshot(app, cluster));
    const membership = intent.workload.protocol === "contract" ? membershipOf(snapshots) : undefined;
    return { intent, seen: { clusters: observations, ...(membership && { membership }) }, clusters };
  }

  #observe({ statefulset, app }: Subject, intent: Intent, ledger: Ledger): Record<string, Observation> {
    const { engine, interpreter } = this.#options;
    const scheduled = intent.schedule.kind === "known" ? intent.schedule.clusters.map(({ cluster }) => cluster) : [];
    const names = new Set([...Object.keys(ledger.clusters), ...scheduled, ...Object.keys(intent.baselines)]);
    const homes = instanceHomes(ledger);
    const observations: Record<string, Observation> = {};
    for (const cluster of names) {
      const seen = observe(engine.snapshot(app, cluster), {
        interpreter,
        cluster,
        leader: leaderSourceOf(statefulset),
        clusterOfInstance: (name) => homes.get(name),
        isCluster: (name) => names.has(name),
      });
      const isComing = seen.kind === "absent" && isDispatched(engine.dispatched(app), app, cluster);
      observations[cluster] = isComing ? { ...seen, dispatched: true } : seen;
    }
    return observations;
  }

  async #revision(
    { key, statefulset, template }: Subject,
    ledger: Ledger,
    clusters: ReadonlyMap<string, EngineCluster>,
  ): Promise<RevisionIntent> {
    if (template.kind !== "one") return { kind: "missing", message: template.message };
    const ready = [...clusters.values()].filter(({ state }) => state === "Ready").map(({ name }) => name);
    const held = ready.filter((name) => ledger.clusters[name]?.grant);
    return this.#options.reviser.revision(key, statefulset, template.object, held.length > 0 ? held : ready);
  }

  /** What clusters run without a grant of ours: the engine had rendered it, or somebody put it there. */
  async #baselines(
    { key, statefulset, app }: Subject,
    adopting: ReadonlySet<string>,
    ledger: Ledger,
  ): Promise<Record<string, Baseline | null>> {
    const { engine, reviser, interpreter } = this.#options;
    const baselines: Record<string, Baseline | null> = {};
    for (const cluster of adopting) {
      if (ledger.clusters[cluster]?.grant) continue;
      const snapshot = engine.snapshot(app, cluster);
      if (snapshot.kind === "absent") continue;
      const replicas = snapshot.kind === "present" ? replicasIn(interpreter, snapshot.object) : undefined;
      if (snapshot.kind !== "present" || replicas === undefined) {
        // [D7] It may run instances: nothing starts elsewhere beside them, as if the application were new.
        baselines[cluster] = null;
        continue;
      }
      const { id } = await reviser.baseline(key, statefulset, snapshot.object);
      baselines[cluster] = { revision: id, replicas, start: ordinalsStart(snapshot.object) };
    }
    return baselines;
  }
}
