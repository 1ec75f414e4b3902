/** One seed of a CrossClusterJob: the real controller and engine adapter, a lean engine, and members with Jobs. */
import type { ApiServer } from "../../apiserver/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { type ControllerSeams, Controllers } from "../actors/controllers.ts";
import { SimProcess } from "../actors/process.ts";
import { type EngineName, type HubImage, write } from "../lean/hub.ts";
import { KarmadaModel, manifestsOf, writtenManifestsOf } from "../lean/karmada.ts";
import { OcmModel } from "../lean/ocm/model.ts";
import type { StoredObject } from "../lean/store.ts";
import { Reach } from "../seed/reach.ts";
import type { SeedResult } from "../seed/run.ts";
import { KARMADA_DISPATCHING, OCM_DISPATCHING } from "../world/dispatching.ts";
import { ListMemory } from "../world/list-memory.ts";
import { Climate, weatherFor } from "../world/weather.ts";
import { World } from "../world/world.ts";
import { JOBS_PATH, JobFaults } from "./faults.ts";
import { JobMember, type JobPod } from "./member.ts";
import { type JobScenario, jobScenarioOf } from "./scenario.ts";
import { JOB_PROPERTIES, JobWatch } from "./watch.ts";

export interface JobRunOptions {
  readonly image: HubImage;
  readonly engine?: EngineName;
  readonly seams?: ControllerSeams;
  readonly transcript?: boolean;
}

const END_LIMIT_MS = 20 * 60_000;
/** After its end everything stays as it is for so long. */
const STAYS_MS = 60_000;

export async function runJobSeed(seed: number, options: JobRunOptions): Promise<SeedResult> {
  const scenario = jobScenarioOf(seed, options.engine ?? "karmada");
  const { clusters, engine } = scenario;
  const world = new World(seed, options.transcript ?? false);
  const hub = await options.image.boot(new SimProcess(world, "hub").clock, seed, clusters, [], engine);
  const stage = new JobStage(world, scenario, hub, options);
  await stage.play();
  return stage.result();
}

class JobStage {
  readonly #world: World;
  readonly #scenario: JobScenario;
  readonly #hub: ApiServer;
  readonly #reach = new Reach();
  readonly #climate = new Climate();
  readonly #members = new Map<string, JobMember>();
  readonly #engine: KarmadaModel | OcmModel;
  readonly #controllers: Controllers;
  readonly #faults: JobFaults;
  #requests = 0;

  constructor(world: World, scenario: JobScenario, hub: ApiServer, options: JobRunOptions) {
    this.#world = world;
    this.#scenario = scenario;
    this.#hub = hub;
    const reach = this.#reach;
    const watch = new JobWatch(world, scenario, reach, this.#members);
    for (const name of scenario.clusters) {
      const traits = scenario.traits[name];
      if (!traits) continue;
      const starts = (pod: JobPod) => watch.starts(pod);
      const count = (situation: string) => reach.count(situation);
      const current = (job: string) => this.#dispatched(name, job);
      this.#members.set(name, new JobMember({ world, name, traits, starts, reach: count, current }));
    }
    hub.onCommit((commit) => watch.committed(commit));
    const members = this.#members;
    const ocm =
      scenario.engine === "ocm"
        ? new OcmModel({
            world,
            server: hub,
            members,
            reach,
            joinedAs: () => ({ access: true, polls: false }),
            reportsParts: false,
          })
        : undefined;
    this.#engine = ocm ?? new KarmadaModel({ world, server: hub, members, templates: new Set() });
    const dice = world.dice.branch("weather");
    this.#controllers = new Controllers({
      world,
      backend: {
        handle: (request) => {
          this.#requests++;
          return hub.handle(request);
        },
        stream: (request) => hub.stream(request),
      },
      weatherOf: () => weatherFor(this.#climate, dice, reach),
      carrying: () => {},
      paused: (process, forMs) => this.#faults.pause(process, forMs),
      lists: new ListMemory(reach),
      reach,
      ...(ocm && { door: (cluster: string) => ocm.door(cluster) }),
      seams: options.seams ?? {},
      topologyInlineBytes: undefined,
      logs: options.transcript ?? false,
    });
    this.#faults = new JobFaults({
      ...{ world, hub, scenario, members, reach, watch, climate: this.#climate },
      ...{ engine: this.#engine, controllers: this.#controllers },
    });
  }

  async play(): Promise<void> {
    const { happenings, standby, calmAtMs } = this.#scenario;
    const world = this.#world;
    await world.finish(this.#engine.start());
    world.after(0, "begins", () => {
      this.#controllers.start();
      if (standby) world.after(700, "standby", () => this.#controllers.start());
      void write(this.#hub, "POST", JOBS_PATH, this.#object());
    });
    for (const happening of happenings)
      world.after(happening.atMs, happening.kind, () => this.#faults.happen(happening));
    await world.run(calmAtMs, () => false);
    if (world.failure) return;
    world.note("CALM", "the faults end");
    this.#faults.end();
    await this.#settle();
  }

  result(): SeedResult {
    const { failure } = this.#world;
    return {
      seed: this.#scenario.seed,
      hash: this.#world.hash,
      events: this.#world.events,
      requests: this.#requests,
      virtualMs: this.#world.nowMs,
      reach: this.#reach.counts,
      failure: failure && { property: failure.property, message: failure.message, atMs: failure.atMs },
      transcript: this.#world.transcript,
    };
  }

  async #settle(): Promise<void> {
    const world = this.#world;
    const hasEnded = () => ["Complete", "Failed"].includes(String(this.#status().phase));
    const ended = await world.run(world.nowMs + END_LIMIT_MS, hasEnded);
    if (world.failure) return;
    const { phase, reason, message, attempts } = this.#status();
    if (!ended) {
      const state = JSON.stringify({ phase, reason, message, attempts });
      world.violated(JOB_PROPERTIES.ends, `not over after ${END_LIMIT_MS} ms: ${state}`);
      return;
    }
    this.#reach.count(`the work is ${phase}`);
    await world.run(world.nowMs + STAYS_MS, () => false);
    if (world.failure) return;
    if (phase === "Complete" && !this.#isReallyDone())
      world.violated(JOB_PROPERTIES.honest, "not all of it ever succeeded");
    for (const member of this.#members.values()) {
      const touched = member.touched();
      if (touched.length > 0) world.violated(JOB_PROPERTIES.untouched, `${member.name}: ${touched.join(", ")}`);
    }
    this.#checkClean();
  }

  #isReallyDone(): boolean {
    const { shape } = this.#scenario;
    const done = [...this.#members.values()].flatMap(({ succeeded }) => succeeded);
    switch (shape.kind) {
      case "whole":
        return done.length > 0;
      case "count":
        return done.length >= shape.total;
      case "indexes":
        return new Set(done.map(({ unit }) => unit)).size === shape.total;
    }
  }

  /** What an old delivery creates after the clean-up is idle, and is left to `lockstep gc`. */
  #checkClean(): void {
    const { spec, happenings } = this.#scenario;
    const isStrange = happenings.some(({ kind }) => kind === "late" || kind === "recreate");
    if (spec.memberCleanup !== "WhenFinished" || isStrange) return;
    const left = [...this.#members.values()].flatMap((member) =>
      member.jobs().map(({ metadata }) => `${member.name}: ${metadata.name}`),
    );
    if (left.length > 0) this.#world.violated(JOB_PROPERTIES.clean, left.join(", "));
    else this.#reach.count("nothing is left in members");
  }

  #dispatched(cluster: string, job: string): StoredObject | undefined {
    const isOcm = this.#scenario.engine === "ocm";
    const { works, clusterOf } = isOcm ? OCM_DISPATCHING : KARMADA_DISPATCHING;
    for (const { resource, object } of this.#hub.snapshot().objects) {
      if (resource !== works || clusterOf(object) !== cluster || object.metadata.deletionTimestamp) continue;
      const [manifest] = isOcm ? writtenManifestsOf(object) : manifestsOf(object);
      if (manifest?.metadata.name === job) return manifest;
    }
    return undefined;
  }

  #status(): JsonObject {
    const found = this.#hub.snapshot().objects.find(({ resource }) => resource.endsWith("/crossclusterjobs"));
    return isJsonObject(found?.object.status) ? found.object.status : {};
  }

  #object(): JsonObject {
    return {
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterJob",
      metadata: { name: "train", namespace: "default" },
      spec: this.#scenario.spec,
    };
  }
}
