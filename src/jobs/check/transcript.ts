/**
 * Plays a transcript: lines of what happens, and after `----` what the planner decided. Commands: `clusters A B`, `set
 * KEY=VALUE`, `work indexes|count TOTAL`, `run` (until nothing moves), `plan`, `wait SECONDS`, `lose|return|drain|taint
 * C`, `succeed|fail|recreate N`, `show N KEY=VALUE` (of its status), `vanish N` (its object), `hide N` (a user removes
 * its label), `hold|resume N` (something suspends it there), `holds C` (each new one), `take|free C N` (another writer's
 * object has the name of attempt N), `refuse C WHY` (it takes no new object), `stuck|unstuck N` (the hub does not delete
 * its dispatch object), `retry ID`, `confirm C`, `suspend`, `continue`, `forget` (the ledger's last attempt), `delete`.
 */
import { STOP_DEADLINE_SECONDS } from "../grants.ts";
import { emptyJobLedger } from "../ledger.ts";
import { planJob } from "../plan.ts";
import type { AttemptSeen, JobGrant, JobIntent, JobLedger, JobObservations, JobPlan, Share } from "../types.ts";
import { TranscriptMember } from "./transcript-member.ts";

const SECOND_MS = 1000;
const RUN_MAX = 30;

const INTENT: JobIntent = {
  isBatch: true,
  work: { kind: "whole" },
  slots: 1,
  parallelism: 2,
  clusters: [],
  guarantee: "Wait",
  lostAfterMs: 300_000,
  windowMs: 900_000,
  allowanceMs: 30_000,
  graceMs: 30_000,
  podDeadlineMs: null,
  onFailure: "Continue",
  podFailures: 0,
  pendingAfterMs: 0,
  maxAttempts: 3,
  suspend: false,
  memberCleanup: "WhenFinished",
  retry: null,
  confirmedLost: {},
  isDeleted: false,
};

export class Transcript {
  #intent = INTENT;
  #ledger: JobLedger = emptyJobLedger("t");
  #nowMs = 0;
  readonly #members = new Map<string, TranscriptMember>();
  /** What stands on the hub, by attempt. */
  readonly #dispatched = new Map<number, JobGrant>();
  /** Attempts whose dispatch objects the hub does not delete. */
  readonly #stuck = new Set<number>();

  play(text: string): string {
    const out: string[] = [];
    let isAnswer = false;
    for (const line of text.split("\n")) {
      if (line === "----") isAnswer = true;
      else if (line === "") isAnswer = false;
      if (isAnswer) continue;
      out.push(line);
      if (line === "" || line.startsWith("#")) continue;
      const answer = this.#command(line.split(" "));
      if (answer.length > 0) out.push("----", ...answer);
    }
    return out.join("\n");
  }

  #command([verb = "", ...rest]: string[]): string[] {
    const [first = ""] = rest;
    if (verb === "plan") return this.#run(1);
    if (verb === "run") return this.#run(RUN_MAX);
    const isDone = this.#asks(verb, rest) || this.#memberDoes(verb, rest);
    if (!isDone) throw new Error(`transcripts know no '${verb} ${first}'`);
    return [];
  }

  /** What users ask for, and what happens to the hub. */
  #asks(verb: string, rest: readonly string[]): boolean {
    const [first = "", second = ""] = rest;
    const change = (intent: Partial<JobIntent>) => {
      this.#intent = { ...this.#intent, ...intent };
      return true;
    };
    switch (verb) {
      case "clusters":
        for (const name of rest) this.#members.set(name, new TranscriptMember(name));
        return change({ clusters: rest });
      case "set":
        return change(Object.fromEntries(rest.map(setting)));
      case "work":
        return change({ work: { kind: first === "indexes" ? "indexes" : "count", total: Number(second) } });
      case "retry":
        return change({ retry: first });
      case "confirm":
        return change({ confirmedLost: { [first]: this.#nowMs } });
      case "suspend":
        return change({ suspend: true });
      case "continue":
        return change({ suspend: false });
      case "delete":
        return change({ isDeleted: true });
      case "stuck":
        this.#stuck.add(Number(first));
        return true;
      case "unstuck":
        return this.#stuck.delete(Number(first));
      case "forget": {
        const attempts = this.#ledger.attempts.slice(0, -1);
        this.#ledger = { ...this.#ledger, attempts, nextAttempt: attempts.length + 1, end: null };
        return true;
      }
      case "wait":
        this.#nowMs += Number(first) * SECOND_MS;
        for (const member of this.#members.values()) member.passTo(this.#nowMs);
        return true;
      default:
        return false;
    }
  }

  #memberDoes(verb: string, rest: readonly string[]): boolean {
    const [first = "", ...more] = rest;
    const named = this.#members.get(first);
    const cluster = this.#ledger.attempts.find(({ number }) => String(number) === first)?.cluster;
    const member = named ?? this.#members.get(cluster ?? "");
    return member?.does(verb, Number(first), more, this.#nowMs) ?? false;
  }

  #run(limit: number): string[] {
    const out: string[] = [];
    for (let turn = 0; turn < limit; turn++) {
      const before = this.#ledger;
      const result = planJob(this.#intent, before, this.#observations(), this.#nowMs);
      this.#ledger = result.ledger;
      out.push(...this.#decided(before, result));
      const isMoving = this.#deliver(result) || JSON.stringify(before) !== JSON.stringify(result.ledger);
      if (limit > 1 && isMoving) continue;
      out.push(...result.waiting.map(({ code, cluster, message }) => `${cluster ?? "*"} waits ${code}: ${message}`));
      const { requeueAtMs } = result;
      if (requeueAtMs !== undefined) out.push(`* again in ${(requeueAtMs - this.#nowMs) / SECOND_MS} s`);
      if (result.isFinished) out.push("* finished");
      break;
    }
    return out;
  }

  /** The ledger's changes, then what is written to the hub, in its order. */
  #decided(before: JobLedger, { ledger, standing, actions }: JobPlan): string[] {
    const out: string[] = [];
    const known = (number: number) => before.attempts.find((each) => each.number === number);
    for (const { number, cluster, share, stop, outcome, isCleaned } of ledger.attempts) {
      const old = known(number);
      const title = `attempt ${number}`;
      if (!old) out.push(`${title} is in ${cluster}, with ${shareText(share)}`);
      if (stop && !old?.stop) out.push(`${title} has to stop: ${stop.reason}, ${stop.message}`);
      if (outcome && old?.outcome?.kind !== outcome.kind) {
        out.push(`${title} ${outcome.kind}: ${[outcome.reason, outcome.message].filter(Boolean).join(", ")}`);
      }
      if (isCleaned && !old?.isCleaned) out.push(`${title} is cleaned up`);
    }
    if (ledger.end && ledger.end.kind !== before.end?.kind) {
      out.push(`* ${ledger.end.kind}: ${ledger.end.reason}, ${ledger.end.message}`);
    }
    if (before.end && !ledger.end) out.push("* starts again");
    for (const { number, uid, grant } of standing) {
      if (this.#dispatched.has(number) && grant.epoch === known(number)?.grant.epoch) continue;
      const deadline = grant.deadlineSeconds === null ? "no deadline" : `deadline ${grant.deadlineSeconds} s`;
      const whom = grant.epoch === 1 || uid === null ? "create" : `for ${uid}`;
      out.push(`hub: attempt ${number} ${whom}: parallelism ${grant.parallelism}, ${deadline}`);
    }
    for (const action of actions) {
      out.push(action.kind === "expire" ? "hub: delete the CrossClusterJob" : `hub: ${action.kind} ${action.attempt}`);
    }
    return out;
  }

  /** Members carry out at once what they get, where they can be reached. Whether anything has moved. */
  #deliver({ ledger, standing, actions }: JobPlan): boolean {
    let isMoved = false;
    for (const { number, grant } of standing) this.#dispatched.set(number, grant);
    for (const action of actions) {
      if (action.kind === "expire" || this.#stuck.has(action.attempt)) continue;
      const member = this.#members.get(action.cluster);
      if (action.kind === "remove") isMoved = member?.remove(action.attempt) || isMoved;
      isMoved = this.#dispatched.delete(action.attempt) || isMoved;
    }
    for (const attempt of ledger.attempts) {
      const member = this.#members.get(attempt.cluster);
      if (this.#dispatched.has(attempt.number))
        isMoved = member?.apply(attempt, this.#intent.isBatch, this.#nowMs) || isMoved;
    }
    return isMoved;
  }

  #isOrdered(attempt: number): boolean {
    const grant = this.#dispatched.get(attempt);
    return !grant || (grant.parallelism === 0 && grant.deadlineSeconds === STOP_DEADLINE_SECONDS);
  }

  #observations(): JobObservations {
    const members = [...this.#members.entries()];
    const seen = (name: string, number: number): AttemptSeen =>
      this.#members.get(name)?.seen(number) ?? { kind: "absent" };
    return {
      clusters: Object.fromEntries(members.map(([name, member]) => [name, member.facts()])),
      attempts: Object.fromEntries(
        this.#ledger.attempts.map(({ number, cluster }) => [number, seen(cluster, number)] as const),
      ),
      next: Object.fromEntries(members.map(([name]) => [name, seen(name, this.#ledger.nextAttempt)] as const)),
      dispatched: new Set(this.#dispatched.keys()),
      orderedStop: new Set(this.#ledger.attempts.map(({ number }) => number).filter((each) => this.#isOrdered(each))),
    };
  }
}

/** `windowMs=900000`, `guarantee=Exclusive`. */
function setting(pair: string): [string, string | number | boolean] {
  const [key = "", value = ""] = pair.split("=");
  if (!(key in INTENT) && key !== "ttlMs" && key !== "activeDeadlineMs") throw new Error(`no setting '${key}'`);
  if (value === "false") return [key, false];
  return [key, /^\d+$/.test(value) ? Number(value) : value];
}

function shareText(share: Share): string {
  if (share.kind === "indexes") return `indexes ${share.indexes}`;
  return share.kind === "count" ? `${share.count} completions` : "all of the work";
}
