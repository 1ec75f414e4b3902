import type { Commit, KubeObject } from "../../apiserver/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import type { Reach } from "../reach.ts";
import type { TrueMember } from "../truth.ts";
import type { World } from "../world.ts";
import type { Grants } from "./grants.ts";
import type { Rules } from "./rules.ts";

/** A controller may not have heard yet of a cluster that has just turned not Ready, or Ready again. */
export const HEARD_OF_MS = 25_000;
/** A cluster is away as soon as it cannot be read; its Ready condition says so up to this much later. */
const HEARD_OF_LOSS_MS = 14_000;

/** Which clusters are, were and may have been lost. */
export class FleetRecord {
  readonly #world: World;
  readonly #rules: Rules;
  readonly #reach: Reach;
  readonly #grants: Grants;
  readonly #members: ReadonlyMap<string, TrueMember>;
  readonly #notReadySinceMs = new Map<string, number>();
  readonly #returned = new Set<string>();
  /** When a lost cluster was Ready again. */
  readonly #backMs = new Map<string, number>();
  readonly #left = new Set<string>();
  readonly #unheard: { readonly fromMs: number; readonly toMs: number }[] = [];
  /** [S5] While it was lost others went on without it; what it was granted before, it does until it is whole again. */
  readonly #wasLost = new Set<string>();

  constructor(world: World, rules: Rules, reach: Reach, grants: Grants, members: ReadonlyMap<string, TrueMember>) {
    this.#world = world;
    this.#rules = rules;
    this.#reach = reach;
    this.#grants = grants;
    this.#members = members;
  }

  notReadySinceMs(name: string): number | undefined {
    return this.#notReadySinceMs.get(name);
  }

  /** It came back after it was lost: nothing of it may be deleted without a person's word. */
  hasReturned(name: string): boolean {
    return this.#returned.has(name);
  }

  hasLeft(name: string): boolean {
    return this.#left.has(name);
  }

  /** Lockstep counts from when it could not be read any more; its Ready condition says so up to this much later. */
  isLost({ name }: TrueMember): boolean {
    const sinceMs = this.#notReadySinceMs.get(name);
    if (this.#left.has(name)) return true;
    return sinceMs !== undefined && this.#awayMs(sinceMs) >= this.#rules.failoverAfterMs - HEARD_OF_LOSS_MS;
  }

  /** [Q5] A lost cluster does what it was granted before the loss when it is back, whatever others were allowed meanwhile. */
  actsFromBefore(member: TrueMember): boolean {
    const backMs = this.#backMs.get(member.name);
    return this.isLost(member) || (backMs !== undefined && (this.#grants.of(member.name)?.sinceMs ?? 0) < backMs);
  }

  /** [Q5] Down for what was before its return; and that it was lost was the last that anybody knew when the turn was given. */
  wasLostWithIt(member: TrueMember, downSinceMs: number, turnMs: number): boolean {
    const backMs = this.#backMs.get(member.name);
    if (backMs === undefined || turnMs >= backMs + HEARD_OF_MS) return false;
    return downSinceMs < backMs || this.actsFromBefore(member);
  }

  mayHaveBeenLost(member: TrueMember): boolean {
    return this.#wasLost.has(member.name) || this.isLost(member);
  }

  committed(type: Commit["type"], object: KubeObject): void {
    const { name } = object.metadata;
    if (type === "DELETED") {
      this.#left.add(name);
      return;
    }
    const sinceMs = this.#notReadySinceMs.get(name);
    if (!isReady(object)) {
      if (sinceMs === undefined) this.#notReadySinceMs.set(name, this.#world.nowMs);
      return;
    }
    this.#notReadySinceMs.delete(name);
    this.noteWhole(name);
    if (sinceMs === undefined) return;
    if (this.#awayMs(sinceMs) >= this.#rules.failoverAfterMs - HEARD_OF_LOSS_MS) {
      this.#wasLost.add(name);
      this.#backMs.set(name, this.#world.nowMs);
    }
    // With clocks that are wrong nobody can tell whether it was declared lost.
    if (this.#rules.clocksWrong || this.#seenAwayMs(sinceMs) < this.#rules.failoverAfterMs + HEARD_OF_MS) return;
    this.#reach.count("a lost cluster returns");
    // What was being drained when it was lost goes on being drained.
    if (this.#grants.replicas(name) > 0) this.#returned.add(name);
  }

  /** Whoever changes the size of a cluster that is there speaks about the cluster as it is now: it is as any other. */
  resized(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): void {
    for (const cluster of [...this.#returned]) {
      if (before.get(cluster) !== after.get(cluster) && !this.#notReadySinceMs.has(cluster))
        this.#returned.delete(cluster);
    }
  }

  /** A cluster that was lost is as any other again once it is Ready and has all that it was granted. */
  noteWhole(name: string): void {
    const member = this.#members.get(name);
    if (!member || !this.#wasLost.has(name) || this.#notReadySinceMs.has(name)) return;
    const instances = [...member.instances.values()];
    const isWhole = instances.length === this.#grants.replicas(name) && instances.every(({ up }) => up);
    if (isWhole && member.live?.epoch === this.#grants.of(name)?.epoch) this.#wasLost.delete(name);
  }

  /** While the hub is down nobody hears of anything. */
  hubDown(isDown: boolean): void {
    if (isDown) this.#unheard.push({ fromMs: this.#world.nowMs, toMs: Number.POSITIVE_INFINITY });
    else this.#unheard.push({ fromMs: this.#unheard.pop()?.fromMs ?? 0, toMs: this.#world.nowMs });
  }

  /** How long whoever watches the hub has seen it away. */
  #seenAwayMs(sinceMs: number): number {
    const { nowMs } = this.#world;
    let seenMs = nowMs - sinceMs;
    for (const { fromMs, toMs } of this.#unheard) {
      seenMs -= Math.max(0, Math.min(toMs, nowMs) - Math.max(fromMs, sinceMs));
    }
    return seenMs;
  }

  /** With clocks that are wrong, any absence may have been a long one. */
  #awayMs(sinceMs: number): number {
    return this.#rules.clocksWrong ? Number.POSITIVE_INFINITY : this.#world.nowMs - sinceMs;
  }
}

function isReady({ status }: KubeObject): boolean {
  const conditions = isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions : [];
  return conditions.filter(isJsonObject).some((one) => one.type === "Ready" && one.status === "True");
}
