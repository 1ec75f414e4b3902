import type { Engine } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import { type KubeObject, keyOf } from "../../kube/index.ts";
import type { Observation, PlanResult } from "../../plan/index.ts";
import type { Clock } from "../../runtime/index.ts";
import type { Announcements } from "./announce.ts";
import { withDeliveryFailures } from "./delivery.ts";
import { invalidStatus, statusOf } from "./report.ts";
import type { RevisionStore } from "./revision-store.ts";
import type { StatusWriter } from "./status-writer.ts";
import type { Subject } from "./subject.ts";
import { aggregatedStatus, selectorOf } from "./workload-status.ts";

export interface ReporterOptions {
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly revisions: RevisionStore;
  readonly announcements: Announcements;
  readonly statuses: StatusWriter;
  readonly clock: Clock;
}

/** Report: what was planned and what came of it, as Events and in status. Nothing waits for it. */
export class Reporter {
  readonly #options: ReporterOptions;

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  report(
    { key, object, statefulset, app }: Subject,
    result: PlanResult,
    observations: Readonly<Record<string, Observation>>,
    failures: readonly { cluster: string; message: string }[],
    nowMs: number,
  ): void {
    const { engine, revisions, announcements, statuses } = this.#options;
    const told = withDeliveryFailures(result, engine.dispatched(app));
    announcements.announce(key, object, told);
    const clusters = Object.keys(result.ledger.clusters);
    statuses.say(key, (before) =>
      statusOf({
        statefulset,
        before,
        plan: told,
        observations,
        history: revisions.list(statefulset.metadata),
        failures,
        workload: aggregatedStatus(this.#options, app, clusters),
        selector: selectorOf(engine, app, clusters),
        nowMs,
      }),
    );
  }

  /** Nothing can be planned at all, and why. */
  refuse(object: KubeObject, reason: string, message: string): void {
    const { announcements, statuses, clock } = this.#options;
    const nowMs = clock.now();
    const key = keyOf(object.metadata);
    announcements.refused(key, object, reason, message);
    const generation = object.metadata.generation ?? 0;
    statuses.say(key, (before) => invalidStatus(generation, before, reason, message, nowMs));
  }
}
