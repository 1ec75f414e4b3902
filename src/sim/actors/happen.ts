import type { Properties } from "../properties/properties.ts";
import type { Rules } from "../properties/rules.ts";
import { FAILOVER_AFTER_S } from "../seed/app.ts";
import type { Happening } from "../seed/happenings.ts";
import type { Reach } from "../seed/reach.ts";
import type { Scenario } from "../seed/scenario.ts";
import type { Ground } from "../world/ground.ts";
import type { Climate } from "../world/weather.ts";
import type { World } from "../world/world.ts";
import type { Controllers } from "./controllers.ts";
import type { People } from "./people.ts";
import type { SimProcess } from "./process.ts";

export interface Cast {
  readonly world: World;
  readonly scenario: Scenario;
  readonly ground: Ground;
  readonly people: People;
  readonly controllers: Controllers;
  readonly climate: Climate;
  readonly reach: Reach;
  readonly rules: Rules;
  readonly properties: Properties;
}

/** What only users do, and only to an existing object. */
const BY_PEOPLE: readonly Happening["kind"][] = [
  "edit",
  "scale",
  "drain",
  "pause",
  "resume",
  "undo",
  "restart",
  "confirm lost",
  "give up",
  "delete works",
  "tear off",
  "rival",
];

/** Carries out the events of the scenario. */
export class Happenings {
  readonly #cast: Cast;
  readonly left = new Set<string>();
  /** Clusters of which a user deleted dispatch objects that keep what they delivered. */
  readonly torn = new Set<string>();
  wasLiedTo = false;
  #holder: string | undefined;
  #followsLease = false;
  /** What users do once the hub can be reached again. */
  #deferred: Happening[] = [];

  constructor(cast: Cast) {
    this.#cast = cast;
  }

  happen(happening: Happening): void {
    const { world, scenario, people, climate } = this.#cast;
    if (world.nowMs >= scenario.calmAtMs || people.isDeleted) return;
    if (BY_PEOPLE.includes(happening.kind)) {
      if (!people.hasObject) return;
      if (climate.hubIsDown) {
        this.#deferred.push(happening);
        return;
      }
    }
    const { cluster = "" } = happening as { cluster?: string };
    const label = happening.kind + (cluster === "" ? "" : ` ${cluster}`);
    world.note("FAULT", label, () => JSON.stringify(happening));
    this.#toControllers(happening);
    this.#toClusters(happening, cluster);
    this.#toAgents(happening, cluster);
    this.#byPeople(happening, cluster);
  }

  #forAWhile({ kind }: Happening, durationMs: number, end: () => void): void {
    const { world, scenario } = this.#cast;
    world.after(durationMs, `end of ${kind}`, () => {
      if (world.nowMs < scenario.calmAtMs) end();
    });
  }

  #toControllers(happening: Happening): void {
    const { climate, reach, controllers, rules, ground, properties, people } = this.#cast;
    switch (happening.kind) {
      case "crash at write":
        climate.crashes.push({ write: climate.writes + happening.write, point: happening.point });
        return;
      case "pause at write":
        climate.pauses.push({ write: climate.writes + happening.write, forMs: happening.forMs });
        return;
      case "flaky":
        climate.flakyRate = happening.rate;
        this.#forAWhile(happening, happening.forMs, () => {
          climate.flakyRate = 0;
        });
        return;
      case "slow":
        reach.count("slow");
        climate.latencyMs = happening.latencyMs;
        this.#forAWhile(happening, happening.forMs, () => {
          climate.latencyMs = 0;
        });
        return;
      case "stale":
        reach.count("stale views");
        climate.lagMs = happening.lagMs;
        this.#forAWhile(happening, happening.forMs, () => {
          climate.lagMs = 0;
        });
        return;
      case "stale lists":
        climate.hasStaleLists = true;
        this.#forAWhile(happening, happening.forMs, () => {
          climate.hasStaleLists = false;
        });
        return;
      case "drop watches":
        reach.count("watches dropped", controllers.dropWatches());
        return;
      case "hub down":
        if (this.#isStepping) reach.count("the hub is down during a step");
        climate.hubIsDown = true;
        ground.hubDown(true);
        properties.hubDown(true);
        people.hubDown(true);
        controllers.dropWatches();
        this.#forAWhile(happening, happening.forMs, () => this.hubIsBack());
        return;
      case "pause leader": {
        const leader = controllers.processes.find(({ name }) => name === this.#leaseHolder());
        if (leader) this.pause(leader, happening.forMs, happening.clockStands);
        return;
      }
      case "clock jump":
        reach.count("clock jump");
        rules.clocksWrong = true;
        for (const process of controllers.processes) process.jumpWall(happening.byMs);
        return;
      default:
    }
  }

  hubIsBack(): void {
    const { climate, ground, properties, people } = this.#cast;
    if (!climate.hubIsDown) return;
    climate.hubIsDown = false;
    ground.hubDown(false);
    properties.hubDown(false);
    people.hubDown(false);
    for (const happening of this.#deferred.splice(0)) this.happen(happening);
  }

  #toClusters(happening: Happening, cluster: string): void {
    const { ground, reach, rules } = this.#cast;
    const member = ground.members.get(cluster);
    if (!member || this.left.has(cluster)) return;
    switch (happening.kind) {
      case "cut":
        reach.count(happening.forMs > 1000 * FAILOVER_AFTER_S + 30_000 ? "member lost" : "member disconnected");
        ground.cut(cluster);
        this.#forAWhile(happening, happening.forMs, () => {
          ground.mend(cluster);
          // An agent that died meanwhile starts again with its connection.
          this.agentReturns(cluster);
        });
        return;
      case "leave":
        reach.count("a cluster leaves the fleet");
        this.left.add(cluster);
        ground.leave(cluster);
        return;
      case "evict":
        if (!ground.evict(cluster)) return;
        reach.count("the application removes lost members");
        rules.evicted.add(cluster);
        return;
      case "stall":
        reach.count("operator stalls");
        member.stall(true);
        this.#forAWhile(happening, happening.forMs, () => member.stall(false));
        return;
      case "dishonest":
        if (!member.misbehave()) return;
        reach.count("an operator violates the contract");
        this.wasLiedTo = true;
        this.#forAWhile(happening, happening.forMs, () => member.behave());
        return;
      case "tamper":
        if (member.tamper()) reach.count("annotations tampered with");
        return;
      case "fail":
        if (member.fail(happening.forMs)) reach.count("instance fails");
        return;
      case "hang":
        if (member.hang(happening.forMs)) reach.count("instance hangs in termination");
        return;
      case "delete one":
        if (member.deleteOne(() => true)) reach.count("a user deletes an instance");
        return;
      default:
    }
  }

  #toAgents(happening: Happening, cluster: string): void {
    const { ground, reach, properties, world } = this.#cast;
    const { agents } = ground;
    if (!agents || this.left.has(cluster)) return;
    switch (happening.kind) {
      case "agent dies":
        if (happening.workOnly) reach.count("a work agent dies, and its cluster stays available");
        agents.die(cluster, happening.workOnly);
        if (!agents.isReadDirectly(cluster)) properties.silent(cluster, true);
        this.#forAWhile(happening, happening.forMs, () => this.agentReturns(cluster));
        return;
      case "tear off":
        this.torn.add(cluster);
        void agents.tearOff(cluster).then((some) => {
          if (some) reach.count("a finalizer is torn off");
        });
        return;
      case "rival":
        if (!agents.rival(cluster, happening.forMs)) return;
        world.note("USER", `dispatches the same object to ${cluster}`);
        reach.count("two works on one object");
        return;
      default:
    }
  }

  agentReturns(cluster: string): void {
    const { ground, properties } = this.#cast;
    if (this.left.has(cluster)) return;
    ground.agents?.return(cluster);
    properties.silent(cluster, false);
  }

  #byPeople(happening: Happening, cluster: string): void {
    const { people, reach } = this.#cast;
    switch (happening.kind) {
      case "edit":
        if (this.#isStepping) reach.count("edit during a step");
        if (happening.image.includes("broken")) reach.count("broken revision");
        people.edit(happening.image);
        return;
      case "scale":
        if (this.#isStepping) reach.count("scale during a step");
        people.scale(cluster, happening.by);
        return;
      case "drain":
        if (this.#isStepping) reach.count("scale during a step");
        people.drain(cluster);
        return;
      case "pause":
        reach.count("pause");
        people.setPaused(true);
        return;
      case "resume":
        people.setPaused(false);
        return;
      case "undo":
        reach.count("undo");
        people.undo();
        return;
      case "restart":
        reach.count("restart");
        people.restart();
        return;
      case "confirm lost":
        reach.count("a user confirms a loss");
        people.confirmLost(cluster);
        return;
      case "give up":
        reach.count("a lost cluster is given up");
        people.giveUp(cluster);
        return;
      case "delete works":
        if (this.#cast.ground.agents) this.torn.add(cluster);
        if (people.deleteWorks(cluster, happening.all)) reach.count("a user deletes a Work");
        return;
      default:
    }
  }

  /** A stalled process does not notice that it is stalled, if its clock also stops. */
  pause(process: SimProcess, forMs: number, clockStands: boolean): void {
    const { world, reach } = this.#cast;
    if (process.isPaused) return;
    reach.count("leader paused");
    world.note(process.name, "is paused", () => (clockStands ? "its clock stops" : "its clock runs"));
    this.#leaseHolder();
    process.pause(clockStands);
    world.after(forMs, "wakes up", () => {
      if (!process.isAlive || !process.isPaused) return;
      const beside = this.#leaseHolder() !== process.name;
      world.note(process.name, "wakes up", () => (beside ? "next to a new leader" : ""));
      if (beside) reach.count("a paused leader resumes next to a new one");
      process.resume();
    });
  }

  /** A leader that can act: the status may come from one that has died since. */
  get leader(): string | undefined {
    const holder = this.#leaseHolder();
    return this.#cast.controllers.processes.find(({ name, isPaused }) => name === holder && !isPaused)?.name;
  }

  get #isStepping(): boolean {
    return this.#cast.people.status.step !== undefined;
  }

  #leaseHolder(): string | undefined {
    if (!this.#followsLease) {
      this.#followsLease = true;
      const { hub } = this.#cast.ground;
      for (const { resource, object } of hub.snapshot().objects) {
        if (resource.endsWith("/leases")) this.#holder = holderOf(object);
      }
      hub.onCommit(({ key, object }) => {
        if (key.resource.endsWith("/leases")) this.#holder = holderOf(object);
      });
    }
    return this.#holder;
  }
}

function holderOf(lease: object): string | undefined {
  const { spec } = lease as { spec?: { holderIdentity?: string } };
  return spec?.holderIdentity?.split("_")[0];
}
