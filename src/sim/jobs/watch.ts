import type { Commit } from "../../apiserver/index.ts";
import type { Guarantee } from "../../jobs/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { Reach } from "../seed/reach.ts";
import type { World } from "../world/world.ts";
import type { JobMember } from "./member.ts";

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

/** What only the model of Karmada's members does. */
export const KARMADA_JOB_SITUATIONS = [
  "a cluster with running work is drained",
  "an agent creates a Job from its memory",
] as const;

const LEDGERS = "apps.karmada.io/crossclusterledgers";

/** Compares what runs in the members with what is stored on the hub. */
export class JobWatch {
  readonly #world: World;
  readonly #guarantee: Guarantee;
  readonly #reach: Reach;
  readonly #members: ReadonlyMap<string, JobMember>;
  /** By number: how the stored ledger says that attempts ended. */
  readonly #outcomes = new Map<number, string>();
  readonly #started = new Set<number>();

  constructor(world: World, guarantee: Guarantee, reach: Reach, members: ReadonlyMap<string, JobMember>) {
    this.#world = world;
    this.#guarantee = guarantee;
    this.#reach = reach;
    this.#members = members;
  }

  /** A pod of this Job begins to run. */
  starts(job: string): void {
    const number = attemptOf(job);
    const alive = [...this.#members.values()].flatMap((member) => [...member.alive()].map(attemptOf));
    const others = alive.filter((each) => each !== number);
    if (this.#guarantee !== "AtLeastOnce" && others.length > 0) {
      this.#world.violated(JOB_PROPERTIES.alone, `attempt ${number} starts while ${others.join(", ")} is alive`);
    }
    const ended = this.#outcomes.get(number);
    const mayRun = this.#guarantee === "AtLeastOnce" && ended === "lost";
    if (ended !== undefined && !mayRun)
      this.#world.violated(JOB_PROPERTIES.once, `attempt ${number} was recorded as ${ended}, and runs again`);
    const isDone = [...this.#outcomes.values()].includes("succeeded");
    if (isDone && this.#guarantee !== "AtLeastOnce")
      this.#world.violated(JOB_PROPERTIES.once, `attempt ${number} starts although the work is done`);
    if (number > 1 && !this.#started.has(number)) this.#reach.count("work continues elsewhere");
    this.#started.add(number);
  }

  committed({ key, object, type }: Commit): void {
    if (key.resource !== LEDGERS || type === "DELETED") return;
    const state = isJsonObject(object.spec) && isJsonObject(object.spec.state) ? object.spec.state : {};
    const attempts = (Array.isArray(state.attempts) ? state.attempts : []).filter(isJsonObject);
    for (const attempt of attempts) this.#note(attempt);
  }

  #note({ number, outcome, cluster }: JsonObject): void {
    if (typeof number !== "number" || !isJsonObject(outcome)) return;
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
