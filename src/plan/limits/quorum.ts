import type { Evidence } from "../../rollout/index.ts";
import { mayAct, viewIn } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName } from "../types/index.ts";

export function majorityOf(voters: number): number {
  return Math.floor(voters / 2) + 1;
}

/**
 * The arithmetic of one pass: what is ready, what may go down, what the next step may cost. Steps that the pass starts
 * are charged to it, so that two grants of one plan never spend the same instance.
 */
export class Tally {
  readonly #draft: Draft;
  /** [Q1] Instances granted and not confirmed removed, lost ones included. */
  voters = 0;
  ready = 0;
  /** [Q5] Members not ready, in clusters that are not lost. */
  unavailable = 0;
  readonly maxUnavailable: number;
  #pending = 0;
  readonly #pendingOf = new Map<ClusterName, number>();
  /** What turns that are out may take down if everything that is down by accident comes up again. */
  #own = 0;
  #ownLost = 0;
  readonly #ownOf = new Map<ClusterName, number>();

  constructor(draft: Draft, maxUnavailable: number) {
    this.#draft = draft;
    this.maxUnavailable = maxUnavailable;
    for (const cluster of draft.order) {
      const view = viewIn(draft, cluster);
      this.voters += view.voters;
      this.ready += view.ready;
      if (view.reach !== "lost") this.unavailable += view.unavailable;
      this.#pending += view.pending;
      if (view.pending > 0) this.#pendingOf.set(cluster, view.pending);
      const entry = draft.entry(cluster);
      const { grant } = entry;
      if (!grant || !mayAct(draft.intent, entry) || view.voters === 0) continue;
      const own = draft.intent.memberConcurrency === "Serial" ? 1 : grant.replicas - grant.partition;
      this.#ownOf.set(cluster, own);
      this.#own += own;
      if (view.reach === "lost") this.#ownLost += own;
    }
  }

  get pending(): number {
    return this.#pending;
  }

  get majority(): number {
    return majorityOf(this.voters);
  }

  /** [Q7] The majority is all: every restart stops the application for a moment. */
  get notFaultTolerant(): boolean {
    return this.voters > 0 && this.voters <= 2;
  }

  /** What the turn that the cluster holds may still take down. */
  pendingIn(cluster: ClusterName): number {
    return this.#pendingOf.get(cluster) ?? 0;
  }

  pendingElsewhere(cluster: ClusterName): number {
    return this.#pending - this.pendingIn(cluster);
  }

  /**
   * An update step starts in the cluster; what it already held is replaced by it. `own`: what it may replace in all at
   * one time. [Q5] From now on its joiners count as members: one that is not ready may come up before the operator acts.
   */
  charge(cluster: ClusterName, cost: number, own: number): void {
    const view = viewIn(this.#draft, cluster);
    this.unavailable += Math.max(0, view.voters - view.ready - view.unavailable);
    const held = this.#pendingOf.get(cluster) ?? 0;
    const charged = Math.max(held, cost);
    this.#pending += charged - held;
    this.#pendingOf.set(cluster, charged);
    const owned = this.#ownOf.get(cluster) ?? 0;
    this.#own += Math.max(owned, own) - owned;
    this.#ownOf.set(cluster, Math.max(owned, own));
  }

  /**
   * [Q14] A step that costs nothing, because all that it replaces is down, may always start alone. Beside other turns
   * it is charged as if what it replaces were up: it may come up by itself before the member acts.
   */
  mayRepair(cluster: ClusterName, own: number): boolean {
    const elsewhere = this.#own - (this.#ownOf.get(cluster) ?? 0);
    if (elsewhere === 0) return true;
    if (elsewhere - this.#ownLost + own > this.maxUnavailable) return false;
    if (this.#draft.intent.quorum === "None") return true;
    return !this.notFaultTolerant && elsewhere + own <= this.voters - this.majority;
  }

  /**
   * [Q8] May a step that takes up to `cost` ready instances down start, with `elsewhere` more in the hands of other
   * turns?
   */
  keepsMajority(cost: number, elsewhere: number): boolean {
    if (cost === 0 || this.#draft.intent.quorum === "None") return true;
    if (this.ready - elsewhere - cost >= this.majority) return true;
    return this.notFaultTolerant && cost === 1 && elsewhere === 0 && this.ready === this.voters;
  }

  /** [Q9] May a voter be added? The majority must be ready even while the joiner is not. */
  toleratesJoiner(elsewhere: number): boolean {
    if (this.voters === 0 || this.#draft.intent.quorum === "None") return true;
    if (this.ready - elsewhere >= majorityOf(this.voters + 1)) return true;
    return this.notFaultTolerant && elsewhere === 0 && this.ready === this.voters;
  }

  evidence(): Evidence[] {
    const object = "all clusters";
    return [
      { object, field: "voters", value: `${this.voters}` },
      { object, field: "majority", value: `${this.majority}` },
      { object, field: "ready", value: `${this.ready}` },
      { object, field: "may still go down", value: `${this.#pending}` },
    ];
  }
}
