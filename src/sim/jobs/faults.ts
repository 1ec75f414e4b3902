import { DEFAULT_SYSTEM_NAMESPACE } from "../../api/index.ts";
import type { ApiServer } from "../../apiserver/index.ts";
import { attemptRef } from "../../controllers/index.ts";
import { DRAIN_TAINT } from "../../engine/index.ts";
import type { Controllers } from "../actors/controllers.ts";
import type { SimProcess } from "../actors/process.ts";
import { write } from "../lean/hub.ts";
import type { KarmadaModel } from "../lean/karmada.ts";
import type { OcmModel } from "../lean/ocm/model.ts";
import type { Reach } from "../seed/reach.ts";
import type { Climate } from "../world/weather.ts";
import type { World } from "../world/world.ts";
import type { JobMember } from "./member.ts";
import type { JobHappening, JobScenario } from "./scenario.ts";
import type { JobWatch } from "./watch.ts";

export const JOBS_PATH = "/apis/apps.karmada.io/v1alpha1/namespaces/default/crossclusterjobs";

const LEDGERS_PATH = `/apis/apps.karmada.io/v1alpha1/namespaces/${DEFAULT_SYSTEM_NAMESPACE}/crossclusterledgers`;

const RESUME_RETRY_MS = 1_000;
const RESUME_AT_LAST_MS = 30_000;

export interface JobCast {
  readonly world: World;
  readonly hub: ApiServer;
  readonly scenario: JobScenario;
  readonly members: ReadonlyMap<string, JobMember>;
  readonly engine: KarmadaModel | OcmModel;
  readonly controllers: Controllers;
  readonly climate: Climate;
  readonly reach: Reach;
  readonly watch: JobWatch;
}

/** Carries out what a seed has drawn. */
export class JobFaults {
  readonly #cast: JobCast;
  readonly #drained = new Set<string>();
  /** What is resumed when faults end: Jobs that queues suspend. */
  readonly #held: { readonly member: JobMember; readonly job: string }[] = [];

  constructor(cast: JobCast) {
    this.#cast = cast;
  }

  happen(happening: JobHappening): void {
    const { world } = this.#cast;
    world.note("FAULT", happening.kind, () => JSON.stringify(happening));
    this.#toControllers(happening);
    if ("cluster" in happening) this.#toMember(happening);
  }

  pause(process: SimProcess, forMs: number): void {
    const { world, reach, controllers } = this.#cast;
    if (process.isPaused) return;
    world.note(process.name, "is paused");
    process.pause(true);
    world.after(forMs, "wakes up", () => {
      if (!process.isAlive || !process.isPaused) return;
      const beside = controllers.processes.some((each) => each !== process && each.isAlive);
      if (beside) reach.count("a leader wakes up next to another one");
      process.resume();
    });
  }

  /** No more faults; everything can be reached. */
  end(): void {
    const { world, climate, engine, members, controllers, hub } = this.#cast;
    if (climate.hubIsDown) engine.hubDown(false);
    climate.calm();
    for (const name of members.keys()) engine.mend(name);
    for (const process of controllers.processes) process.resume();
    for (const name of this.#drained) void taint(hub, name, false);
    // By then every member has what the hub says now.
    for (const { member, job } of this.#held)
      world.after(RESUME_AT_LAST_MS, "a queue resumes a Job", () => member.resume(job));
    void this.#suspend(false);
  }

  /** A backup without them is restored, and the controllers start again. */
  async #loseLedgers(): Promise<void> {
    const { hub, controllers } = this.#cast;
    const found = hub.snapshot().objects.filter(({ resource }) => resource.endsWith("/crossclusterledgers"));
    for (const { object } of found) await write(hub, "DELETE", `${LEDGERS_PATH}/${object.metadata.name}`);
    this.#cast.watch.forgets();
    controllers.upgrade();
  }

  async #suspend(suspend: boolean): Promise<void> {
    const { hub, scenario } = this.#cast;
    if (scenario.happenings.some(({ kind }) => kind === "suspend"))
      await write(hub, "PATCH", `${JOBS_PATH}/train`, { spec: { suspend } });
  }

  #hold(member: JobMember, forMs: number): void {
    const job = member.reachable ? member.hold() : undefined;
    if (job === undefined) return;
    this.#cast.reach.count("a queue suspends a Job in its member");
    this.#held.push({ member, job });
    this.#resumeLater(member, job, forMs);
  }

  /** A Job that is suspended and resumed while no controller looks, in a cluster that is then lost, is beyond what is promised. */
  #resumeLater(member: JobMember, job: string, inMs: number): void {
    const { world, scenario, watch, reach } = this.#cast;
    world.after(inMs, "a queue resumes a Job", () => {
      if (world.nowMs >= scenario.calmAtMs) return;
      if (!watch.knowsHeld(job)) return this.#resumeLater(member, job, RESUME_RETRY_MS);
      reach.count("a Job that was suspended in its member starts again");
      member.resume(job);
    });
  }

  /** Names of the next attempts: none of them exists in a member yet. */
  #nextNames(count: number): string[] {
    const { hub, members } = this.#cast;
    const found = hub.snapshot().objects.find(({ resource }) => resource.endsWith("/crossclusterjobs"))?.object;
    if (!found) return [];
    const used = [...members.values()].flatMap((member) => member.jobs().map(({ metadata }) => metadata.name));
    const numbers = used.map((name) => Number(/-(\d+)$/.exec(name)?.[1] ?? 0));
    const first = Math.max(0, ...numbers) + 1;
    return Array.from({ length: count }, (_, at) => attemptRef(found as never, first + at).name);
  }

  #forAWhile(forMs: number, end: () => void): void {
    const { world, scenario } = this.#cast;
    world.after(forMs, "a fault ends", () => {
      if (world.nowMs < scenario.calmAtMs) end();
    });
  }

  #toControllers(happening: JobHappening): void {
    const { climate, reach, controllers, engine } = this.#cast;
    switch (happening.kind) {
      case "crash":
        climate.crashes.push({ write: climate.writes + happening.write, point: happening.point });
        return;
      case "stall":
        climate.pauses.push({ write: climate.writes + happening.write, forMs: happening.forMs });
        return;
      case "pause":
        reach.count("a leader is paused");
        for (const process of controllers.processes.slice(0, 1)) this.pause(process, happening.forMs);
        return;
      case "hub down":
        if (climate.hubIsDown) return;
        reach.count("the hub is down");
        climate.hubIsDown = true;
        engine.hubDown(true);
        this.#forAWhile(happening.forMs, () => {
          climate.hubIsDown = false;
          engine.hubDown(false);
        });
        return;
      case "flaky":
        climate.flakyRate = happening.rate;
        this.#forAWhile(happening.forMs, () => {
          climate.flakyRate = 0;
        });
        return;
      case "stale":
        reach.count("stale views");
        climate.lagMs = happening.byMs;
        this.#forAWhile(happening.forMs, () => {
          climate.lagMs = 0;
        });
        return;
      case "slow":
        climate.latencyMs = happening.byMs;
        this.#forAWhile(happening.forMs, () => {
          climate.latencyMs = 0;
        });
        return;
      case "stale lists":
        climate.hasStaleLists = true;
        this.#forAWhile(happening.forMs, () => {
          climate.hasStaleLists = false;
        });
        return;
      case "lose ledgers":
        reach.count("the ledger is lost");
        void this.#loseLedgers();
        return;
      case "suspend":
        reach.count("the work is suspended");
        void this.#suspend(true);
        this.#forAWhile(happening.forMs, () => void this.#suspend(false));
        return;
      case "drop watches":
        reach.count("watches dropped", controllers.dropWatches());
        return;
      case "clock jump":
        reach.count("clock jump");
        for (const process of controllers.processes) process.jumpWall(happening.byMs);
        return;
      default:
    }
  }

  #toMember(happening: Extract<JobHappening, { cluster: string }>): void {
    const { engine, members, reach, hub } = this.#cast;
    const { cluster, kind } = happening;
    const drawn = members.get(cluster);
    if (!drawn) return;
    // Where nothing was ever delivered, nothing can go wrong in this way.
    const isAboutJobs = kind === "delete" || kind === "late" || kind === "recreate";
    const member = isAboutJobs && !drawn.hasHad ? ([...members.values()].find(({ hasHad }) => hasHad) ?? drawn) : drawn;
    switch (kind) {
      case "cut":
        if (!member.reachable) return;
        engine.cut(cluster);
        if (member.alive().size > 0) reach.count("a cluster with running work is cut off");
        this.#forAWhile(happening.forMs, () => {
          engine.mend(cluster);
          if (member.jobs().length > 0) reach.count("a cluster returns with an old Job");
        });
        return;
      case "drain":
        if (member.alive().size > 0) reach.count("a cluster with running work is drained");
        this.#drained.add(cluster);
        void taint(hub, cluster, true);
        this.#forAWhile(happening.forMs, () => {
          this.#drained.delete(cluster);
          void taint(hub, cluster, false);
        });
        return;
      case "delete":
        if (member.deleteOne()) reach.count("a Job is deleted in its member");
        return;
      case "late":
        reach.count(`an old delivery: ${member.deliverLate()}`);
        return;
      case "hold":
        this.#hold(member, happening.forMs);
        return;
      case "strip":
        if (member.strip()) reach.count("a user removes Lockstep's label");
        return;
      case "take":
        for (const name of this.#nextNames(happening.names))
          if (member.take(name)) reach.count("another writer takes an attempt's name");
        return;
      case "recreate":
        if (member.recreate()) reach.count("an agent creates a Job from its memory");
        return;
    }
  }
}

/** Karmada's field; on OCM drains are not drawn. */
async function taint(hub: ApiServer, cluster: string, isSet: boolean): Promise<void> {
  const taints = isSet ? [{ key: DRAIN_TAINT, effect: "NoExecute" }] : null;
  await write(hub, "PATCH", `/apis/cluster.karmada.io/v1alpha1/clusters/${cluster}`, { spec: { taints } });
}
