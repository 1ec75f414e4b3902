import { type HttpRequest, type HttpResponse, isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { type ControllerSeams, Controllers } from "../actors/controllers.ts";
import { Happenings } from "../actors/happen.ts";
import { People } from "../actors/people.ts";
import { SimProcess } from "../actors/process.ts";
import { FULL_ABILITIES, FullGround, imageOf } from "../full/ground.ts";
import { LeanGround } from "../lean/ground.ts";
import type { EngineName, HubImage } from "../lean/hub.ts";
import { OcmGround } from "../lean/ocm/ground.ts";
import { revisionAsSent, revisionOf } from "../lean/operators.ts";
import { Properties } from "../properties/properties.ts";
import type { Rules } from "../properties/rules.ts";
import { SilenceProperty } from "../properties/silence.ts";
import { KARMADA_DISPATCHING, OCM_DISPATCHING } from "../world/dispatching.ts";
import type { Ground, GroundMember } from "../world/ground.ts";
import { ListMemory } from "../world/list-memory.ts";
import type { Witness } from "../world/truth.ts";
import { Climate, weatherFor } from "../world/weather.ts";
import { World } from "../world/world.ts";
import { FAILOVER_AFTER_S, type GivenApp } from "./app.ts";
import { OCM_ABILITIES } from "./ocm.ts";
import { Reach } from "./reach.ts";
import { type Abilities, type Scenario, scenarioOf } from "./scenario.ts";
import { WINDOWS } from "./twists.ts";

export interface SeedResult {
  readonly seed: number;
  readonly hash: string;
  readonly events: number;
  readonly requests: number;
  readonly virtualMs: number;
  readonly reach: Record<string, number>;
  readonly failure: { readonly property: string; readonly message: string; readonly atMs: number } | undefined;
  readonly transcript: readonly string[];
}

/** How much of the world is real: `lean` members are a model, `full` ones are the embedded fleet's servers. */
export type Tier = "lean" | "full";

export interface RunOptions {
  readonly image: HubImage;
  /** Absent: Karmada. OCM has a lean tier only. */
  readonly engine?: EngineName;
  readonly tier?: Tier;
  readonly given?: GivenApp | undefined;
  /** The user's own kinds, for `given`. */
  readonly definitions?: readonly JsonObject[];
  readonly seams?: ControllerSeams;
  readonly transcript?: boolean;
}

export const LEAN_ABILITIES: Abilities = { protocolFor: (drawn) => drawn, hasBrokenRevisions: true, twists: undefined };
/** After the faults end, everything that was requested must be in place within this time. */
const SETTLE_LIMIT_MS = 12 * 60_000;
/** The label on everything that Lockstep creates on the hub for one application. */
const OWN_LABELS = ["lockstep.karmada.io/app", "lockstep.karmada.io/statefulset", "lockstep.karmada.io/hold"];
/** And it must stay so for this long. */
const STAYS_MS = 4_000;
/** Long enough for a new process to acquire the lease, read everything, and act if it had to. */
const UPGRADE_LOOK_MS = 30_000;
/** A user who takes over a running application first checks whether it runs, for a limited time. */
const ADOPTED_AFTER_MS = [4_000, 25_000] as const;

/** Runs one seed from start to end. */
export async function runSeed(seed: number, options: RunOptions): Promise<SeedResult> {
  const lean = options.engine === "ocm" ? OCM_ABILITIES : LEAN_ABILITIES;
  const abilities = options.tier === "full" ? FULL_ABILITIES : lean;
  return runScenario(scenarioOf(seed, options.given, abilities), options);
}

/**
 * Plays a scenario, recorded or drawn from a seed. Its seed then decides only what takes how long: latencies, and which of two things
 * that fall on one moment goes first.
 */
export async function runScenario(scenario: Scenario, options: RunOptions): Promise<SeedResult> {
  const stage = await Stage.set(scenario, options);
  await stage.play();
  return stage.result();
}

/** All actors and objects of one run. */
class Stage {
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly #reach: Reach;
  readonly #climate = new Climate();
  readonly #ground: Ground;
  readonly #people: People;
  readonly #rules: Rules;
  readonly #controllers: Controllers;
  readonly #happenings: Happenings;
  #sender: SimProcess | undefined;
  #requests = 0;

  static async set(scenario: Scenario, options: RunOptions): Promise<Stage> {
    const world = new World(scenario.seed, options.transcript ?? false);
    const hub = new SimProcess(world, "hub");
    const reach = new Reach();
    const build = await groundFor(world, hub, scenario, options, reach);
    const stage = new Stage(scenario, world, build, options, reach);
    await world.finish(stage.#ground.start());
    return stage;
  }

  private constructor(
    scenario: Scenario,
    world: World,
    build: (witness: Witness) => Ground,
    options: RunOptions,
    reach: Reach,
  ) {
    this.#reach = reach;
    this.#scenario = scenario;
    this.#world = world;
    const rules = rulesOf(scenario, options.tier ?? "lean");
    this.#rules = rules;
    const members = new Map<string, GroundMember>();
    const properties = new Properties(
      world,
      rules,
      reach,
      members,
      () => ground.leader(),
      scenario.ocm ? OCM_DISPATCHING : KARMADA_DISPATCHING,
    );
    const ground = build(properties.witness);
    this.#ground = ground;
    for (const [name, member] of ground.members) members.set(name, member);
    const { hub } = ground;
    const people = new People(world, hub, scenario, ground.dispatching, {
      placed: (replicas) => {
        properties.resized(rules.desired, replicas);
        rules.desired = new Map(replicas);
        ground.place(replicas);
      },
      acted: () => {
        rules.still = undefined;
      },
      ranByHand: () => {
        ground.runByHand?.(people.replicas);
        return ground.runByHand !== undefined;
      },
      deleteBroken: () => this.#deleteBroken(),
      deleteOld: () => this.#deleteOld(),
    });
    this.#people = people;
    rules.confirmedDrain = people.confirmedDrain;
    rules.confirmedLost = people.confirmedLost;
    if (scenario.adoption) properties.managedFrom(() => people.hasObject);
    hub.onCommit((commit) => properties.committed(commit, this.#sender));
    const dice = world.dice.branch("weather");
    const controllers = new Controllers({
      world,
      backend: {
        handle: (request) => {
          this.#requests++;
          const answered = hub.handle(request);
          return scenario.ocm ? this.#counted(request, answered) : answered;
        },
        stream: (request) => hub.stream(request),
      },
      weatherOf: () => weatherFor(this.#climate, dice, this.#reach),
      carrying: (process) => {
        this.#sender = process;
      },
      paused: (process, forMs) => this.#happenings.pause(process, forMs, true),
      lists: new ListMemory(this.#reach),
      reach: this.#reach,
      ...(ground.door && { door: (cluster: string) => ground.door?.(cluster) ?? hub }),
      seams: options.seams ?? {},
      topologyInlineBytes: scenario.topologyInlineBytes,
      logs: options.transcript ?? false,
    });
    this.#controllers = controllers;
    const shared = { world, scenario, ground, people, controllers, rules, properties };
    this.#happenings = new Happenings({ ...shared, climate: this.#climate, reach: this.#reach });
    const { agents, dispatching } = ground;
    if (agents) {
      const silence = new SilenceProperty({
        ...{ world, rules, reach, agents, dispatching, clusters: scenario.clusters },
        leader: () => this.#happenings.leader,
        isDisturbed: () => !this.#climate.isFair,
      });
      hub.onCommit((commit) => silence.committed(commit));
      world.afterEvent(() => silence.look());
    }
  }

  /** A compare-and-swap that fails only because an agent has just reported. */
  async #counted(request: HttpRequest, answered: Promise<HttpResponse>): Promise<HttpResponse> {
    const answer = await answered;
    const isSwap = request.method === "PUT" && request.path.includes("/manifestworks/");
    if (isSwap && answer.status === 409) this.#reach.count("a report overtakes a write");
    return answer;
  }

  async play(): Promise<void> {
    const { calmAtMs, happenings, standby, deletedAtMs, ending, adoption, upgrades } = this.#scenario;
    const world = this.#world;
    world.after(0, "begins", () => {
      this.#controllers.start();
      if (standby) world.after(700, "standby", () => this.#controllers.start());
      if (adoption) this.#people.createTemplate();
      else this.#people.create();
    });
    for (const happening of happenings) {
      world.after(happening.atMs, happening.kind, () => this.#happenings.happen(happening));
    }
    if (adoption) this.#adoptWhenItRuns();
    else if (!this.#scenario.ocm) this.#templateAfterHold();
    if (deletedAtMs !== undefined) world.after(deletedAtMs, "delete", () => this.#delete("deleted during a step"));
    await world.run(calmAtMs, () => false);
    this.#calm();
    if (this.#people.isDeleted) return this.#end();
    await this.#settle();
    if (upgrades && !world.failure) await this.#upgrade();
    if (ending === "keeps running" || world.failure) return;
    this.#delete();
    await this.#end();
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

  /** A user creates the template once the hold exists. */
  #templateAfterHold(): void {
    let hasTemplate = false;
    this.#ground.hub.onCommit(({ key }) => {
      if (hasTemplate || key.resource !== "policy.karmada.io/overridepolicies") return;
      hasTemplate = true;
      this.#world.after(200, "template", () => this.#people.createTemplate());
    });
  }

  /** It runs, dispatched by the engine; then a user wants Lockstep to manage it. Nothing may move because of that. */
  #adoptWhenItRuns(): void {
    const [earliestMs, latestMs] = ADOPTED_AFTER_MS;
    const look = () => {
      const runs = [...this.#ground.members].every(([name, { instances }]) => {
        const all = [...instances.values()];
        return all.length === (this.#people.replicas.get(name) ?? 0) && all.every(({ up }) => up);
      });
      if (!runs && this.#world.nowMs < latestMs) {
        this.#world.after(1_000, "a user looks", look);
        return;
      }
      if (runs) {
        this.#reach.count("an adoption moves nothing");
        this.#rules.still = { name: "an adoption moves nothing", allowsAnnotations: true };
      }
      this.#people.create();
    };
    this.#world.after(earliestMs, "a user looks", look);
  }

  #calm(): void {
    this.#world.note("CALM", "the faults end");
    this.#climate.crashes.length = 0;
    this.#happenings.hubIsBack();
    this.#climate.calm();
    for (const [name, member] of this.#ground.members) {
      if (this.#happenings.left.has(name)) continue;
      this.#ground.mend(name);
      this.#happenings.agentReturns(name);
      member.stall(false);
      member.behave();
    }
    for (const process of this.#controllers.processes) process.resume();
    for (const name of this.#happenings.left) {
      if (!this.#people.confirmedLost.has(name)) this.#people.confirmLost(name);
    }
    if (this.#people.isDeleted) return;
    this.#people.lookAfter();
    // An operator that reported Done without acting is not asked again; a user who learns of it restarts.
    if (this.#happenings.wasLiedTo) this.#people.restart();
  }

  async #settle(): Promise<void> {
    const world = this.#world;
    let sinceMs: number | undefined;
    const isSettled = () => {
      if (!this.#isAsAskedFor()) sinceMs = undefined;
      else sinceMs ??= world.nowMs;
      return sinceMs !== undefined && world.nowMs - sinceMs >= STAYS_MS;
    };
    const settled = await world.run(world.nowMs + SETTLE_LIMIT_MS, isSettled);
    if (settled) this.#countSettled();
    else if (!world.failure) {
      const { phase, reason, message, clusters } = this.#people.status;
      const state = JSON.stringify({ phase, reason, message, clusters });
      world.violated("settles once faults stop", `not as requested after ${SETTLE_LIMIT_MS} ms: ${state}`);
    }
  }

  #countSettled(): void {
    this.#reach.count("settled in the end");
    const asked = this.#ground.scheduled() ?? this.#people.replicas;
    const isMoved = [...asked].some(([name, count]) => count !== this.#people.replicas.get(name));
    if (isMoved && this.#scenario.engineFailsOver) this.#reach.count("the engine moves instances away");
  }

  #isAsAskedFor(): boolean {
    const { object, status, replicas, confirmedLost } = this.#people;
    if (this.#happenings.leader === undefined) return false;
    if (status.phase !== "Settled" || status.observedGeneration !== object?.metadata.generation) return false;
    const asked = this.#ground.scheduled() ?? replicas;
    const { left } = this.#happenings;
    // Replaced instances stay where they were placed: then the user decides only the sum.
    const mayMove = confirmedLost.size > 0 || this.#scenario.listsMembers;
    let missing = 0;
    for (const [name, member] of this.#ground.members) {
      if (left.has(name)) continue;
      // [I22] Nothing is left that no grant refers to.
      const parts = [...member.parts.keys()];
      if (!member.refersTo.every((part) => parts.includes(part))) return false;
      // What was dispatched to keep its object leaves it behind if a user deletes the dispatch.
      if (parts.length !== member.refersTo.length && !this.#happenings.torn.has(name)) return false;
      const all = [...member.instances.values()];
      if (!all.every(({ up, revision }) => up && !this.#isOld(revision))) return false;
      const lacks = (asked.get(name) ?? 0) - all.length;
      if (lacks !== 0 && !mayMove) return false;
      missing += lacks;
    }
    return missing <= 0;
  }

  #isOld(revision: string): boolean {
    const { image } = this.#people;
    return revision !== image && !revision.startsWith(`${image.replaceAll(":", "-")}-`);
  }

  /** Without access to the cluster Lockstep cannot delete a pod, and says so. */
  #deleteBroken(): void {
    for (const [name, member] of this.#ground.members) {
      const { agents } = this.#ground;
      if (!agents || agents.isReadDirectly(name) || this.#happenings.left.has(name)) continue;
      if (member.deleteOne((revision) => revision.includes("broken")))
        this.#world.note("USER", `deletes a pod in ${name}`);
    }
  }

  #deleteOld(): void {
    for (const [name, member] of this.#ground.members) {
      if (!this.#happenings.left.has(name) && member.deleteOne((revision) => this.#isOld(revision))) return;
    }
  }

  /** Another version of the controller takes over a settled application: no member is written to, nothing restarts. */
  async #upgrade(): Promise<void> {
    const world = this.#world;
    world.note("USER", "upgrades Lockstep");
    this.#rules.still = { name: "an upgrade moves nothing", allowsAnnotations: false };
    this.#controllers.upgrade();
    await world.run(world.nowMs + UPGRADE_LOOK_MS, () => false);
    this.#rules.still = undefined;
    if (!world.failure) this.#reach.count("an upgrade moves nothing");
  }

  #delete(situation?: string): void {
    if (this.#people.isDeleted || !this.#people.hasObject) return;
    if (situation) this.#reach.count(situation);
    if (this.#scenario.ending === "Teardown") this.#rules.tearsDown = true;
    this.#people.delete();
  }

  async #end(): Promise<void> {
    const world = this.#world;
    if (world.failure) return;
    const gone = await world.run(world.nowMs + SETTLE_LIMIT_MS, () => this.#people.object === undefined);
    if (world.failure) return;
    if (!gone) {
      const { phase, reason, message } = this.#people.status;
      world.violated("a deletion ends", `still there after ${SETTLE_LIMIT_MS} ms: ${phase} ${reason} ${message}`);
      return;
    }
    await world.run(world.nowMs + STAYS_MS, () => false);
    this.#checkNothingLeft();
  }

  #checkNothingLeft(): void {
    const { ending, workload, explicit, adoption } = this.#scenario;
    const left: string[] = [];
    for (const { resource, object } of this.#ground.hub.snapshot().objects) {
      const { metadata } = object;
      const isOurs = OWN_LABELS.some((label) => metadata.labels?.[label] !== undefined);
      // Without the hold Karmada would render the template at once: it is kept, and released, while the template
      // exists.
      const isKeptHold = resource === "policy.karmada.io/overridepolicies" && (!explicit || adoption !== undefined);
      if (resource === "apps.karmada.io/crossclusterledgers" || (isOurs && !isKeptHold)) {
        left.push(`${resource} ${metadata.namespace}/${metadata.name}`);
      }
    }
    // An object that was deleted before Lockstep had seen it was never Lockstep's to tear down.
    const wasTakenUp = this.#reach.counts["ledger writes"] !== undefined;
    if (ending === "Teardown" && wasTakenUp) {
      for (const [name, member] of this.#ground.members) {
        // [T3] A cluster that was given up keeps what it has.
        if (this.#happenings.left.has(name) || this.#people.confirmedLost.has(name)) continue;
        // The engine's own: it was unreachable all the time, and was never adopted.
        if (member.live && member.live.epoch < 0) continue;
        if (member.hasObject()) left.push(`${name}: ${workload.kind}`);
        if (member.instances.size > 0) left.push(`${name}: ${member.instances.size} instances`);
      }
    }
    if (left.length > 0) this.#world.violated("nothing is left behind", `after a ${ending}: ${left.join(", ")}`);
    else this.#reach.count(ending === "Teardown" ? "nothing left after a teardown" : "nothing left after a release");
  }
}

/** Builds the controller's environment, once the observer exists. */
async function groundFor(
  world: World,
  hub: SimProcess,
  scenario: Scenario,
  { image, tier, definitions = [] }: RunOptions,
  reach: Reach,
): Promise<(witness: Witness) => Ground> {
  if (tier === "full") return (witness) => new FullGround(world, scenario, hub, image.schemas, witness);
  const engine = scenario.ocm ? "ocm" : "karmada";
  const server = await image.boot(hub.clock, scenario.seed, scenario.clusters, definitions, engine);
  if (scenario.ocm) return (witness) => new OcmGround(world, scenario, server, witness, reach);
  return (witness) => new LeanGround(world, scenario, server, witness);
}

function rulesOf({ workload, spec, protocol, replicas, adoption, labelsLeader, ocm }: Scenario, tier: Tier): Rules {
  const strategy = isJsonObject(spec.updateStrategy) ? spec.updateStrategy : {};
  const rolling = isJsonObject(strategy.rollingUpdate) ? strategy.rollingUpdate : {};
  const { maxUnavailable = 1, waves, partition, batches, order = "LeaderLast", maintenanceWindows } = rolling;
  const total = Object.values(replicas).reduce((sum, count) => sum + count, 0);
  const ordersOnlyByLeader = waves === undefined && partition === undefined && batches === undefined;
  return {
    kind: workload.kind,
    quorum: spec.quorum === "None" ? "None" : "Majority",
    isOrdered: spec.podManagementPolicy !== "Parallel",
    maxUnavailable:
      typeof maxUnavailable === "number"
        ? maxUnavailable
        : Math.ceil((Number.parseFloat(`${maxUnavailable}`) * total) / 100),
    failoverAfterMs: FAILOVER_AFTER_S * 1000,
    globalOrdinals: protocol !== "ignorant" && adoption === undefined,
    readsTurns: protocol !== "statefulset",
    onDelete: strategy.type === "OnDelete",
    leaderLast: (protocol === "contract" || labelsLeader) && order === "LeaderLast" && ordersOnlyByLeader,
    windows:
      maintenanceWindows === undefined
        ? undefined
        : { everyMs: WINDOWS.everyMinutes * 60_000, openMs: WINDOWS.openSeconds * 1000 },
    revisionOf: tier === "full" ? imageOf : ocm ? revisionAsSent : revisionOf,
    isPlaced: ocm?.placed !== undefined,
    tearsDown: false,
    desired: new Map(Object.entries(replicas)),
    confirmedDrain: new Set(),
    confirmedLost: new Map(),
    evicted: new Set(),
    replaces: isJsonObject(spec.failover) && spec.failover.policy === "Replace",
    still: undefined,
    clocksWrong: false,
  };
}
