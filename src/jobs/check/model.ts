/**
 * A small world around the planner, one step at a time: dispatch objects on a hub, members with their own Job controller
 * and clock, deliveries that come late, agents that create again what they remember, and a controller that crashes.
 */
import { STOP_DEADLINE_SECONDS } from "../grants.ts";
import { emptyJobLedger } from "../ledger.ts";
import { JOB_RULES, type JobRules, planJob } from "../plan.ts";
import type { AttemptSeen, JobIntent, JobLedger, JobObservations } from "../types.ts";

export const CLUSTERS = ["a", "b"] as const;
export type Cluster = (typeof CLUSTERS)[number];

/** One second of the planner's time is one step of the model's clock. */
export const MODEL_INTENT: JobIntent = {
  isBatch: true,
  work: { kind: "whole" },
  slots: 1,
  parallelism: 1,
  clusters: [...CLUSTERS],
  guarantee: "Exclusive",
  lostAfterMs: 1_000,
  windowMs: 2_000,
  allowanceMs: 1_000,
  podDeadlineMs: null,
  graceMs: 1_000,
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

export interface Manifest {
  readonly attempt: number;
  readonly epoch: number;
  readonly parallelism: number;
  readonly deadline: number;
  /** The uid that it is pinned to: a cluster refuses to create it. */
  readonly pin: string | null;
}

export interface Job {
  uid: string;
  startedAt: number;
  /** Something suspends it: no pod runs and no deadline passes, and it starts again when that ends. */
  isHeld: boolean;
  parallelism: number;
  deadline: number;
  pods: "none" | "running" | "ending";
  endingSince: number;
  state: "running" | "succeeded" | "failed";
  reason: string;
}

interface Member {
  isCut: boolean;
  jobs: Record<number, Job>;
  /** Pods of deleted Jobs, by attempt: since when they have been ending. */
  orphans: Record<number, number>;
  /** What was delivered last: the agent may create it again. */
  cache: Record<number, Manifest>;
  nextUid: number;
}

interface HubWork {
  manifest: Manifest;
  cluster: Cluster;
  term: number;
  isRemoved: boolean;
}

type Act =
  | { readonly kind: "dispatch"; readonly cluster: Cluster; readonly manifest: Manifest }
  | { readonly kind: "remove"; readonly attempt: number };

export interface State {
  now: number;
  ledger: JobLedger;
  term: number;
  acts: Act[];
  /** What a leader that was deposed still wants to write. */
  ghost: { term: number; acts: Act[] } | null;
  works: Record<number, HubWork>;
  members: Record<Cluster, Member>;
  seen: Record<Cluster, { jobs: Record<number, Job> } | { since: number }>;
  /** Every manifest that was ever written: any of them may be delivered late. */
  written: Manifest[];
  drained: Cluster | null;
  left: Record<Fault, number>;
  /** Attempts with an end that the stored ledger knows. */
  over: number[];
  /** A plan has found the work complete. */
  isComplete: boolean;
}

export type Fault = "cut" | "crash" | "delete" | "recreate" | "late" | "depose" | "fail" | "drain" | "hold";

export interface Mutation {
  readonly rules?: Partial<JobRules>;
  readonly intent?: Partial<JobIntent>;
  readonly seen?: (seen: AttemptSeen) => AttemptSeen;
  readonly ledger?: (ledger: JobLedger) => JobLedger;
  readonly pin?: "none";
  readonly terms?: "ignored";
  readonly write?: "after acting";
}

export interface Scenario {
  readonly intent?: Partial<JobIntent>;
  readonly faults: Partial<Record<Fault, number>>;
}

export function start({ faults }: Scenario): State {
  const member = (): Member => ({ isCut: false, jobs: {}, orphans: {}, cache: {}, nextUid: 1 });
  const none = { cut: 0, crash: 0, delete: 0, recreate: 0, late: 0, depose: 0, fail: 0, drain: 0, hold: 0 };
  return {
    now: 0,
    ledger: emptyJobLedger("t"),
    term: 1,
    acts: [],
    ghost: null,
    works: {},
    members: { a: member(), b: member() },
    seen: { a: { jobs: {} }, b: { jobs: {} } },
    written: [],
    drained: null,
    left: { ...none, ...faults },
    over: [],
    isComplete: false,
  };
}

/** What steps change is copied; what they replace is shared. */
function copyOf(state: State): State {
  const { works, members, acts, ghost, written, left } = state;
  const each = <T extends object>(all: Record<number, T>): Record<number, T> =>
    Object.fromEntries(Object.entries(all).map(([key, value]) => [key, { ...value }]));
  const member = (of: Member): Member => ({
    ...of,
    jobs: each(of.jobs),
    orphans: { ...of.orphans },
    cache: { ...of.cache },
  });
  return {
    ...state,
    works: each(works),
    members: { a: member(members.a), b: member(members.b) },
    seen: { ...state.seen },
    acts: [...acts],
    ghost: ghost && { ...ghost, acts: [...ghost.acts] },
    written: [...written],
    left: { ...left },
  };
}

export interface Step {
  readonly name: string;
  readonly isFault: boolean;
  /** The state after it; undefined: it changes nothing. */
  readonly take: () => State | undefined;
}

/** Every step that may happen next. */
export function steps(state: State, scenario: Scenario, mutation: Mutation): Step[] {
  const found: Step[] = [];
  const offer = (name: string, change: (next: State) => boolean, fault?: Fault) => {
    if (fault && state.left[fault] === 0) return;
    const take = () => {
      const next = copyOf(state);
      if (fault) next.left[fault]--;
      return change(next) ? next : undefined;
    };
    found.push({ name, isFault: fault !== undefined, take });
  };
  offer("plan", (next) => plan(next, scenario, mutation));
  if (mutation.write === "after acting") {
    offer("plan, act and crash", (next) => plan(next, scenario, mutation, "crash"), "crash");
  }
  if (state.acts.length > 0) {
    offer("act", (next) => act(next, next.acts.shift(), next.term, mutation));
    offer("crash", (next) => set(next, { acts: [] }), "crash");
    offer(
      "depose",
      (next) => set(next, { ghost: { term: next.term, acts: next.acts }, acts: [], term: next.term + 1 }),
      "depose",
    );
  }
  if (state.ghost && state.ghost.acts.length > 0) {
    offer("ghost", (next) => act(next, next.ghost?.acts.shift(), next.ghost?.term ?? 0, mutation));
  }
  for (const name of CLUSTERS) {
    const member = state.members[name];
    offer(`watch ${name}`, (next) => watch(next, name));
    offer(`cut ${name}`, (next) => !member.isCut && set(next.members[name], { isCut: true }), "cut");
    if (member.isCut) offer(`mend ${name}`, (next) => set(next.members[name], { isCut: false }));
    if (state.drained === null) offer(`drain ${name}`, (next) => set(next, { drained: name }), "drain");
    for (const work of Object.values(state.works)) {
      if (work.cluster === name && !member.isCut)
        offer(`deliver ${name} ${work.manifest.attempt}`, (next) => deliver(next, work));
    }
    for (const manifest of state.written) {
      const at = state.ledger.attempts.find(({ number }) => number === manifest.attempt)?.cluster;
      if (at === name)
        offer(
          `late ${name} ${manifest.attempt}.${manifest.epoch}`,
          (next) => apply(next, next.members[name], manifest),
          "late",
        );
    }
    for (const manifest of Object.values(member.cache)) {
      const isMissing = member.jobs[manifest.attempt] === undefined;
      if (isMissing)
        offer(`recreate ${name} ${manifest.attempt}`, (next) => apply(next, next.members[name], manifest), "recreate");
    }
    const replan = (next: State) => plan(next, scenario, mutation);
    for (const key of Object.keys(member.jobs)) jobSteps(offer, replan, name, Number(key), state);
    for (const key of Object.keys(member.orphans)) {
      offer(`ended ${name} ${key}`, (next) => delete next.members[name].orphans[Number(key)]);
    }
  }
  // What must have happened by now comes first.
  if (isForced(state)) return found.filter(({ name }) => /^(?:deadline|ended) /.test(name));
  offer("tick", (next) => set(next, { now: next.now + 1 }));
  return found;
}

type Offer = (name: string, change: (next: State) => boolean, fault?: Fault) => void;

/** Kubernetes' Job controller in the member. Its clock may be slow by the allowance. */
function jobSteps(offer: Offer, replan: (next: State) => boolean, name: Cluster, attempt: number, state: State): void {
  const job = state.members[name].jobs[attempt];
  if (!job) return;
  const change = (title: string, edit: (job: Job) => boolean, fault?: Fault) =>
    offer(
      `${title} ${name} ${attempt}`,
      (next) => {
        const own = next.members[name].jobs[attempt];
        return own ? edit(own) : false;
      },
      fault,
    );
  const end = (job: Job) => set(job, { pods: "ending", endingSince: state.now });
  if (job.state === "running" && job.isHeld) {
    change("resume", (own) => set(own, { isHeld: false, startedAt: state.now }));
  } else if (job.state === "running") {
    // What no plan has seen, none can wait for.
    if (!state.members[name].isCut && state.acts.length === 0)
      offer(`hold ${name} ${attempt}`, (next) => hold(next, name, attempt, replan), "hold");
    if (job.pods === "none" && job.parallelism > 0) change("run", (own) => set(own, { pods: "running" }));
    if (job.pods === "running" && job.parallelism === 0) change("lower", end);
    if (job.pods === "running") {
      change("succeed", (own) => set(own, { pods: "none", state: "succeeded", reason: "" }));
      change("fail", (own) => set(own, { pods: "none", state: "failed", reason: "BackoffLimitExceeded" }), "fail");
    }
    if (state.now - job.startedAt >= job.deadline) {
      change("deadline", (own) => {
        if (own.pods === "running") end(own);
        return set(own, { state: "failed", reason: "DeadlineExceeded" });
      });
    }
  }
  if (job.pods === "ending") change("ended", (own) => set(own, { pods: "none" }));
  offer(`delete ${name} ${attempt}`, (next) => remove(next, name, attempt), "delete");
}

/** Time waits for what must have happened by now: a deadline with the slowest clock, and the grace period. */
function isForced({ now, members }: State): boolean {
  return Object.values(members).some(({ jobs, orphans }) => {
    const isLate = (job: Job) =>
      (job.state === "running" &&
        !job.isHeld &&
        now - job.startedAt >= job.deadline + MODEL_INTENT.allowanceMs / 1000) ||
      (job.pods === "ending" && now - job.endingSince >= MODEL_INTENT.graceMs / 1000);
    return (
      Object.values(jobs).some(isLate) ||
      Object.values(orphans).some((since) => now - since >= MODEL_INTENT.graceMs / 1000)
    );
  });
}

function plan(next: State, { intent }: Scenario, mutation: Mutation, beforeWriting?: "crash"): boolean {
  if (next.acts.length > 0) return false;
  const asked = { ...MODEL_INTENT, ...intent, ...mutation.intent };
  const rules = { ...JOB_RULES, ...mutation.rules };
  const seen = observe(next, mutation);
  let result = planJob(asked, next.ledger, seen, next.now * 1000, rules);
  // The controller plans again at once while its own decisions ask for it.
  for (let again = 0; again < 3 && result.requeueAtMs === next.now * 1000; again++) {
    const written = { ...seen, next: {} };
    result = planJob(asked, result.ledger, written, next.now * 1000, rules);
  }
  const ledger = mutation.ledger ? mutation.ledger(result.ledger) : result.ledger;
  const acts: Act[] = [];
  for (const { number, cluster, grant, uid } of result.standing) {
    const pin = mutation.pin === "none" || grant.epoch === 1 ? null : uid;
    const deadline = grant.deadlineSeconds ?? Number.POSITIVE_INFINITY;
    const manifest = { attempt: number, epoch: grant.epoch, parallelism: grant.parallelism, deadline, pin };
    if (isSameGrant(next.works[number]?.manifest, manifest)) continue;
    acts.push({ kind: "dispatch", cluster: cluster as Cluster, manifest });
  }
  for (const action of result.actions) {
    if (action.kind === "expire") continue;
    const shown = next.seen[action.cluster as Cluster];
    if ("since" in shown)
      throw new Error(`removes attempt ${action.attempt} in ${action.cluster}, which is unreachable`);
    if (next.works[action.attempt]?.isRemoved !== true) acts.push({ kind: "remove", attempt: action.attempt });
  }
  const isSame = JSON.stringify(ledger) === JSON.stringify(next.ledger);
  if (isSame && acts.length === 0) return false;
  if (beforeWriting === "crash") {
    for (const each of acts) act(next, each, next.term, mutation);
    return acts.length > 0;
  }
  if (next.isComplete && ledger.nextAttempt > next.ledger.nextAttempt) {
    throw new Error(`attempt ${next.ledger.nextAttempt} starts although the work is known to be complete`);
  }
  next.isComplete ||= result.ledger.end?.kind === "Complete";
  next.ledger = ledger;
  // Where nothing can come between, its writes are one step with the plan.
  const isWhole = next.left.crash === 0 && next.left.depose === 0;
  if (isWhole) for (const each of acts) act(next, each, next.term, mutation);
  next.acts = isWhole ? [] : acts;
  next.over = ledger.attempts.filter(({ outcome }) => outcome !== null).map(({ number }) => number);
  return true;
}

/** As the controller compares: by what the member would get. */
function isSameGrant(a: Manifest | undefined, b: Manifest): boolean {
  return a !== undefined && a.parallelism === b.parallelism && a.deadline === b.deadline && a.pin === b.pin;
}

function observe(state: State, mutation: Mutation): JobObservations {
  const attempts: Record<number, AttemptSeen> = {};
  for (const { number, cluster } of state.ledger.attempts) {
    const seen = seenAs(state.seen[cluster as Cluster], number);
    attempts[number] = mutation.seen ? mutation.seen(seen) : seen;
  }
  const next = Object.fromEntries(CLUSTERS.map((name) => [name, seenAs(state.seen[name], state.ledger.nextAttempt)]));
  const clusters = Object.fromEntries(
    CLUSTERS.map((name) => [
      name,
      {
        state: "since" in state.seen[name] ? ("NotReady" as const) : ("Ready" as const),
        ...(state.drained === name && { evicts: true }),
      },
    ]),
  );
  const dispatched = new Set(Object.keys(state.works).map(Number));
  return { clusters, attempts, next, dispatched, orderedStop: orderedStop(state) };
}

function orderedStop({ ledger, works }: State): Set<number> {
  const isOrdered = (manifest: Manifest) => manifest.parallelism === 0 && manifest.deadline === STOP_DEADLINE_SECONDS;
  const stopped = ledger.attempts.filter(({ number }) => {
    const work = works[number];
    return !work || isOrdered(work.manifest);
  });
  return new Set(stopped.map(({ number }) => number));
}

function seenAs(seen: State["seen"][Cluster], attempt: number): AttemptSeen {
  if ("since" in seen) return { kind: "unreachable", sinceMs: seen.since * 1000, message: "cut off" };
  const job = seen.jobs[attempt];
  if (!job) return { kind: "absent" };
  return {
    kind: "present",
    uid: job.uid,
    isDeleting: false,
    state: job.state,
    reason: job.reason,
    deadlineSeconds: job.deadline,
    ...(job.isHeld ? { isSuspended: true } : { startTime: String(job.startedAt) }),
    active: job.pods === "running" ? 1 : 0,
    terminating: job.pods === "ending" ? 1 : 0,
    isPending: false,
  };
}

function watch(next: State, name: Cluster): boolean {
  const { isCut, jobs } = next.members[name];
  const before = next.seen[name];
  next.seen[name] = isCut ? ("since" in before ? before : { since: next.now }) : { jobs: structuredClone(jobs) };
  return JSON.stringify(before) !== JSON.stringify(next.seen[name]);
}

function act(next: State, given: Act | undefined, term: number, mutation: Mutation): boolean {
  if (!given) return false;
  const number = given.kind === "dispatch" ? given.manifest.attempt : given.attempt;
  const work = next.works[number];
  // The engine's guard: a leader that was deposed can write nothing any more.
  if (term < next.term && mutation.terms !== "ignored") return true;
  if (given.kind === "remove") {
    if (work) work.isRemoved = true;
    return true;
  }
  if (work?.isRemoved) return true;
  next.works[number] = { manifest: given.manifest, cluster: given.cluster, term, isRemoved: false };
  next.written.push(given.manifest);
  return true;
}

function deliver(next: State, { manifest, isRemoved, cluster }: HubWork): boolean {
  const member = next.members[cluster];
  const { attempt } = manifest;
  if (!isRemoved) {
    const before = JSON.stringify(member);
    apply(next, member, manifest);
    member.cache[attempt] = manifest;
    return JSON.stringify(member) !== before;
  }
  if (member.jobs[attempt]) remove(next, cluster, attempt);
  delete next.works[attempt];
  return true;
}

/** As engines and API servers do it: what is pinned cannot be created; an update reaches any object of that name. */
function apply(next: State, member: Member, { attempt, parallelism, deadline, pin }: Manifest): boolean {
  const job = member.jobs[attempt];
  if (!job) {
    if (pin !== null) return false;
    const uid = `u${attempt}.${member.nextUid++}`;
    member.jobs[attempt] = {
      uid,
      startedAt: next.now,
      isHeld: false,
      parallelism,
      deadline,
      pods: "none",
      endingSince: 0,
      state: "running",
      reason: "",
    };
    return true;
  }
  return set(job, { parallelism, deadline });
}

function remove(next: State, name: Cluster, attempt: number): boolean {
  const member = next.members[name];
  const job = member.jobs[attempt];
  if (!job) return false;
  delete member.jobs[attempt];
  // Deleting what is already going away gives it no more time.
  if (job.pods !== "none") member.orphans[attempt] = job.pods === "ending" ? job.endingSince : next.now;
  return true;
}

/** A queue or a user in the member suspends it. */
function hold(next: State, name: Cluster, attempt: number, replan: (next: State) => boolean): boolean {
  const job = next.members[name].jobs[attempt];
  if (!job) return false;
  if (job.pods === "running") set(job, { pods: "ending", endingSince: next.now });
  job.isHeld = true;
  watch(next, name);
  replan(next);
  return true;
}

function set<T extends object>(target: T, change: Partial<T>): boolean {
  Object.assign(target, change);
  return true;
}

/** What no step may do. Undefined: nothing is wrong. */
export function violation(before: State, after: State, guarantee: JobIntent["guarantee"]): string | undefined {
  const alive = aliveIn(after);
  if (guarantee !== "AtLeastOnce" && alive.size > 1) return `attempts ${[...alive].join(" and ")} are alive at once`;
  const were = aliveIn(before);
  for (const attempt of alive) {
    if (were.has(attempt) || !before.over.includes(attempt)) continue;
    const { outcome } = before.ledger.attempts.find(({ number }) => number === attempt) ?? {};
    const mayRun = guarantee === "AtLeastOnce" && outcome?.kind === "lost";
    if (!mayRun) return `attempt ${attempt} runs again after its end (${outcome?.reason}) was recorded`;
  }
  return undefined;
}

/** Attempts of which pods run or are going away, anywhere. */
function aliveIn({ members }: State): Set<number> {
  const alive = new Set<number>();
  for (const { jobs, orphans } of Object.values(members)) {
    for (const [attempt, { pods }] of Object.entries(jobs)) if (pods !== "none") alive.add(Number(attempt));
    for (const attempt of Object.keys(orphans)) alive.add(Number(attempt));
  }
  return alive;
}
