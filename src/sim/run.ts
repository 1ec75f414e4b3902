import type { JsonObject } from "../runtime/index.ts";
import { type ControllerSeams, Controllers } from "./controllers.ts";
import { FullGround, imageOf } from "./full/ground.ts";
import type { Ground, GroundMember } from "./ground.ts";
import { LeanGround } from "./lean/ground.ts";
import type { HubImage } from "./lean/hub.ts";
import { revisionOf } from "./lean/operators.ts";
import { People } from "./people.ts";
import { SimProcess } from "./process.ts";
import { Properties, type Rules } from "./properties.ts";
import { Reach } from "./reach.ts";
import { FAILOVER_AFTER_S, type GivenApp, type Happening, type Scenario, scenarioOf } from "./scenario.ts";
import type { Witness } from "./truth.ts";
import { Climate, weatherFor } from "./weather.ts";
import { World } from "./world.ts";

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
  readonly tier?: Tier;
  readonly given?: GivenApp | undefined;
  /** The user's own kinds, for `given`. */
  readonly definitions?: readonly JsonObject[];
  readonly seams?: ControllerSeams;
  readonly transcript?: boolean;
}

/** Once nothing goes wrong any more, everything asked for must be there within this. */
const SETTLE_LIMIT_MS = 12 * 60_000;
/** What Lockstep puts on everything that it makes on the hub for one application. */
const OWN_LABELS = ["lockstep.karmada.io/app", "lockstep.karmada.io/statefulset", "lockstep.karmada.io/hold"];
/** And it must stay so for this long. */
const STAYS_MS = 4_000;

/** Plays one seed from beginning to end. */
export async function runSeed(seed: number, options: RunOptions): Promise<SeedResult> {
  const stage = await Stage.set(scenarioOf(seed, options.given, options.tier === "full"), options);
  await stage.play();
  return stage.result();
}

/** Everybody and everything of one run. */
class Stage {
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly #reach = new Reach();
  readonly #climate = new Climate();
  readonly #ground: Ground;
  readonly #people: People;
  readonly #rules: Rules;
  readonly #controllers: Controllers;
  #sender: SimProcess | undefined;
  #requests = 0;
  #wasLiedTo = false;

  static async set(scenario: Scenario, options: RunOptions): Promise<Stage> {
    const world = new World(scenario.seed, options.transcript ?? false);
    const hub = new SimProcess(world, "hub");
    const build = await groundFor(world, hub, scenario, options);
    const stage = new Stage(scenario, world, build, options);
    await world.finish(stage.#ground.start());
    return stage;
  }

  private constructor(scenario: Scenario, world: World, build: (witness: Witness) => Ground, options: RunOptions) {
    this.#scenario = scenario;
    this.#world = world;
    this.#rules = rulesOf(scenario, options.tier ?? "lean");
    const members = new Map<string, GroundMember>();
    const properties = new Properties(world, this.#rules, this.#reach, members);
    this.#ground = build(properties);
    for (const [name, member] of this.#ground.members) members.set(name, member);
    const { hub } = this.#ground;
    this.#people = new People(world, hub, scenario, (replicas) => {
      properties.resized(this.#rules.desired, replicas);
      this.#rules.desired = new Map(replicas);
      this.#ground.place(replicas);
    });
    this.#rules.confirmedDrain = this.#people.confirmedDrain;
    hub.onCommit((commit) => properties.committed(commit, this.#sender));
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
      weatherOf: () => weatherFor(this.#climate, dice, this.#reach),
      carrying: (process) => {
        this.#sender = process;
      },
      seams: options.seams ?? {},
      logs: options.transcript ?? false,
    });
  }

  async play(): Promise<void> {
    const { calmAtMs, happenings, standby, deletedAtMs, ending } = this.#scenario;
    const world = this.#world;
    world.after(0, "begins", () => {
      this.#controllers.start();
      if (standby) world.after(700, "standby", () => this.#controllers.start());
      this.#people.create();
    });
    for (const happening of happenings) world.after(happening.atMs, happening.kind, () => this.#happen(happening));
    // A person creates the template once the hold is there.
    let hasTemplate = false;
    this.#ground.hub.onCommit(({ key }) => {
      if (hasTemplate || key.resource !== "policy.karmada.io/overridepolicies") return;
      hasTemplate = true;
      world.after(200, "template", () => this.#people.createTemplate());
    });
    if (deletedAtMs !== undefined) world.after(deletedAtMs, "delete", () => this.#delete("deleted in mid-step"));
    await world.run(calmAtMs, () => false);
    this.#calm();
    if (this.#people.isDeleted) return this.#end();
    await this.#settle();
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

  #happen(happening: Happening): void {
    const world = this.#world;
    const climate = this.#climate;
    const isCalm = () => world.nowMs >= this.#scenario.calmAtMs;
    if (isCalm() || this.#people.isDeleted) return;
    const forAWhile = (durationMs: number, end: () => void) => {
      world.after(durationMs, `end of ${happening.kind}`, () => {
        if (!isCalm()) end();
      });
    };
    const { cluster = "" } = happening as { cluster?: string };
    const member = this.#ground.members.get(cluster);
    const label = happening.kind + (cluster === "" ? "" : ` ${cluster}`);
    world.note("FAULT", label, () => JSON.stringify(happening));
    const stepping = this.#people.status.step !== undefined;
    switch (happening.kind) {
      case "crash at write":
        climate.crashes.push({ write: climate.writes + happening.write, point: happening.point });
        return;
      case "flaky":
        climate.flakyRate = happening.rate;
        forAWhile(happening.forMs, () => {
          climate.flakyRate = 0;
        });
        return;
      case "slow":
        this.#reach.count("slow");
        climate.latencyMs = happening.latencyMs;
        forAWhile(happening.forMs, () => {
          climate.latencyMs = 0;
        });
        return;
      case "stale":
        this.#reach.count("stale views");
        climate.lagMs = happening.lagMs;
        forAWhile(happening.forMs, () => {
          climate.lagMs = 0;
        });
        return;
      case "drop watches":
        for (const process of this.#controllers.processes) {
          this.#reach.count("watches dropped", this.#controllers.dropWatches(process));
        }
        return;
      case "cut":
        this.#reach.count(happening.forMs > 1000 * FAILOVER_AFTER_S + 30_000 ? "member lost" : "member cut off");
        this.#ground.cut(cluster);
        forAWhile(happening.forMs, () => this.#ground.mend(cluster));
        return;
      case "pause leader":
        this.#pauseLeader(happening.forMs, happening.clockStands);
        return;
      case "clock jump":
        this.#reach.count("clock jump");
        for (const process of this.#controllers.processes) process.jumpWall(happening.byMs);
        return;
      case "stall":
        if (!member) return;
        this.#reach.count("operator stalls");
        member.stall(true);
        forAWhile(happening.forMs, () => member.stall(false));
        return;
      case "dishonest":
        if (!member?.misbehave()) return;
        this.#reach.count("operator does not keep to the rules");
        this.#wasLiedTo = true;
        forAWhile(happening.forMs, () => member.behave());
        return;
      case "tamper":
        if (member?.tamper()) this.#reach.count("annotations tampered with");
        return;
      case "fail":
        if (member?.fail(happening.forMs)) this.#reach.count("instance fails");
        return;
      case "hang":
        if (member?.hang(happening.forMs)) this.#reach.count("instance hangs in termination");
        return;
      case "edit":
        if (stepping) this.#reach.count("edit in mid-step");
        if (happening.image.includes("broken")) this.#reach.count("broken revision");
        this.#people.edit(happening.image);
        return;
      case "scale":
        if (stepping) this.#reach.count("scale in mid-step");
        this.#people.scale(cluster, happening.by);
        return;
      case "drain":
        if (stepping) this.#reach.count("scale in mid-step");
        this.#people.drain(cluster);
        return;
      case "pause":
        this.#reach.count("pause");
        this.#people.setPaused(true);
        return;
      case "resume":
        this.#people.setPaused(false);
        return;
      case "undo":
        this.#reach.count("undo");
        this.#people.undo();
        return;
      case "restart":
        this.#reach.count("restart");
        this.#people.restart();
        return;
    }
  }

  #pauseLeader(forMs: number, clockStands: boolean): void {
    const leader = this.#controllers.processes.find(({ name }) => name === this.#leaseHolder());
    if (!leader || leader.isPaused) return;
    this.#reach.count("leader paused");
    this.#world.note(leader.name, "is paused", () => (clockStands ? "its clock stands" : "its clock goes on"));
    leader.pause(clockStands);
    this.#world.after(forMs, "wakes up", () => {
      if (!leader.isAlive) return;
      const beside = this.#leaseHolder() !== leader.name;
      this.#world.note(leader.name, "wakes up", () => (beside ? "beside a new leader" : ""));
      if (beside) this.#reach.count("a paused leader wakes up beside a new one");
      leader.resume();
    });
  }

  #holder: string | undefined;
  #leases = false;

  #leaseHolder(): string | undefined {
    if (!this.#leases) {
      this.#leases = true;
      for (const { resource, object } of this.#ground.hub.snapshot().objects) {
        if (resource.endsWith("/leases")) this.#holder = holderOf(object);
      }
      this.#ground.hub.onCommit(({ key, object }) => {
        if (key.resource.endsWith("/leases")) this.#holder = holderOf(object);
      });
    }
    return this.#holder;
  }

  #calm(): void {
    this.#world.note("CALM", "nothing goes wrong any more");
    this.#climate.calm();
    for (const [name, member] of this.#ground.members) {
      this.#ground.mend(name);
      member.stall(false);
      member.behave();
    }
    for (const process of this.#controllers.processes) process.resume();
    if (this.#people.isDeleted) return;
    this.#people.lookAfter();
    // Whoever said that it was done without having done it is not asked again; a person who learns of it restarts.
    if (this.#wasLiedTo) this.#people.restart();
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
    if (settled) this.#reach.count("settled in the end");
    else if (!world.failure) {
      const { phase, reason, message, clusters } = this.#people.status;
      const state = JSON.stringify({ phase, reason, message, clusters });
      world.violated("settles once faults stop", `not as asked for after ${SETTLE_LIMIT_MS} ms: ${state}`);
    }
  }

  #isAsAskedFor(): boolean {
    const { object, status, image, replicas } = this.#people;
    if (status.phase !== "Settled" || status.observedGeneration !== object?.metadata.generation) return false;
    const wanted = image.replaceAll(":", "-");
    for (const [name, member] of this.#ground.members) {
      const all = [...member.instances.values()];
      if (all.length !== (replicas.get(name) ?? 0)) return false;
      const isRight = all.every(({ up, revision }) => up && (revision === image || revision.startsWith(`${wanted}-`)));
      if (!isRight) return false;
    }
    return true;
  }

  #delete(situation?: string): void {
    if (this.#people.isDeleted) return;
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
    const { ending, workload, explicit } = this.#scenario;
    const left: string[] = [];
    for (const { resource, object } of this.#ground.hub.snapshot().objects) {
      const { metadata } = object;
      const isOurs = OWN_LABELS.some((label) => metadata.labels?.[label] !== undefined);
      // Without the hold Karmada would render the template at once: it is kept, and freed, while the template stands.
      const isKeptHold = resource === "policy.karmada.io/overridepolicies" && !explicit;
      if (resource === "apps.karmada.io/crossclusterledgers" || (isOurs && !isKeptHold)) {
        left.push(`${resource} ${metadata.namespace}/${metadata.name}`);
      }
    }
    if (ending === "Teardown") {
      for (const [name, member] of this.#ground.members) {
        if (member.hasObject()) left.push(`${name}: ${workload.kind}`);
        if (member.instances.size > 0) left.push(`${name}: ${member.instances.size} instances`);
      }
    }
    if (left.length > 0) this.#world.violated("nothing is left behind", `after a ${ending}: ${left.join(", ")}`);
    else this.#reach.count(ending === "Teardown" ? "nothing left after a teardown" : "nothing left after a release");
  }
}

function holderOf(lease: JsonObject): string | undefined {
  const { spec } = lease as { spec?: { holderIdentity?: string } };
  return spec?.holderIdentity?.split("_")[0];
}

/** Builds what the controller stands on, once somebody is there to witness it. */
async function groundFor(
  world: World,
  hub: SimProcess,
  scenario: Scenario,
  { image, tier, definitions = [] }: RunOptions,
): Promise<(witness: Witness) => Ground> {
  if (tier === "full") return (witness) => new FullGround(world, scenario, hub, image.schemas, witness);
  const server = await image.boot(hub.clock, scenario.seed, scenario.clusters, definitions);
  return (witness) => new LeanGround(world, scenario, server, witness);
}

function rulesOf({ workload, spec, protocol, replicas }: Scenario, tier: Tier): Rules {
  const { rollingUpdate } = (spec.updateStrategy ?? {}) as { rollingUpdate?: { maxUnavailable?: unknown } };
  const { maxUnavailable = 1 } = rollingUpdate ?? {};
  const total = Object.values(replicas).reduce((sum, count) => sum + count, 0);
  return {
    kind: workload.kind,
    quorum: spec.quorum === "None" ? "None" : "Majority",
    isOrdered: spec.podManagementPolicy !== "Parallel",
    maxUnavailable:
      typeof maxUnavailable === "number"
        ? maxUnavailable
        : Math.ceil((Number.parseFloat(`${maxUnavailable}`) * total) / 100),
    failoverAfterMs: FAILOVER_AFTER_S * 1000,
    globalOrdinals: protocol !== "ignorant",
    revisionOf: tier === "full" ? imageOf : revisionOf,
    tearsDown: false,
    desired: new Map(Object.entries(replicas)),
    confirmedDrain: new Set(),
  };
}
