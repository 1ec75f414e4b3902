import type { Waiting } from "../../../rollout/index.ts";
import { emptyLedger, foundGrantOf, parseFoundGrant, rebuildLedger } from "../../ledger/ledger.ts";
import { plan } from "../../plan.ts";
import type {
  ClusterName,
  FoundGrant,
  Ledger,
  MembershipEvidence,
  Observation,
  PlanResult,
  TimeMs,
} from "../../types/index.ts";
import type { EditableIntent } from "./intent.ts";
import { TestMember } from "./member.ts";

/** A planner with its members on a bench: plan, deliver, settle, look. */
export class Bench {
  readonly intent: EditableIntent;
  ledger: Ledger;
  nowMs: TimeMs = 0;
  readonly members = new Map<ClusterName, TestMember>();
  /** Clusters that cannot be observed. */
  readonly unreachable = new Set<ClusterName>();
  /** Of these, the ones that Lockstep has nothing left to look at with. */
  readonly blind = new Set<ClusterName>();
  membership: MembershipEvidence | undefined;
  /** No snapshot says how many instances there are, or are ready. */
  uncounted = false;
  last: PlanResult | undefined;
  /** Every reason that any plan has given. */
  readonly reasons: Waiting[] = [];
  /** What stands beside each grant on its dispatch object, as of the time when it was written. */
  #notes = new Map<ClusterName, FoundGrant>();
  #before: { readonly ledger: Ledger; readonly notes: Map<ClusterName, FoundGrant> } | undefined;

  constructor(intent: EditableIntent, ledger: Ledger = emptyLedger()) {
    this.intent = intent;
    this.ledger = ledger;
  }

  member(cluster: ClusterName): TestMember {
    let found = this.members.get(cluster);
    if (!found) {
      found = new TestMember();
      this.members.set(cluster, found);
    }
    return found;
  }

  observations() {
    const clusters: Record<ClusterName, Observation> = {};
    for (const cluster of new Set([...Object.keys(this.intent.fleet), ...this.members.keys()])) {
      if (!this.unreachable.has(cluster)) clusters[cluster] = this.#look(cluster);
      else if (!this.blind.has(cluster)) clusters[cluster] = { kind: "unreachable", message: "no answer" };
      else clusters[cluster] = { kind: "unreachable", message: "no free stream", isBlind: true };
    }
    return { clusters, ...(this.membership ? { membership: this.membership } : {}) };
  }

  #look(cluster: ClusterName): Observation {
    const seen = this.member(cluster).observe();
    if (!this.uncounted || seen.kind !== "present") return seen;
    const { report: _report, ...rest } = seen;
    return { ...rest, counts: {} };
  }

  /** Plans, and keeps the ledger as a controller would. */
  plan(): PlanResult {
    this.#before = { ledger: this.ledger, notes: new Map(this.#notes) };
    this.last = plan(this.intent, this.ledger, this.observations(), this.nowMs);
    this.ledger = this.last.ledger;
    this.reasons.push(...this.last.waiting);
    this.#note(this.last);
    return this.last;
  }

  #note({ ledger, grants }: PlanResult): void {
    for (const { cluster, epoch } of grants) {
      const note = foundGrantOf(ledger, cluster);
      if (note && this.#notes.get(cluster)?.grant.epoch !== epoch) this.#notes.set(cluster, note);
    }
    for (const cluster of this.#notes.keys()) if (!ledger.clusters[cluster]?.grant) this.#notes.delete(cluster);
  }

  /** The controller dies before anything of its last plan is written. */
  crash(): void {
    if (!this.#before) return;
    this.ledger = this.#before.ledger;
    this.#notes = this.#before.notes;
    this.last = undefined;
  }

  /** The ledger is lost, and rebuilt from the dispatch objects. */
  rebuild(): void {
    const found: unknown[] = JSON.parse(JSON.stringify([...this.#notes.values()]));
    this.ledger = rebuildLedger(found.map(parseFoundGrant));
  }

  /** The grants of the last plan arrive in these clusters; their operators do not act on them yet. */
  deliver(...clusters: ClusterName[]): void {
    for (const grant of this.last?.grants ?? []) {
      if (this.unreachable.has(grant.cluster)) continue;
      if (clusters.length === 0 || clusters.includes(grant.cluster)) this.member(grant.cluster).deliver(grant);
    }
  }

  /** They arrive and are carried out, actions included. */
  settle(...clusters: ClusterName[]): void {
    const chosen = (cluster: ClusterName) =>
      !this.unreachable.has(cluster) && (clusters.length === 0 || clusters.includes(cluster));
    this.deliver(...clusters);
    for (const grant of this.last?.grants ?? []) if (chosen(grant.cluster)) this.member(grant.cluster).settle();
    for (const action of this.last?.actions ?? []) {
      if (action.kind === "remove" && chosen(action.cluster)) this.member(action.cluster).remove();
    }
  }

  wait(seconds: number): void {
    this.nowMs += seconds * 1000;
  }

  /** Plan and settle until nothing starts any more. Returns every step, in order. */
  run(limit = 1000): PlanResult["steps"] {
    const steps: PlanResult["steps"][number][] = [];
    for (let i = 0; i < limit; i++) {
      const result = this.plan();
      steps.push(...result.steps);
      if (result.steps.length === 0 && !result.actions.some(({ kind }) => kind === "remove")) return steps;
      this.settle();
    }
    throw new Error(`did not settle within ${limit} rounds; last: ${JSON.stringify(steps.slice(-4))}`);
  }
}
