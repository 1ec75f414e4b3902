import type { Attempt, AttemptPresent, AttemptSeen, JobCluster } from "../types.ts";

const SECOND_MS = 1000;

interface Job {
  uid: string;
  startedAtMs: number;
  deadlineSeconds: number | null;
  parallelism: number;
  state: "running" | "succeeded" | "failed";
  reason: string;
  /** A user removed Lockstep's label from it. */
  isHidden?: boolean;
  /** Something suspends it: it has no deadline, and starts again when that ends. */
  isHeld?: boolean;
  /** What a transcript says about its status, over what would be so otherwise. */
  shown: Partial<AttemptPresent>;
}

/** A cluster of a transcript, with Kubernetes' Job controller in it: it ends Jobs at their deadline, reachable or not. */
export class TranscriptMember {
  readonly #name: string;
  readonly #jobs = new Map<number, Job>();
  /** Attempts whose names another writer's objects have. */
  readonly #taken = new Set<number>();
  /** Why this cluster takes no new object. */
  #refusal: string | undefined;
  #lostSinceMs: number | undefined;
  #isDrained = false;
  /** Each Job is suspended when it is created. */
  #holds = false;
  #taint: string | undefined;
  #nextUid = 1;

  constructor(name: string) {
    this.#name = name;
  }

  /** What happens here. False: there is nothing like that. */
  does(verb: string, attempt: number, more: readonly string[], nowMs: number): boolean {
    const job = this.#jobs.get(attempt);
    const end = (state: Job["state"], reason: string) =>
      job !== undefined && Boolean(Object.assign(job, { state, reason }));
    switch (verb) {
      case "lose":
        this.#lostSinceMs = nowMs;
        return true;
      case "return":
        this.#lostSinceMs = undefined;
        return true;
      case "drain":
        this.#isDrained = true;
        return true;
      case "taint":
        this.#taint = "maintenance:NoSchedule";
        return true;
      case "succeed":
        return end("succeeded", "Completed");
      case "fail":
        return end("failed", "BackoffLimitExceeded");
      case "show":
        if (job) job.shown = { ...job.shown, ...Object.fromEntries(more.map(shownAs)) };
        return job !== undefined;
      case "vanish":
        return this.#jobs.delete(attempt);
      case "take":
        this.#taken.add(Number(more[0]));
        return true;
      case "refuse":
        this.#refusal = more.join(" ");
        return true;
      case "free":
        return this.#taken.delete(Number(more[0]));
      case "hide":
        if (job) job.isHidden = true;
        return job !== undefined;
      case "hold":
        if (job) job.isHeld = true;
        return job !== undefined;
      case "resume":
        if (job) Object.assign(job, { isHeld: false, startedAtMs: nowMs });
        return job !== undefined;
      case "holds":
        this.#holds = true;
        return true;
      case "recreate":
        this.#create(attempt, 0, null, nowMs);
        return true;
      default:
        return false;
    }
  }

  passTo(nowMs: number): void {
    for (const job of this.#jobs.values()) this.#endAtDeadline(job, nowMs);
  }

  facts(): JobCluster {
    return {
      state: this.#lostSinceMs === undefined ? "Ready" : "NotReady",
      ...(this.#taint !== undefined && { repels: this.#taint }),
      evicts: this.#isDrained,
    };
  }

  seen(attempt: number): AttemptSeen {
    if (this.#lostSinceMs !== undefined) {
      return { kind: "unreachable", sinceMs: this.#lostSinceMs, message: `${this.#name} does not answer` };
    }
    if (this.#taken.has(attempt)) {
      return { kind: "foreign", message: `Job train-${attempt} in ${this.#name} was created by kubectl` };
    }
    const job = this.#jobs.get(attempt);
    if (!job) return { kind: "absent", ...(this.#refusal !== undefined && { refusal: this.#refusal }) };
    if (job.isHidden) return { kind: "absent", isUnconfirmed: true };
    const { uid, state, reason, deadlineSeconds, parallelism, isHeld, startedAtMs, shown } = job;
    return {
      kind: "present",
      uid,
      isDeleting: false,
      ...(isHeld ? { isSuspended: true } : { startTime: String(startedAtMs) }),
      state,
      ...(state !== "running" && { reason }),
      ...(deadlineSeconds !== null && { deadlineSeconds }),
      active: state === "running" && !isHeld ? parallelism : 0,
      terminating: 0,
      isPending: false,
      ...shown,
      ...(shown.terminating === UNSAID && { terminating: undefined }),
    } as AttemptPresent;
  }

  /** As engines do it: a grant that is pinned to a Job's uid creates nothing. Whether anything has changed. */
  apply({ number, uid, grant }: Attempt, isBatch: boolean, nowMs: number): boolean {
    if (this.#lostSinceMs !== undefined) return false;
    const job = this.#jobs.get(number);
    const { parallelism, deadlineSeconds, epoch } = grant;
    if (!job) {
      const isPinned = isBatch && (epoch > 1 || uid !== null);
      if (this.#taken.has(number) || this.#refusal !== undefined || isPinned) return false;
      this.#create(number, parallelism, deadlineSeconds, nowMs);
      return true;
    }
    const before = JSON.stringify(job);
    Object.assign(job, { parallelism, deadlineSeconds });
    // A stop order is a deadline of one second: the transcript does not wait for it.
    if (deadlineSeconds === 1) this.#endAtDeadline(job, nowMs + SECOND_MS);
    return JSON.stringify(job) !== before;
  }

  remove(attempt: number): boolean {
    return this.#jobs.delete(attempt);
  }

  #create(attempt: number, parallelism: number, deadlineSeconds: number | null, startedAtMs: number): void {
    const uid = `${this.#name}-${this.#nextUid++}`;
    this.#jobs.set(attempt, {
      uid,
      startedAtMs,
      deadlineSeconds,
      parallelism,
      state: "running",
      reason: "",
      isHeld: this.#holds,
      shown: {},
    });
  }

  #endAtDeadline(job: Job, nowMs: number): void {
    const { state, deadlineSeconds, startedAtMs, isHeld } = job;
    if (state !== "running" || isHeld || deadlineSeconds === null || nowMs < startedAtMs + deadlineSeconds * SECOND_MS)
      return;
    Object.assign(job, { state: "failed", reason: "DeadlineExceeded" });
  }
}

const UNSAID = -1;

/** `terminating=2`, `terminating=unsaid`, `completedIndexes=0-3`. */
function shownAs(pair: string): [string, string | number | boolean] {
  const [key = "", value = ""] = pair.split("=");
  if (value === "unsaid") return [key, UNSAID];
  if (value === "true") return [key, true];
  return [key, key !== "completedIndexes" && /^\d+$/.test(value) ? Number(value) : value];
}
