/** What reconciles of every kind tell metrics and the log: each line names the object and the step. */
import { REASONS, type ReasonCode, type Waiting } from "../../rollout/index.ts";
import type { Clock, Log, Metrics } from "../../runtime/index.ts";
import { CONTROLLER_REASONS, type ControllerReason } from "./reasons.ts";

const ALL_REASONS = { ...REASONS, ...CONTROLLER_REASONS };

export interface TelemetryOptions {
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: Metrics;
  /** Of the objects. */
  readonly kind: string;
}

/** A step of one cluster, as the ledger has it. */
interface RunningStep {
  readonly kind: string;
  readonly sinceMs: number;
  readonly progressMs: number;
}

export type RunningSteps = Readonly<Record<string, { readonly step: RunningStep | null }>>;

export interface Reconciled {
  /** The ledger's clusters before and after the plan. */
  readonly before: RunningSteps;
  readonly after: RunningSteps;
  readonly steps: ReadonlyArray<{
    readonly cluster: string;
    readonly kind: string;
    readonly epoch: number;
    readonly why: string;
  }>;
  readonly waiting: readonly Waiting[];
  readonly figures: { readonly ready: number; readonly voters: number; readonly majority: number };
  readonly nowMs: number;
}

interface Known {
  readonly reasons: ReadonlySet<ReasonCode | ControllerReason>;
  /** Undefined: it has no voters. */
  readonly margin: number | undefined;
  /** When the step that has waited longest last came further, on the wall clock, as ledgers have it. */
  readonly progressMs: number | undefined;
}

export class Telemetry {
  readonly #options: TelemetryOptions;
  readonly #known = new Map<string, Known>();
  /** When the event arrived that each running reconcile answers. */
  readonly #eventMs = new Map<string, number>();

  constructor(options: TelemetryOptions) {
    this.#options = options;
  }

  /** Serves the gauges until the returned function is called. */
  serve(): () => void {
    const { metrics, kind, clock } = this.#options;
    return metrics.gauges((set) => {
      set("applications", { kind }, this.#known.size);
      const byReason = new Map<ReasonCode | ControllerReason, number>();
      for (const [key, { reasons, margin, progressMs }] of this.#known) {
        for (const reason of reasons) byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
        const [namespace = "", name = ""] = key.split("/");
        const labels = { kind, namespace, name };
        if (margin !== undefined) set("application_quorum_margin", labels, margin);
        if (progressMs === undefined) continue;
        const seconds = Math.max(0, clock.now() - progressMs) / 1000;
        set("application_without_progress_seconds", labels, seconds);
      }
      for (const [reason, count] of byReason) {
        set("application_waiting", { kind, reason, needs_person: `${ALL_REASONS[reason].needsPerson}` }, count);
      }
    });
  }

  /** A reconcile starts for an event that arrived this long ago. */
  started(key: string, waitedMs: number): void {
    this.#eventMs.set(key, this.#options.clock.monotonicMs() - waitedMs);
  }

  finished(key: string): void {
    this.#eventMs.delete(key);
  }

  /** Called when what was planned has been carried out. */
  reconciled(key: string, { before, after, steps, waiting, figures, nowMs }: Reconciled): void {
    const { metrics, kind, clock, log } = this.#options;
    for (const { cluster, kind: step, epoch, why } of steps) {
      metrics.count("application_started_steps_total", { kind, step });
      log.info("step started", { object: key, kind, cluster, step, epoch, why });
    }
    const eventMs = this.#eventMs.get(key);
    if (steps.length > 0 && eventMs !== undefined) {
      const seconds = (clock.monotonicMs() - eventMs) / 1000;
      metrics.observe("application_dispatch_grant_duration_seconds", { kind }, seconds);
    }
    for (const [cluster, { step }] of Object.entries(before)) {
      if (step === null || after[cluster]?.step?.sinceMs === step.sinceMs) continue;
      const seconds = Math.max(0, nowMs - step.sinceMs) / 1000;
      metrics.observe("application_complete_step_duration_seconds", { kind, step: step.kind }, seconds);
      log.info("step ended", { object: key, kind, cluster, step: step.kind, seconds });
    }
    const progress = Object.values(after).flatMap(({ step }) => (step === null ? [] : [step.progressMs]));
    this.#known.set(key, {
      reasons: new Set(waiting.map(({ code }) => code)),
      margin: figures.voters === 0 ? undefined : figures.ready - figures.majority,
      progressMs: progress.length === 0 ? undefined : Math.min(...progress),
    });
  }

  /** Nothing can be planned for it; what runs was left as it is. */
  refused(key: string, reason: ReasonCode | ControllerReason): void {
    const before = this.#known.get(key);
    this.#known.set(key, { margin: before?.margin, progressMs: before?.progressMs, reasons: new Set([reason]) });
  }

  forget(key: string): void {
    this.#known.delete(key);
    this.#eventMs.delete(key);
  }
}
