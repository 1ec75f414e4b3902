import type { Commit } from "../../apiserver/index.ts";
import type { Guarantee } from "../../jobs/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../../runtime/index.ts";
import type { Reach } from "../seed/reach.ts";
import type { World } from "../world/world.ts";
import type { JobMember, JobPod } from "./member.ts";
import type { JobScenario } from "./scenario.ts";
import { type JobShape, unitsOf } from "./shape.ts";

/** What must hold at every moment, whatever happens. */
export const JOB_PROPERTIES = {
  alone: "never two attempts of the same work alive",
  once: "nothing runs again that has ended",
  ends: "the work ends once faults stop",
  honest: "what is called complete was done",
  clean: "nothing is left behind",
  untouched: "another writer's Job is never touched",
} as const;

/** Dangers and checks that a whole campaign must have seen. */
export const JOB_SITUATIONS = [
  "a cluster with running work is cut off",
  "a cluster ends its own work at the deadline",
  "a lost attempt is over at its deadline",
  "a lost attempt turns out to have succeeded",
  "a cluster returns with an old Job",
  "work continues elsewhere",
  "a Job is deleted in its member",
  "another writer takes an attempt's name",
  "a name was taken",
  "a user removes Lockstep's label",
  "a queue suspends a Job in its member",
  "a Job that was suspended in its member starts again",
  "an old delivery: created",
  "an old delivery: updated",
  "a leader stalls after a write",
  "a leader wakes up next to another one",
  "the hub is down",
  "stale views",
  "an outdated list",
  "clock jump",
  "crash before a write",
  "crash after a write",
  "crash after an acknowledgement",
  "the work is Complete",
  "nothing is left in members",
] as const;

/** What only seeds that divide their work, or lose their ledgers, do. */
export const SHAPED_JOB_SITUATIONS = [
  "the ledger is lost",
  "a Job tries a failed pod again",
  "an index continues in another attempt",
  "completions continue in another attempt",
  "two attempts share the work",
  "the work is suspended",
] as const;

/** What only the model of Karmada's members does. */
export const KARMADA_JOB_SITUATIONS = [
  "a cluster with running work is drained",
  "an agent creates a Job from its memory",
] as const;

const LEDGERS = "apps.karmada.io/crossclusterledgers";
const JOBS = "apps.karmada.io/crossclusterjobs";

/** Compares what runs in the members with what is stored on the hub. */
export class JobWatch {
  readonly #world: World;
  readonly #guarantee: Guarantee;
  readonly #shape: JobShape;
  readonly #reach: Reach;
  readonly #members: ReadonlyMap<string, JobMember>;
  /** By number: how the stored ledger says that attempts ended. */
  readonly #outcomes = new Map<number, string>();
  readonly #started = new Set<number>();
  /** Attempts that the stored ledger knows to be suspended in their clusters, or has never let run. */
  readonly #held = new Set<number>();
  #status: JsonObject = {};
  /** By number: what it had done when the ledger first called it over, or has done so far. What is found later counts, too. */
  readonly #done = new Map<number, { readonly units: ReadonlySet<number>; readonly count: number }>();

  constructor(world: World, { guarantee, shape }: JobScenario, reach: Reach, members: ReadonlyMap<string, JobMember>) {
    this.#world = world;
    this.#guarantee = guarantee;
    this.#shape = shape;
    this.#reach = reach;
    this.#members = members;
  }

  /** A pod of a Job begins to run. */
  starts({ job, unit }: JobPod): void {
    const number = attemptOf(job);
    const pods = [...this.#members.values()].flatMap((member) => member.pods());
    const others = pods.filter((each) => attemptOf(each.job) !== number).map((each) => attemptOf(each.job));
    if (others.length > 0) this.#reach.count("two attempts share the work");
    if (this.#shape.kind !== "whole") this.#startsShare(number, unit, pods);
    if (this.#guarantee !== "AtLeastOnce" && this.#shape.slots === 1 && others.length > 0) {
      this.#world.violated(JOB_PROPERTIES.alone, `attempt ${number} starts while ${others.join(", ")} is alive`);
    }
    const ended = this.#outcomes.get(number);
    const mayRun = this.#guarantee === "AtLeastOnce" && ended === "lost";
    if (ended !== undefined && !mayRun)
      this.#world.violated(JOB_PROPERTIES.once, `attempt ${number} was recorded as ${ended}, and runs again`);
    const isDone = [...this.#outcomes.values()].includes("succeeded");
    if (this.#shape.kind === "whole" && isDone && this.#guarantee !== "AtLeastOnce")
      this.#world.violated(JOB_PROPERTIES.once, `attempt ${number} starts although the work is done`);
    if (number > 1 && !this.#started.has(number)) this.#reach.count("work continues elsewhere");
    this.#started.add(number);
  }

  /** Of divided work no index runs twice at once or again, and no more completions run than are left. */
  #startsShare(number: number, unit: number | undefined, pods: readonly JobPod[]): void {
    const shape = this.#shape;
    if (shape.kind === "whole" || this.#guarantee === "AtLeastOnce") return;
    const others = [...this.#done].filter(([each]) => each !== number);
    if (shape.kind === "indexes") {
      const twin = pods.find((pod) => pod.unit === unit && attemptOf(pod.job) !== number);
      if (twin) this.#world.violated(JOB_PROPERTIES.alone, `index ${unit} starts while ${twin.job} runs it`);
      if (others.some(([, { units }]) => unit !== undefined && units.has(unit)))
        this.#world.violated(JOB_PROPERTIES.once, `index ${unit} is done, and runs again in attempt ${number}`);
      if (others.some(([, { units }]) => units.size > 0)) this.#reach.count("an index continues in another attempt");
      return;
    }
    const alive = new Map(pods.map(({ job, completions = 0 }) => [attemptOf(job), completions]));
    const held = [...alive.values()].reduce((sum, each) => sum + each, 0);
    const done = others.reduce((sum, [each, { count }]) => sum + (alive.has(each) ? 0 : count), 0);
    if (done > 0) this.#reach.count("completions continue in another attempt");
    if (held + done > shape.total)
      this.#world.violated(JOB_PROPERTIES.once, `${held} completions may run, ${done} of ${shape.total} are done`);
  }

  /** The ledger is gone: of what was known, that remains which the status says. */
  forgets(): void {
    const before = new Map(this.#done);
    const outcomes = new Map(this.#outcomes);
    this.#outcomes.clear();
    this.#done.clear();
    const rows = Array.isArray(this.#status.attempts) ? this.#status.attempts.filter(isJsonObject) : [];
    for (const { number, state, indexes, completions, completedIndexes, succeeded } of rows) {
      const known = before.get(Number(number));
      if (typeof number !== "number" || !known) continue;
      const hasSucceeded = state === "Succeeded";
      const units = unitsOf(String((hasSucceeded ? indexes : completedIndexes) ?? ""));
      const count = Math.max(Number(succeeded ?? 0), hasSucceeded ? Number(completions ?? 0) : 0);
      // What was found after others had got it is no reason to call these back.
      const told = {
        units: new Set(units.filter((unit) => known.units.has(unit))),
        count: Math.min(count, known.count),
      };
      this.#done.set(number, told);
      const kind = String(state).toLowerCase();
      if (outcomes.get(number) === kind) this.#outcomes.set(number, kind);
    }
  }

  committed({ key, object, type }: Commit): void {
    if (key.resource === JOBS && isJsonObject(object.status)) this.#status = object.status;
    if (key.resource !== LEDGERS || type === "DELETED") return;
    const state = isJsonObject(object.spec) && isJsonObject(object.spec.state) ? object.spec.state : {};
    const attempts = (Array.isArray(state.attempts) ? state.attempts : []).filter(isJsonObject);
    for (const attempt of attempts) this.#note(attempt);
  }

  /** Whether the stored ledger knows that this Job may start again. */
  knowsHeld(job: string): boolean {
    return this.#guarantee !== "Exclusive" || this.#held.has(attemptOf(job));
  }

  #note({ number, outcome, cluster, share, done, isHeld, uid }: JsonObject): void {
    if (typeof number !== "number") return;
    if (isHeld === true || uid === null) this.#held.add(number);
    // Its end may be no more than its deadline, which a queue that no controller has seen may start again.
    else if (!outcome) this.#held.delete(number);
    if (!this.#outcomes.has(number)) {
      const hasSucceeded = isJsonObject(outcome) && outcome.kind === "succeeded";
      const listed = unitsOf(String(valueAt(done, "indexes") ?? ""));
      const own = hasSucceeded ? unitsOf(String(valueAt(share, "indexes") ?? "")) : [];
      const least = hasSucceeded ? Number(valueAt(share, "count") ?? 0) : 0;
      const before = this.#done.get(number);
      const units = new Set([...(before?.units ?? []), ...listed, ...own]);
      const count = Math.max(before?.count ?? 0, least, Number(valueAt(done, "succeeded") ?? 0));
      this.#done.set(number, { units, count });
    }
    if (!isJsonObject(outcome)) return;
    const kind = String(outcome.kind);
    const before = this.#outcomes.get(number);
    if (before === kind) return;
    this.#outcomes.set(number, kind);
    this.#reach.count(`an attempt is ${kind}`);
    if (outcome.reason === "NameTaken") this.#reach.count("a name was taken");
    if (outcome.reason === "DeadlinePassed") this.#reach.count("a lost attempt is over at its deadline");
    if (before === undefined) return;
    this.#reach.count("a lost attempt turns out to have succeeded");
    this.#world.note("WATCH", `attempt ${number} in ${String(cluster)} is ${kind} after all`);
  }
}

/** `train-3fa2c-2` is attempt 2. */
function attemptOf(job: string): number {
  return Number(/-(\d+)$/.exec(job)?.[1] ?? 0);
}
