import { decodeInstances } from "../../identity/topology.ts";
import { emptyLedger, foundGrantOf, parseFoundGrant, rebuildLedger } from "../../ledger/ledger.ts";
import { majorityOf } from "../../limits/quorum.ts";
import { plan } from "../../plan.ts";
import type {
  ClusterName,
  Grant,
  Ledger,
  MemberReportSeen,
  Observation,
  PlanResult,
  Protocol,
} from "../../types/index.ts";
import type { EditableIntent } from "./intent.ts";

interface Process {
  revision: string;
  up: boolean;
  /** Down because an operator restarted it, not by accident. */
  byOperator: boolean;
}

/**
 * One member with an honest Serial operator on the contract. What it shows, what it has read and what it does are
 * apart: a grant arrives, the operator reads it, acts in small steps, and reports on the epoch it read.
 */
class Member {
  arrived: Grant | null = null;
  /** The ordinals that the arrived topology gives this cluster. */
  ordinals: readonly number[] = [];
  read: Grant | null = null;
  readOrdinals: readonly number[] = [];
  report: MemberReportSeen | undefined;
  generation = 0;
  observedGeneration = 0;
  readonly processes = new Map<number, Process>();
  cut = false;

  get ready(): number {
    return [...this.processes.values()].filter(({ up }) => up).length;
  }

  observe(protocol: Protocol): Observation {
    if (this.cut) return { kind: "unreachable", message: "cut off" };
    if (!this.arrived) return { kind: "absent" };
    const { epoch, revision, processor, partition, topologyVersion, transferLeaderTo, replicas } = this.arrived;
    const updated = [...this.processes.values()].filter((each) => each.revision === revision).length;
    return {
      kind: "present",
      generation: this.generation,
      observedGeneration: this.observedGeneration,
      live: {
        epoch,
        revision,
        processor,
        partition,
        topologyVersion,
        replicas,
        ...(transferLeaderTo ? { transferLeaderTo } : {}),
      },
      counts: {
        replicas: this.processes.size,
        ready: this.ready,
        available: this.ready,
        updated: protocol === "statefulset" ? this.#onRead() : updated,
        terminating: 0,
      },
      health: this.ready === this.processes.size ? "healthy" : "unhealthy",
      ...(this.report && protocol === "contract" ? { report: this.report } : {}),
      leader: { kind: "elsewhere" },
    };
  }

  /** A StatefulSet's status speaks of the spec that its controller has seen. */
  #onRead(): number {
    return [...this.processes.values()].filter(({ revision }) => revision === this.read?.revision).length;
  }
}

/** The true state of everything, and what the planner sees of it. Each event is one small step of one actor. */
export class World {
  readonly intent: EditableIntent;
  ledger: Ledger = emptyLedger();
  nowMs = 0;
  readonly members = new Map<ClusterName, Member>();
  readonly seen = new Map<ClusterName, Observation>();
  dispatched: PlanResult | undefined;
  last: PlanResult | undefined;
  /** Filled when a property does not hold. */
  readonly broken: string[] = [];
  readonly reached = {
    restarts: 0,
    joins: 0,
    leaves: 0,
    accidents: 0,
    losses: 0,
    overlaps: 0,
    crashes: 0,
    rebuilds: 0,
  };

  constructor(intent: EditableIntent) {
    this.intent = intent;
  }

  member(cluster: ClusterName): Member {
    let found = this.members.get(cluster);
    if (!found) {
      found = new Member();
      this.members.set(cluster, found);
    }
    return found;
  }

  get clusters(): ClusterName[] {
    return Object.keys(this.intent.fleet);
  }

  /** Takes a new snapshot of one cluster: the planner sees this one until the next look. */
  look(cluster: ClusterName): void {
    this.seen.set(cluster, this.member(cluster).observe(this.intent.workload.protocol));
    const { cut } = this.member(cluster);
    const fact = this.intent.fleet[cluster];
    if (cut && fact?.state === "Ready") this.intent.fleet[cluster] = { state: "NotReady", sinceMs: this.nowMs };
    if (!cut && fact?.state !== "Ready") this.intent.fleet[cluster] = { state: "Ready" };
  }

  /** `lostBefore`: the controller dies before the ledger is written, or after it and before anything is dispatched. */
  plan(lostBefore?: "ledger" | "dispatch"): PlanResult {
    const observations = { clusters: Object.fromEntries(this.seen) };
    const result = plan(this.intent, this.ledger, observations, this.nowMs);
    this.last = result;
    this.#checkResult(result);
    if (lostBefore) this.reached.crashes++;
    if (lostBefore === "ledger") return result;
    this.ledger = result.ledger;
    if (lostBefore !== "dispatch") this.dispatched = result;
    return result;
  }

  /** The dispatch object reaches the member. Actions are carried out with it. */
  deliver(cluster: ClusterName): void {
    const member = this.member(cluster);
    if (member.cut || !this.dispatched) return;
    for (const action of this.dispatched.actions) {
      if (action.cluster !== cluster || action.kind !== "remove") continue;
      if (member.processes.size > 0) this.broken.push(`${cluster} was removed with ${member.processes.size} processes`);
      member.arrived = null;
      member.read = null;
      member.report = undefined;
      return;
    }
    const grant = this.dispatched.grants.find((each) => each.cluster === cluster);
    if (!grant || (member.arrived && member.arrived.epoch >= grant.epoch)) return;
    const before = member.arrived;
    if (
      before?.revision !== grant.revision ||
      before.replicas !== grant.replicas ||
      before.partition !== grant.partition
    ) {
      member.generation++;
    }
    const shape = this.dispatched.ledger.topologies[String(grant.topologyVersion)]?.[cluster] ?? "";
    member.arrived = grant;
    member.ordinals = decodeInstances(shape)
      .filter(({ state }) => state !== "leaving")
      .map(({ ordinal }) => ordinal);
  }

  /** The operator starts a reconcile: it reads what is there now. */
  reconcile(cluster: ClusterName): void {
    const member = this.member(cluster);
    member.read = member.arrived;
    member.observedGeneration = member.generation;
    member.readOrdinals = member.ordinals;
  }

  /** One small act of the operator on what it has read, or its report. */
  act(cluster: ClusterName): void {
    const member = this.member(cluster);
    const grant = member.read;
    if (!grant) return;
    const spec = this.intent.workload.protocol !== "contract";
    const phase = grant.processor || spec ? this.#actOn(cluster, member, grant) : "Done";
    const updated = [...member.processes.values()].filter(({ revision }) => revision === grant.revision).length;
    const { epoch, revision, replicas } = grant;
    member.report = { epoch, revision, phase, desired: replicas, updated, ready: member.ready };
  }

  #actOn(cluster: ClusterName, member: Member, grant: Grant): MemberReportSeen["phase"] {
    const wanted = [...member.readOrdinals].sort((a, b) => a - b).slice(0, grant.replicas);
    const surplus = [...member.processes.keys()]
      .filter((ordinal) => !wanted.includes(ordinal))
      .sort((a, b) => b - a)[0];
    if (surplus !== undefined) {
      this.#checkDown(cluster, surplus, "removes");
      member.processes.delete(surplus);
      this.reached.leaves++;
      return "Working";
    }
    const missing = wanted.find((ordinal) => !member.processes.has(ordinal));
    if (missing !== undefined) {
      // Below the partition a new instance would be of the old revision; the model has none, so it is of the new one.
      member.processes.set(missing, { revision: grant.revision, up: false, byOperator: false });
      this.reached.joins++;
      return "Working";
    }
    const parallel = this.intent.memberConcurrency === "Parallel";
    if (member.ready < member.processes.size && !parallel) return "Working";
    const stale = wanted
      .slice(grant.partition)
      .filter((ordinal) => member.processes.get(ordinal)?.revision !== grant.revision);
    for (const next of parallel ? stale : stale.slice(-1)) {
      const wasUp = member.processes.get(next)?.up === true;
      if (wasUp) this.#checkDown(cluster, next, "restarts");
      member.processes.set(next, { revision: grant.revision, up: false, byOperator: wasUp });
      this.reached.restarts++;
    }
    return stale.length > 0 || member.ready < member.processes.size ? "Working" : "Done";
  }

  /** The ledger is lost and rebuilt from the dispatch objects. */
  rebuild(): void {
    if (!this.dispatched) return;
    const { ledger, grants } = this.dispatched;
    const found = grants.flatMap(({ cluster }) => foundGrantOf(ledger, cluster) ?? []);
    this.ledger = rebuildLedger(found.map((each) => parseFoundGrant(JSON.parse(JSON.stringify(each)))));
    this.reached.rebuilds++;
  }

  /** A process that is down comes up. */
  rise(cluster: ClusterName): void {
    const down = [...this.member(cluster).processes.values()].find(({ up }) => !up);
    if (down) {
      down.up = true;
      down.byOperator = false;
    }
  }

  /** A process dies by itself. */
  accident(cluster: ClusterName): void {
    const up = [...this.member(cluster).processes.values()].find((each) => each.up);
    if (!up) return;
    up.up = false;
    this.reached.accidents++;
  }

  /** Every actor looks once and does one thing; nothing that is down comes up. */
  tick(): void {
    for (const cluster of this.clusters) this.look(cluster);
    this.plan();
    for (const cluster of this.clusters) {
      this.deliver(cluster);
      this.reconcile(cluster);
      this.act(cluster);
    }
  }

  /** All actors do what is left to do, in turn, until nothing changes. Returns false if that takes too long. */
  calm(limit = 400): boolean {
    for (const member of this.members.values()) member.cut = false;
    for (let round = 0; round < limit; round++) {
      for (const cluster of this.clusters) this.look(cluster);
      const result = this.plan();
      if (result.steps.length === 0 && result.actions.length === 0 && this.#settled()) return true;
      for (const cluster of this.clusters) {
        this.deliver(cluster);
        this.reconcile(cluster);
        for (let i = 0; i < 3; i++) {
          this.act(cluster);
          this.rise(cluster);
        }
      }
      this.nowMs += 1000;
    }
    return false;
  }

  #settled(): boolean {
    return Object.values(this.ledger.clusters).every(({ grant, done, turn }) => !grant || (done && turn === "none"));
  }

  /** Own action never takes the application below its majority, nor beyond the budget. */
  #checkDown(cluster: ClusterName, ordinal: number, what: string): void {
    const entries = Object.values(this.ledger.clusters);
    const voters = entries.reduce((sum, each) => sum + (each.votes !== "counted" ? 0 : each.instances.length), 0);
    let ownDown = 1;
    let budgeted = 1;
    for (const [name, member] of this.members) {
      const lost = this.ledger.clusters[name]?.presence.kind === "lost";
      for (const [each, process] of member.processes) {
        if (process.up || !process.byOperator || (name === cluster && each === ordinal)) continue;
        ownDown++;
        if (!lost) budgeted++;
      }
    }
    if (ownDown > 1) this.reached.overlaps++;
    const spare = voters <= 2 ? 1 : voters - majorityOf(voters);
    const update = this.intent.update.type === "RollingUpdate" ? this.intent.update.maxUnavailable : 1;
    if (this.intent.quorum === "Majority" && ownDown > spare) {
      this.broken.push(`${cluster} ${what} ${ordinal}: ${ownDown} of ${voters} voters down by own action`);
    }
    if (
      what === "restarts" &&
      typeof update === "number" &&
      budgeted > update &&
      this.ledger.clusters[cluster]?.presence.kind !== "lost"
    ) {
      this.broken.push(`${cluster} ${what} ${ordinal}: ${budgeted} down by own action, maxUnavailable ${update}`);
    }
  }

  #checkResult(result: PlanResult): void {
    const keys = new Set<number>();
    for (const [cluster, entry] of Object.entries(result.ledger.clusters)) {
      for (const { ordinal } of entry.instances) {
        if (keys.has(ordinal)) this.broken.push(`ordinal ${ordinal} is held twice`);
        keys.add(ordinal);
      }
      const before = this.ledger.clusters[cluster];
      if (before && entry.epoch < before.epoch) this.broken.push(`${cluster}: the epoch fell`);
      if (before?.grant && entry.grant && entry.grant !== before.grant && entry.grant.epoch === before.grant.epoch) {
        if (JSON.stringify(entry.grant) !== JSON.stringify(before.grant))
          this.broken.push(`${cluster}: changed without an epoch`);
      }
    }
    for (const action of result.actions) {
      if (this.seen.get(action.cluster)?.kind === "unreachable")
        this.broken.push(`acts on ${action.cluster}, which is cut off`);
    }
    const changing = Object.values(result.ledger.clusters).filter(
      ({ instances, done, presence, votes }) =>
        presence.kind !== "lost" && votes === "counted" && !done && instances.some(({ state }) => state !== "member"),
    );
    const serial = this.intent.quorum === "Majority" && result.ledger.currentRevision !== null;
    if (serial && this.intent.podManagementPolicy === "OrderedReady" && changing.length > 1 && !this.#hadLoss) {
      this.broken.push("two membership changes at once");
    }
    if (Object.values(result.ledger.clusters).some(({ presence }) => presence.kind === "lost")) this.#hadLoss = true;
  }
  #hadLoss = false;
}
