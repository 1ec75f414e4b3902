import type { Evidence, ReasonCode, Waiting } from "../../rollout/index.ts";
import { downBefore } from "../evidence/restarts.ts";
import { type ClusterView, readsTurns } from "../evidence/view.ts";
import { clustersByIndex, currentShape, sameShape } from "../identity/topology.ts";
import { oversizeOf } from "../limits/size.ts";
import type {
  Action,
  ClusterEntry,
  ClusterName,
  CompletedStep,
  Grant,
  Intent,
  Ledger,
  LedgerIdentity,
  Observations,
  Step,
  StepInProgress,
  StepKind,
  TimeMs,
  TopologyShape,
  Turn,
} from "../types/index.ts";
import { clustersNotAhead, haltNotAhead, moveNotAhead, rolloutNotAhead } from "./clock-skew.ts";

/** The ledger while one plan call works on it. Entries are replaced, never changed, so the input stays as it was. */
export type DraftLedger = { -readonly [K in keyof Ledger]: Ledger[K] } & {
  clusters: Record<ClusterName, ClusterEntry>;
  topologies: Record<string, TopologyShape>;
  replacements: Record<ClusterName, Readonly<Record<ClusterName, number>>>;
};

/** Everything one pass of the planner reads and writes. */
export class Draft {
  readonly intent: Intent;
  readonly observations: Observations;
  readonly nowMs: TimeMs;
  readonly ledger: DraftLedger;
  readonly identity: LedgerIdentity;
  /** [I12] No instance is added while the schedule asks for more than a topology can hold. */
  readonly mayGrow: boolean;
  /** Counts changes; a pass that makes none is the last. */
  changes = 0;
  readonly steps: Step[] = [];
  readonly completed: CompletedStep[] = [];
  waiting: Waiting[] = [];
  actions: Action[] = [];
  /** [S9] Drained clusters whose grant has to stand once more, so that what it delivered can be removed with it. */
  stranded = new Set<ClusterName>();
  /** What settle saw, per cluster; later stages of the pass read it. */
  views = new Map<ClusterName, ClusterView>();
  requeueAtMs: TimeMs | undefined;
  #order: ClusterName[] | undefined;
  /** The ledger's entries in a map: every rule reads them many times. */
  readonly #entries: Map<ClusterName, ClusterEntry>;
  /** The topology may have changed since its newest version was made. */
  #topologyStale = true;

  constructor(intent: Intent, ledger: Ledger, observations: Observations, nowMs: TimeMs, identity: LedgerIdentity) {
    this.intent = intent;
    this.observations = observations;
    this.nowMs = nowMs;
    this.identity = identity;
    this.mayGrow = oversizeOf(intent, ledger) === undefined;
    this.ledger = {
      ...ledger,
      identity,
      clusters: clustersNotAhead(ledger.clusters, nowMs),
      rollout: rolloutNotAhead(ledger.rollout, nowMs),
      halt: haltNotAhead(ledger.halt, nowMs),
      leaderRequest: moveNotAhead(ledger.leaderRequest, nowMs),
      leaderEvacuation: moveNotAhead(ledger.leaderEvacuation, nowMs),
      topologies: { ...ledger.topologies },
      replacements: { ...ledger.replacements },
    };
    this.#entries = new Map(Object.entries(this.ledger.clusters));
  }

  /** What an earlier pass concluded from a state that has changed since. */
  startPass(): void {
    this.waiting = [];
    this.actions = [];
    this.stranded = new Set();
    this.views = new Map();
    this.requeueAtMs = undefined;
  }

  /** Clusters in the global order. */
  get order(): readonly ClusterName[] {
    this.#order ??= clustersByIndex(this.ledger);
    return this.#order;
  }

  entry(cluster: ClusterName): ClusterEntry {
    const found = this.#entries.get(cluster);
    if (!found) throw new Error(`cluster ${cluster} is not in the ledger`);
    return found;
  }

  addCluster(cluster: ClusterName, entry: ClusterEntry): void {
    this.#put(cluster, entry);
    this.#order = undefined;
    this.#topologyStale = true;
    this.changes++;
  }

  /** Replaces fields of an entry; a patch that changes nothing is no change. */
  patch(cluster: ClusterName, patch: Partial<ClusterEntry>): ClusterEntry {
    const before = this.entry(cluster);
    const keys = Object.keys(patch) as Array<keyof ClusterEntry>;
    if (keys.every((key) => Object.is(before[key], patch[key]))) return before;
    const after = { ...before, ...patch };
    this.#put(cluster, after);
    this.changes++;
    if (after.instances !== before.instances || after.votes !== before.votes) this.#topologyStale = true;
    return after;
  }

  #put(cluster: ClusterName, entry: ClusterEntry): void {
    this.ledger.clusters[cluster] = entry;
    this.#entries.set(cluster, entry);
  }

  set<K extends keyof Ledger>(key: K, value: DraftLedger[K]): void {
    if (Object.is(this.ledger[key], value)) return;
    this.ledger[key] = value;
    this.changes++;
  }

  wait(
    code: ReasonCode,
    cluster: ClusterName | undefined,
    message: string,
    remedy: string,
    evidence: readonly Evidence[],
  ): void {
    if (cluster === undefined) {
      this.waiting.push({ code, message, evidence, remedy });
      return;
    }
    // The cluster's gate reported the same wait before. The later one replaces it, because its remedy is more precise.
    const before = this.waiting.findIndex((each) => each.code === code && each.cluster === cluster);
    if (before >= 0) this.waiting.splice(before, 1);
    this.waiting.push({ code, cluster, message, evidence, remedy });
  }

  wakeAt(atMs: TimeMs | undefined): void {
    if (atMs === undefined || atMs <= this.nowMs) return;
    if (this.requeueAtMs === undefined || atMs < this.requeueAtMs) this.requeueAtMs = atMs;
  }

  /** [I7] The newest version, raised first if the topology changed since. */
  topologyVersion(): number {
    if (!this.#topologyStale) return this.ledger.topologyVersion;
    this.#topologyStale = false;
    const shape = currentShape(this.ledger, this.order);
    if (!sameShape(this.ledger.topologies[String(this.ledger.topologyVersion)], shape)) {
      this.set("topologyVersion", this.ledger.topologyVersion + 1);
      this.ledger.topologies[String(this.ledger.topologyVersion)] = shape;
    }
    return this.ledger.topologyVersion;
  }

  /**
   * [G2] Writes a grant: the only way to change anything in a cluster. Every write raises the cluster's epoch and
   * carries the newest topology. A content that differs from what was verified has to be verified again.
   */
  write(cluster: ClusterName, content: GrantContent, step: StepRequest): Grant {
    const before = this.entry(cluster);
    const epoch = before.epoch + 1;
    const grant: Grant = {
      cluster,
      revision: content.revision,
      replicas: content.replicas,
      partition: Math.min(content.partition, content.replicas),
      // [G7] A member that is asked to move the leader reads the same annotations, and so may read the turn.
      processor: content.turn && (readsTurns(this.intent) || content.transferLeaderTo !== undefined),
      topologyVersion: step.keepsTopology ? this.#topologyHeld(before) : this.topologyVersion(),
      ...(content.transferLeaderTo === undefined ? {} : { transferLeaderTo: content.transferLeaderTo }),
      epoch,
      start: before.start,
      initialClusterState: content.initialClusterState,
      onDelete: content.onDelete,
    };
    const verified = before.done && before.grant !== null && sameContent(before.grant, grant) && !step.verifyAgain;
    this.patch(cluster, {
      grant,
      epoch,
      turn: this.#turnAfter(before, content, step, grant.processor || !verified),
      writtenAtMs: this.nowMs,
      ackedAtMs: null,
      openSinceMs: null,
      done: verified,
      step: step.progress === undefined ? before.step : step.progress,
    });
    this.steps.push({ cluster, kind: step.kind, epoch, why: step.why });
    return grant;
  }

  /** [G7] A member may act as if it had the turn until it reads that it has none. */
  #turnAfter(before: ClusterEntry, content: GrantContent, { verifyAgain }: StepRequest, hasToAct: boolean): Turn {
    if (content.turn && hasToAct) return "held";
    const wasTold = before.turn === "returning" || (before.turn === "held" && before.grant?.processor === true);
    return wasTold || (verifyAgain && readsTurns(this.intent)) ? "returning" : "none";
  }

  /** The topology version that the cluster has; the newest, if the ledger no longer holds that one. */
  #topologyHeld({ grant }: ClusterEntry): number {
    const held = grant?.topologyVersion;
    return held !== undefined && this.ledger.topologies[String(held)] ? held : this.topologyVersion();
  }

  /** A new step, whose deadline starts now. */
  startStep(kind: StepKind, cluster: ClusterName, unblock = false): StepInProgress {
    const unavailableBefore = this.views.get(cluster)?.down ?? 0;
    const down = this.views.has(cluster) ? downBefore(this, cluster) : null;
    return { kind, sinceMs: this.nowMs, progressMs: this.nowMs, best: 0, unblock, unavailableBefore, down };
  }
}

export interface GrantContent
  extends Pick<Grant, "revision" | "replicas" | "partition" | "transferLeaderTo" | "initialClusterState" | "onDelete"> {
  /** The cluster has to act: a step begins or continues. The grant says so if members read turns. */
  readonly turn: boolean;
}

export interface StepRequest {
  readonly kind: Step["kind"];
  readonly why: string;
  /** Undefined: the step in progress continues. Null: none is in progress any more. */
  readonly progress?: StepInProgress | null;
  /** Whatever was verified before does not count any more. */
  readonly verifyAgain?: boolean;
  /** [C3] The grant keeps the topology that the cluster has: it cannot be observed to receive a new one. */
  readonly keepsTopology?: boolean;
}

/** What a member's operator acts upon; the rest of a grant only informs it. */
export function sameContent(a: Grant, b: Grant): boolean {
  return (
    a.revision === b.revision && a.replicas === b.replicas && a.partition === b.partition && a.onDelete === b.onDelete
  );
}
