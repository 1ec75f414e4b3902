import type { Reach } from "../seed/reach.ts";
import type { Instance, TrueMember } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import type { FleetRecord } from "./fleet.ts";
import type { Given, Grants } from "./grants.ts";
import type { Rules } from "./rules.ts";

/** From a decision until the hub stores it: the slowest network of this world, there and back, twice. */
const DECIDED_BEFORE_MS = 30_000;
/** A state that has lasted this long must have been known at the decision: longer than any delay of the world. */
const KNOWN_BY_ALL_MS = 60_000;

export interface OrderPropertiesOptions {
  readonly world: World;
  readonly rules: Rules;
  readonly reach: Reach;
  readonly grants: Grants;
  readonly fleet: FleetRecord;
  readonly members: ReadonlyMap<string, TrueMember>;
  readonly leader: () => { readonly cluster: string; readonly ordinal: number } | undefined;
}

/** What must hold for the order: windows, the leader's cluster last, and no restarts with OnDelete. */
export class OrderProperties {
  readonly #options: OrderPropertiesOptions;
  readonly #everGiven = new Map<string, Set<string>>();
  #leads: { readonly cluster: string; readonly sinceMs: number } | undefined;
  /** When each cluster last had something down. */
  readonly #troubledMs = new Map<string, number>();

  constructor(options: OrderPropertiesOptions) {
    this.#options = options;
  }

  /** After every event: which instance leads, and since when. */
  look(): void {
    const { leader, world } = this.#options;
    const cluster = leader()?.cluster;
    if (cluster === this.#leads?.cluster) return;
    this.#leads = cluster === undefined ? undefined : { cluster, sinceMs: world.nowMs };
  }

  granted(cluster: string, given: Given, before: Given | undefined): void {
    const { rules, reach } = this.#options;
    const known = this.#everGiven.get(cluster) ?? new Set();
    const mayAct = rules.readsTurns ? given.processor : !rules.onDelete;
    const isUpdate = before !== undefined && before.replicas > 0 && mayAct && given.revision !== before.revision;
    // Windows do not apply to rollbacks, or to repeating an earlier grant.
    if (isUpdate && !known.has(given.revision)) {
      this.#checkWindow(cluster, given);
      this.#checkLeaderLast(cluster, given);
    }
    if (rules.onDelete && before !== undefined && given.revision !== before.revision)
      reach.count("OnDelete grants a revision");
    const isExtra = given.replicas > (before?.replicas ?? 0) && given.replicas > (rules.desired.get(cluster) ?? 0);
    if (rules.replaces && isExtra) reach.count("lost instances are replaced");
    known.add(given.revision);
    this.#everGiven.set(cluster, known);
  }

  goesDown(member: TrueMember, instance: Instance): void {
    const { rules, world } = this.#options;
    this.#troubledMs.set(member.name, world.nowMs);
    if (!rules.onDelete || instance.downBy !== "update") return;
    world.violated("OnDelete restarts nothing", `${member.name} takes ${instance.ordinal} down for an update`);
  }

  #checkWindow(cluster: string, { revision }: Given): void {
    const { rules, world, reach } = this.#options;
    if (!rules.windows || rules.clocksWrong) return;
    reach.count("updates respect their windows");
    const { everyMs, openMs } = rules.windows;
    const sinceOpeningMs = world.nowMs % everyMs;
    if (sinceOpeningMs <= openMs + DECIDED_BEFORE_MS) return;
    const what = `${cluster} was given ${revision} ${sinceOpeningMs} ms after a window opened for ${openMs} ms`;
    world.violated("updates respect their windows", what);
  }

  /** [L2] Only if it is beyond doubt: the leader has long been known, and all clusters have long been healthy. */
  #checkLeaderLast(cluster: string, { revision }: Given): void {
    const { rules, world, reach, members, grants } = this.#options;
    const longAgoMs = world.nowMs - KNOWN_BY_ALL_MS;
    if (!rules.leaderLast || this.#leads?.cluster !== cluster || this.#leads.sinceMs > longAgoMs) return;
    if ([...members.values()].some((member) => !this.#hasBeenWell(member, longAgoMs))) return;
    reach.count("the leader's cluster goes last");
    const waiting = [...members.keys()].filter((other) => {
      const given = grants.of(other);
      return other !== cluster && given !== undefined && given.replicas > 0 && given.revision !== revision;
    });
    if (waiting.length === 0) return;
    const what = `${cluster} leads and was given ${revision} before ${waiting.join(", ")}`;
    world.violated("the leader's cluster goes last", what);
  }

  #hasBeenWell(member: TrueMember, sinceMs: number): boolean {
    const { fleet, rules } = this.#options;
    if (member.dishonest || fleet.mayHaveBeenLost(member) || fleet.notReadySinceMs(member.name) !== undefined)
      return false;
    if ((rules.desired.get(member.name) ?? 0) !== member.instances.size) return false;
    if ([...member.instances.values()].some(({ up }) => !up)) return false;
    return (this.#troubledMs.get(member.name) ?? 0) <= sinceMs;
  }
}
