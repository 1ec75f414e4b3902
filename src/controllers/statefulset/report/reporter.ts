import type { Interpreter } from "../../../interpret/index.ts";
import { type KubeObject, keyOf } from "../../../kube/index.ts";
import type { Observation, PlanResult } from "../../../plan/index.ts";
import type { ReasonCode } from "../../../rollout/index.ts";
import type { Clock } from "../../../runtime/index.ts";
import { ownerOf } from "../../common/owner.ts";
import type { ControllerReason } from "../../common/reasons.ts";
import { Records } from "../../common/records.ts";
import type { RevisionStore } from "../../common/revisions/revision-store.ts";
import type { StatusWriter } from "../../common/status-writer.ts";
import type { Telemetry } from "../../common/telemetry.ts";
import { aggregatedStatus, selectorOf } from "../../common/workload-status.ts";
import type { ActFailure } from "../act/act.ts";
import { LedgerCopies } from "../ledger/ledger-copy.ts";
import { type Moment, memberIn } from "../observe/moment.ts";
import type { Reviser } from "../revise/revise.ts";
import type { Subject } from "../subject.ts";
import type { Announcements } from "./announce.ts";
import { withDeliveryFailures, withDispatchFailures } from "./delivery.ts";
import { momentOf } from "./moments.ts";
import { observedTemplate } from "./observed-template.ts";
import { invalidStatus, statusOf } from "./report.ts";

export interface ReporterOptions {
  readonly interpreter: Interpreter;
  readonly revisions: RevisionStore;
  readonly reviser: Pick<Reviser, "seen">;
  readonly announcements: Announcements;
  readonly statuses: StatusWriter;
  readonly telemetry: Telemetry;
  readonly clock: Clock;
}

/** Reports what was planned and its result, as Events and in status. No other step waits for it. */
export class Reporter {
  readonly #options: ReporterOptions;
  readonly #ledgerCopies = new LedgerCopies();
  readonly #records = new Records();

  constructor(options: ReporterOptions) {
    this.#options = options;
  }

  report(
    { key, object, statefulset, template }: Subject,
    moment: Moment,
    result: PlanResult,
    observations: Readonly<Record<string, Observation>>,
    failures: readonly ActFailure[],
  ): void {
    const { interpreter, revisions, reviser, announcements, statuses } = this.#options;
    const told = withDispatchFailures(withDeliveryFailures(result, moment.dispatched), failures);
    announcements.announce(key, object, told);
    const news = announcements.acts(key, object, statefulset, told);
    const now = momentOf(told, news);
    if (now) this.#records.note(key, object.status, now, moment.nowMs);
    const members = Object.keys(result.ledger.clusters).map((name) => [name, memberIn(moment, name)] as const);
    const restsOn = template.kind === "one" ? observedTemplate(template.object, reviser.seen(key)) : undefined;
    statuses.say(key, (before) =>
      statusOf({
        statefulset,
        before,
        plan: told,
        observations,
        history: revisions.list(ownerOf(statefulset)),
        recorded: (rows) => this.#records.into(key, rows, before?.history),
        failures,
        workload: aggregatedStatus(interpreter, members),
        selector: selectorOf(members),
        ledgerCopy: this.#ledgerCopies.of(key, result.ledger),
        observedTemplate: restsOn,
        settings: moment.settings,
        nowMs: moment.nowMs,
      }),
    );
  }

  forget(key: string): void {
    this.#ledgerCopies.forget(key);
    this.#records.forget(key);
  }

  /** What fails again and again would otherwise show only in the controller's log. */
  failed(object: KubeObject, error: unknown, times: number): void {
    const why = error instanceof Error ? error.message : String(error);
    const message = `the last ${times} attempts failed: ${why}. It is tried again; what runs is not touched meanwhile`;
    // A higher count of failures is no news; another error is.
    this.#refuse(object, "ReconcileFailed", message, why);
  }

  /** Nothing can be planned at all, and why. */
  refuse(object: KubeObject, reason: ControllerReason | ReasonCode, message: string): void {
    this.#refuse(object, reason, message, message);
  }

  #refuse(object: KubeObject, reason: ControllerReason | ReasonCode, message: string, event: string): void {
    const { announcements, statuses, telemetry, clock } = this.#options;
    const nowMs = clock.now();
    const key = keyOf(object.metadata);
    telemetry.refused(key, reason);
    announcements.refused(key, object, reason, event);
    const generation = object.metadata.generation ?? 0;
    statuses.say(key, (before) => invalidStatus(generation, before, reason, message, nowMs));
  }
}
