import type { CrossClusterJobStatus } from "../../../api/index.ts";
import { type KubeObject, keyOf } from "../../../kube/index.ts";
import type { Announcer } from "../../common/announcer.ts";
import type { StatusWriter } from "../../common/status-writer.ts";
import { type JobReport, jobStatusOf } from "./report.ts";

/** Report: status, and Events for what people want to know of. */
export class JobReporter {
  readonly #statuses: StatusWriter<CrossClusterJobStatus>;
  readonly #announcer: Announcer;
  /** What was last announced of each object: of its start, of its last end, of the work's end, of a refusal. */
  readonly #told = new Map<string, Map<string, string>>();
  /** The newest attempt's object as it was last seen: its end may be written after it is removed. */
  readonly #newest = new Map<string, KubeObject>();

  constructor(statuses: StatusWriter<CrossClusterJobStatus>, announcer: Announcer) {
    this.#statuses = statuses;
    this.#announcer = announcer;
  }

  report(key: string, object: KubeObject, report: JobReport): void {
    if (report.newest) this.#newest.set(key, report.newest);
    const newest = this.#newest.get(key);
    this.#statuses.say(key, (before) => jobStatusOf({ ...report, newest }, before));
    const { attempts, end } = report.plan.ledger;
    const last = attempts.at(-1);
    const ended = attempts.filter(({ outcome }) => outcome !== null).at(-1);
    if (last)
      this.#tell(
        key,
        "started",
        object,
        "Normal",
        "AttemptStarted",
        `attempt ${last.number} starts in ${last.cluster}`,
      );
    if (ended?.outcome) {
      const { kind, reason, message } = ended.outcome;
      const text = `attempt ${ended.number} in ${ended.cluster} ${kind}: ${[reason, message].filter(Boolean).join(", ")}`;
      this.#tell(key, "ended", object, kind === "succeeded" ? "Normal" : "Warning", "AttemptEnded", text);
    }
    if (end) this.#tell(key, "end", object, end.kind === "Complete" ? "Normal" : "Warning", end.kind, end.message);
  }

  /** Nothing can be planned: what runs continues as it is. */
  refuse(object: KubeObject, reason: string, message: string): void {
    const { generation = 0 } = object.metadata;
    this.#statuses.say(keyOf(object.metadata), (before) => ({
      ...before,
      observedGeneration: generation,
      phase: "Invalid",
      reason,
      message: message.slice(0, 4096),
    }));
    this.#tell(keyOf(object.metadata), "refused", object, "Warning", reason, message);
  }

  forget(key: string): void {
    this.#statuses.forget(key);
    this.#newest.delete(key);
    this.#told.delete(key);
  }

  #tell(
    key: string,
    what: string,
    object: KubeObject,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ): void {
    const told = this.#told.get(key) ?? new Map<string, string>();
    if (told.get(what) === message) return;
    this.#told.set(key, told.set(what, message));
    this.#announcer.event(object, type, reason, message);
  }
}
