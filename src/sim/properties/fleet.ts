import type { Commit, KubeObject } from "../../apiserver/index.ts";
import type { Reach } from "../seed/reach.ts";
import type { TrueMember } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import type { Grants } from "./grants.ts";
import type { Rules } from "./rules.ts";

/** A controller may not know yet that a cluster has just become not Ready, or Ready again. */
export const HEARD_OF_MS = 25_000;
/** A cluster is unreachable as soon as it cannot be read; its Ready condition changes up to this much later. */
const HEARD_OF_LOSS_MS = 14_000;
/** Reports that are older than this prove nothing, and the next question for a sign of life is due. */
const REPORTS_AGE_MS = 60_000;
/** The last report may be this much older than the silence: then the cluster is lost as soon as that is noticed. */
const SILENT_AND_LOST_MS = 15_000;

export interface FleetRecordOptions {
  readonly world: World;
  readonly rules: Rules;
  readonly reach: Reach;
  readonly grants: Grants;
  readonly members: ReadonlyMap<string, TrueMember>;
  readonly isReady: (cluster: KubeObject) => boolean;
}

/** Which clusters are, were and may have been lost. */
export class FleetRecord {
  readonly #world: World;
  readonly #rules: Rules;
  readonly #reach: Reach;
  readonly #grants: Grants;
  readonly #members: ReadonlyMap<string, TrueMember>;
  readonly #isReady: FleetRecordOptions["isReady"];
  readonly #notReadySinceMs = new Map<string, number>();
  readonly #returned = new Set<string>();
  /** When a lost cluster was Ready again. */
  readonly #backMs = new Map<string, number>();
  readonly #silentSinceMs = new Map<string, number>();
  readonly #left = new Set<string>();
  readonly #hubOutages: { readonly fromMs: number; readonly toMs: number }[] = [];
  /** [S5] While it was lost, others continued without it; it carries out its earlier grants until it is whole again. */
  readonly #wasLost = new Set<string>();

  constructor({ world, rules, reach, grants, members, isReady }: FleetRecordOptions) {
    this.#world = world;
    this.#rules = rules;
    this.#reach = reach;
    this.#grants = grants;
    this.#members = members;
    this.#isReady = isReady;
  }

  notReadySinceMs(name: string): number | undefined {
    return this.#notReadySinceMs.get(name);
  }

  /** It returned after it was lost: nothing of it may be deleted without a user's confirmation. */
  hasReturned(name: string): boolean {
    return this.#returned.has(name);
  }

  hasLeft(name: string): boolean {
    return this.#left.has(name);
  }

  /** Lockstep counts from when it could no longer be read; its Ready condition changes up to this much later. */
  isLost({ name }: TrueMember): boolean {
    const sinceMs = this.#notReadySinceMs.get(name);
    const silentMs = this.#silentSinceMs.get(name);
    if (this.#left.has(name)) return true;
    if (silentMs !== undefined && this.#world.nowMs - silentMs >= SILENT_AND_LOST_MS) return true;
    return sinceMs !== undefined && this.#awayMs(sinceMs) >= this.#rules.failoverAfterMs - HEARD_OF_LOSS_MS;
  }

  /**
   * [Q5] When a lost cluster returns, it carries out what it was granted before the loss, regardless of what others
   * were allowed meanwhile.
   */
  actsFromBefore(member: TrueMember): boolean {
    const backMs = this.#backMs.get(member.name);
    return this.isLost(member) || (backMs !== undefined && (this.#grants.of(member.name)?.sinceMs ?? 0) < backMs);
  }

  /**
   * [Q5] Down because of something before its return; and when the turn was given, the last known state was that it was
   * lost.
   */
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
    if (!this.#isReady(object)) {
      if (sinceMs === undefined) this.#notReadySinceMs.set(name, this.#world.nowMs);
      return;
    }
    if (this.#silentSinceMs.has(name)) return;
    this.#ready(name, sinceMs);
  }

  /**
   * The agent of a cluster that is only known by its reports is gone, or back. The controller learns of it when the last
   * report is too old, whatever the cluster's own conditions say.
   */
  silent(name: string, isSilent: boolean): void {
    if (isSilent) {
      const sinceMs = this.#world.nowMs;
      this.#silentSinceMs.set(name, sinceMs);
      this.#world.after(REPORTS_AGE_MS, `silent ${name}`, () => {
        if (this.#silentSinceMs.get(name) !== sinceMs || this.#notReadySinceMs.has(name)) return;
        this.#notReadySinceMs.set(name, this.#world.nowMs);
      });
      return;
    }
    const silentMs = this.#silentSinceMs.get(name);
    if (silentMs === undefined) return;
    if (this.#world.nowMs - silentMs >= SILENT_AND_LOST_MS) {
      this.#wasLost.add(name);
      this.#backMs.set(name, this.#world.nowMs);
    }
    this.#silentSinceMs.delete(name);
    const sinceMs = this.#notReadySinceMs.get(name);
    if (sinceMs !== undefined) this.#ready(name, sinceMs);
  }

  #ready(name: string, sinceMs: number | undefined): void {
    this.#notReadySinceMs.delete(name);
    this.noteWhole(name);
    if (sinceMs === undefined) return;
    if (this.#awayMs(sinceMs) >= this.#rules.failoverAfterMs - HEARD_OF_LOSS_MS) {
      this.#wasLost.add(name);
      this.#backMs.set(name, this.#world.nowMs);
    }
    // With wrong clocks it is unknown whether it was declared lost.
    if (this.#rules.clocksWrong || this.#seenAwayMs(sinceMs) < this.#rules.failoverAfterMs + HEARD_OF_MS) return;
    this.#reach.count("a lost cluster returns");
    // A drain that was in progress when it was lost continues.
    if (this.#grants.replicas(name) > 0) this.#returned.add(name);
  }

  /** A user who changes the size of an existing cluster refers to the cluster as it is now: it is like any other. */
  resized(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): void {
    for (const cluster of [...this.#returned]) {
      if (before.get(cluster) !== after.get(cluster) && !this.#notReadySinceMs.has(cluster))
        this.#returned.delete(cluster);
    }
  }

  /** A cluster that was lost is like any other again once it is Ready and has everything that it was granted. */
  noteWhole(name: string): void {
    const member = this.#members.get(name);
    if (!member || !this.#wasLost.has(name) || this.#notReadySinceMs.has(name)) return;
    const instances = [...member.instances.values()];
    const isWhole = instances.length === this.#grants.replicas(name) && instances.every(({ up }) => up);
    if (isWhole && member.live?.epoch === this.#grants.of(name)?.epoch) this.#wasLost.delete(name);
  }

  /** While the hub is down, no process learns anything. */
  hubDown(isDown: boolean): void {
    if (isDown) this.#hubOutages.push({ fromMs: this.#world.nowMs, toMs: Number.POSITIVE_INFINITY });
    else this.#hubOutages.push({ fromMs: this.#hubOutages.pop()?.fromMs ?? 0, toMs: this.#world.nowMs });
  }

  /** How long the observers of the hub have seen it unreachable. */
  #seenAwayMs(sinceMs: number): number {
    const { nowMs } = this.#world;
    let seenMs = nowMs - sinceMs;
    for (const { fromMs, toMs } of this.#hubOutages) {
      seenMs -= Math.max(0, Math.min(toMs, nowMs) - Math.max(fromMs, sinceMs));
    }
    return seenMs;
  }

  /** With wrong clocks, any absence may count as a long one. */
  #awayMs(sinceMs: number): number {
    return this.#rules.clocksWrong ? Number.POSITIVE_INFINITY : this.#world.nowMs - sinceMs;
  }
}
