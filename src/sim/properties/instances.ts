import type { Reach } from "../seed/reach.ts";
import type { DownCause, Instance, TrueMember, Witness } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import type { FleetRecord } from "./fleet.ts";
import type { Grants } from "./grants.ts";
import type { OrderProperties } from "./order.ts";
import type { Rules } from "./rules.ts";

/** A failure that lasted this long before a turn was given must have been seen: longer than any delay of the world. */
const SEEN_BY_ALL_MS = 60_000;

export interface InstancePropertiesOptions {
  readonly world: World;
  readonly rules: Rules;
  readonly reach: Reach;
  readonly grants: Grants;
  readonly fleet: FleetRecord;
  readonly order: OrderProperties;
  readonly members: ReadonlyMap<string, TrueMember>;
}

/** What must hold for the instances in their real state. */
export class InstanceProperties implements Witness {
  readonly #options: InstancePropertiesOptions;
  /** When the last of a cluster's instances came up: since then it has been whole, unless one is down now. */
  readonly #wholeSinceMs = new Map<string, number>();
  readonly #generations = new Map<string, number>();
  #isManaged: () => boolean = () => true;
  #isAdopted = false;

  constructor(options: InstancePropertiesOptions) {
    this.#options = options;
  }

  /** Until then, running instances are not Lockstep's: the engine rendered them by itself. */
  managedFrom(isManaged: () => boolean): void {
    this.#isManaged = isManaged;
    this.#isAdopted = true;
  }

  applied(member: TrueMember, kind: string, name: string, spec: unknown): void {
    const { world, rules, reach, grants } = this.#options;
    if (kind !== rules.kind) return;
    world.note(member.name, "has got its object", () => `epoch ${member.live?.epoch}`);
    reach.count("a grant arrives");
    this.#checkStillness(member);
    if (grants.hasSpec(member.name, spec)) return;
    const what = `${member.name} has ${kind} ${name} without a grant`;
    world.violated("no member runs what it was not granted", what);
  }

  starts(member: TrueMember, instance: Instance): void {
    const { world, rules, reach, grants, members } = this.#options;
    const { ordinal, revision } = instance;
    world.note(member.name, `instance ${ordinal} starts`, () => revision);
    if (!this.#isManaged()) return;
    if (!grants.hasRevision(member.name, revision)) {
      const what = `${member.name} runs ${revision} as instance ${ordinal}`;
      world.violated("no member runs what it was not granted", what);
    }
    if (rules.globalOrdinals) {
      for (const other of members.values()) {
        if (other === member || !other.instances.has(ordinal)) continue;
        world.violated("ordinals are unique", `${ordinal} runs in ${member.name} and in ${other.name}`);
      }
    }
    reach.count("ordinals are unique");
    if (!instance.joined) this.#checkAdopted(member, instance);
    if (!instance.joined && !grants.isFounder(member, instance)) this.#checkMembership(member, instance, "joins");
  }

  up(member: TrueMember, { ordinal }: Instance): void {
    const { world, fleet } = this.#options;
    world.note(member.name, `instance ${ordinal} is up`);
    if ([...member.instances.values()].every(({ up }) => up)) this.#wholeSinceMs.set(member.name, world.nowMs);
    fleet.noteWhole(member.name);
  }

  goesDown(member: TrueMember, instance: Instance, cause: DownCause): void {
    const { world, rules, order, fleet, reach } = this.#options;
    world.note(member.name, `instance ${instance.ordinal} goes down`, () => `(${cause})`);
    if (!this.#isManaged()) return;
    // What the engine rendered by itself, before there was a hold, is not Lockstep's action.
    const isEngines = cause === "update" && member.live !== undefined && member.live.epoch < 0;
    if (!isEngines) order.goesDown(member, instance);
    if (cause === "accident" || member.dishonest || rules.tearsDown || fleet.hasLeft(member.name)) return;
    if (rules.still) world.violated(rules.still.name, `${member.name} takes ${instance.ordinal} down`);
    if (isEngines) return;
    if (this.isHubDown) reach.count("members continue while the hub is down");
    this.#checkQuorum(member, instance);
    if (cause === "update") this.#checkBudget(member, instance);
    else this.#checkMembership(member, instance, "leaves");
  }

  isHubDown = false;

  gone(member: TrueMember, instance: Instance): void {
    const { world, grants, fleet, rules } = this.#options;
    world.note(member.name, `instance ${instance.ordinal} is gone`);
    if (instance.downBy === "removal") grants.removed(member, instance);
    if (member.instances.size === 0) rules.evicted.delete(member.name);
    fleet.noteWhole(member.name);
  }

  deleted(member: TrueMember, kind: string, name: string): void {
    const { world, rules } = this.#options;
    if (kind !== rules.kind) return;
    world.note(member.name, "its object is deleted", () => name);
    if (rules.still) world.violated(rules.still.name, `${member.name}'s object was deleted`);
    const left = [...member.instances.values()].filter(({ state }) => state !== "terminating").length;
    if (left > 0 && !member.dishonest)
      world.violated("drained before it is removed", `${member.name} was removed with ${left} instances`);
  }

  /** A write of annotations alone does not change the generation. */
  #checkStillness(member: TrueMember): void {
    const { world, rules } = this.#options;
    const generation = member.live?.generation ?? 0;
    const before = this.#generations.get(member.name);
    this.#generations.set(member.name, generation);
    if (!rules.still || (rules.still.allowsAnnotations && before === generation)) return;
    const what = `${member.name}'s object was written: generation ${before} to ${generation}`;
    world.violated(rules.still.name, what);
  }

  leaderMoved(): void {
    this.#options.reach.count("the leader is asked to move, and does");
  }

  /**
   * [D10] Running instances that were not adopted yet may be a part of the same application: nothing new starts next to
   * them.
   */
  #checkAdopted(member: TrueMember, instance: Instance): void {
    const { world, reach, members, fleet, grants } = this.#options;
    // Once the ledger grants it what it runs, its votes count, wherever that grant is now.
    const isForeign = ({ name, live, instances }: TrueMember) =>
      live !== undefined && live.epoch < 0 && instances.size > 0 && !grants.counts(name);
    if (!this.#isAdopted || isForeign(member)) return;
    reach.count("nothing starts next to what was not adopted");
    for (const other of members.values()) {
      if (!isForeign(other) || other.dishonest || fleet.hasLeft(other.name) || this.#isGivenUp(other)) continue;
      const what = `${member.name} starts ${instance.ordinal} beside ${other.name}, which was not adopted`;
      world.violated("nothing starts next to what was not adopted", what);
    }
  }

  /** By Lockstep's own action: failures that could not have been seen in time do not count. */
  #checkQuorum(member: TrueMember, instance: Instance): void {
    const { world, rules, reach } = this.#options;
    if (rules.quorum === "None") return;
    reach.count("never below the majority");
    const all = this.#countDown(instance, () => true);
    // [C4] [C7] An instance that was given up votes no longer, or votes again: whichever leaves room.
    const others = this.#countDown(instance, (other) => !this.#isGivenUp(other));
    if (all.ownDown > 1) reach.count("two down at once by own action");
    if (this.#isGivenUp(member) || [all, others].some(({ ownDown, spare }) => ownDown <= spare)) return;
    const { ownDown, voters } = all;
    const what = `${member.name} takes ${instance.ordinal} down: ${ownDown} of ${voters} voters are down by own action`;
    world.violated("never below the majority", what);
  }

  #isGivenUp({ name }: TrueMember): boolean {
    const { confirmedLost, evicted } = this.#options.rules;
    return confirmedLost.has(name) || evicted.has(name);
  }

  #countDown(instance: Instance, counts: (member: TrueMember) => boolean) {
    const { grants, fleet, members } = this.#options;
    let ownDown = 1;
    let voters = 0;
    for (const other of members.values()) {
      if (!counts(other)) continue;
      voters += Math.max(grants.replicas(other.name), other.instances.size);
      if (other.dishonest || fleet.hasLeft(other.name)) continue;
      for (const each of other.instances.values()) {
        if (each !== instance && !each.up && (each.downBy === "update" || each.downBy === "removal")) ownDown++;
      }
    }
    const spare = voters <= 2 ? 1 : voters - (Math.floor(voters / 2) + 1);
    return { ownDown, voters, spare };
  }

  #checkBudget(member: TrueMember, instance: Instance): void {
    const { world, rules, reach, grants, fleet, members } = this.#options;
    if (this.#isGivenUp(member) || fleet.actsFromBefore(member)) return;
    const turnMs = grants.of(member.name)?.sinceMs ?? 0;
    const wholeMs = this.#wholeBefore(member, instance);
    let down = 1;
    for (const other of members.values()) {
      if (other.dishonest || fleet.isLost(other) || this.#isGivenUp(other)) continue;
      for (const each of other.instances.values()) {
        if (each === instance || each.up || !each.joined) continue;
        if (fleet.wasLostWithIt(other, each.downSinceMs, turnMs)) continue;
        const own = each.downBy === "update";
        const seen =
          other !== member && wholeMs <= turnMs - SEEN_BY_ALL_MS && each.downSinceMs <= turnMs - SEEN_BY_ALL_MS;
        if (seen && !own) reach.count("an unplanned failure counts against the budget");
        if (own || seen) down++;
      }
    }
    reach.count("never more than maxUnavailable");
    if (down <= rules.maxUnavailable) return;
    const what = `${member.name} takes ${instance.ordinal} down: ${down} down, maxUnavailable ${rules.maxUnavailable}`;
    world.violated("never more than maxUnavailable", what);
  }

  #checkMembership(member: TrueMember, instance: Instance, what: "joins" | "leaves"): void {
    const { world, rules, reach, grants, fleet, members } = this.#options;
    const { quorum, isOrdered, tearsDown } = rules;
    if (tearsDown || member.dishonest || (quorum === "None" && !isOrdered)) return;
    if (fleet.mayHaveBeenLost(member)) return;
    reach.count("one membership change at a time");
    const others: string[] = [];
    for (const other of members.values()) {
      if (other.dishonest || fleet.mayHaveBeenLost(other)) continue;
      // [C14] Instances that were given up are not voters, and leave together.
      if (other === member && what === "leaves" && this.#isGivenUp(member)) continue;
      for (const each of other.instances.values()) {
        if (each === instance) continue;
        const joins = !each.joined && !grants.isFounder(other, each);
        const changing = joins || (each.state === "terminating" && each.downBy === "removal");
        if (changing) others.push(`${other.name}/${each.ordinal}`);
      }
    }
    if (others.length === 0) return;
    const told = `${member.name}/${instance.ordinal} ${what} beside ${others.join(", ")}`;
    world.violated("one membership change at a time", told);
  }

  #wholeBefore(member: TrueMember, instance: Instance): number {
    const others = [...member.instances.values()].filter((each) => each !== instance);
    if (others.some(({ up }) => !up)) return Number.POSITIVE_INFINITY;
    return this.#wholeSinceMs.get(member.name) ?? 0;
  }
}
