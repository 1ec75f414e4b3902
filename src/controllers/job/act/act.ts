import type { ParsedCrossClusterJob } from "../../../api/index.ts";
import {
  type Dispatched,
  type Engine,
  type EngineBundle,
  type ObjectRef,
  SupersededError,
  TermOutOfRangeError,
} from "../../../engine/index.ts";
import type { Attempt, JobAction, JobPlan } from "../../../jobs/index.ts";
import { attemptRef } from "../attempt-marks.ts";
import { ATTEMPT_NOTE, GRANT_NOTE, grantText, type JobSession, LIFE_NOTE } from "../ledger.ts";
import { renderAttempt } from "./render.ts";

export interface JobActContext {
  readonly engine: Engine;
  readonly bundle: EngineBundle;
  readonly job: ParsedCrossClusterJob;
  readonly session: JobSession;
  readonly nowMs: number;
}

export interface JobActResult {
  readonly failures: readonly { readonly cluster: string; readonly message: string }[];
  /** Something is still going away and has to be looked at again. */
  readonly isUnfinished: boolean;
  /** An attempt that has ended was just ordered to stop: the next plan reads the order on the hub, and continues. */
  readonly isOrdered: boolean;
}

/** So long after its dispatch object is gone a member's view may still show what it delivered. */
const VIEW_LAG_MS = 2_000;

/** What the ledger says, written before. [J13] In order: what was given up gets the order to stop before anything starts. */
export async function actOnJob(context: JobActContext, plan: JobPlan, wasSaved: boolean): Promise<JobActResult> {
  const { engine, bundle, session } = context;
  const outstanding = plan.standing.filter((attempt) => isOutstanding(context, attempt));
  const actions = plan.actions.filter((action) => action.kind !== "expire");
  const failures: { cluster: string; message: string }[] = [];
  // [J12] An attempt that has ended is over when this leader's own reading says that its order to stop stands.
  const isEnding = ({ ending, outcome }: Attempt) => ending !== undefined && outcome === null;
  let isUnfinished = plan.ledger.attempts.some(isEnding);
  const mustStamp = isUnfinished && !session.stamped;
  if (outstanding.length === 0 && actions.length === 0 && !mustStamp) {
    return { failures, isUnfinished, isOrdered: false };
  }
  // What was decided earlier is carried out by the process that still leads.
  if (!wasSaved) await session.confirm();
  if (!session.stamped) {
    await engine.stamp(bundle, session.term);
    session.stamped = true;
  }
  const attempt = async (cluster: string, work: () => Promise<boolean>) => {
    try {
      if (!(await work())) isUnfinished = true;
    } catch (error) {
      if (error instanceof SupersededError || error instanceof TermOutOfRangeError) throw error;
      failures.push({ cluster, message: error instanceof Error ? error.message : String(error) });
    }
  };
  for (const each of outstanding) {
    const mustHaveStopped = failures.length > 0 && each.outcome === null;
    if (!mustHaveStopped) await attempt(each.cluster, () => dispatchAttempt(context, each));
  }
  for (const action of actions) await attempt(action.cluster, () => withdraw(context, action));
  return { failures, isUnfinished, isOrdered: mustStamp || outstanding.some(isEnding) };
}

function find({ engine, bundle }: JobActContext, cluster: string, ref: ObjectRef): Dispatched | undefined {
  return engine.dispatched(bundle).find((one) => one.cluster === cluster && one.ref.name === ref.name);
}

function isOutstanding(context: JobActContext, attempt: Attempt): boolean {
  const found = find(context, attempt.cluster, attemptRef(context.job, attempt.number));
  return found?.deleting === true || found?.notes[GRANT_NOTE] !== grantText(attempt);
}

async function dispatchAttempt(context: JobActContext, attempt: Attempt): Promise<boolean> {
  const { engine, bundle, job, session } = context;
  const { cluster } = attempt;
  const { term } = session;
  const ref = attemptRef(job, attempt.number);
  const found = find(context, cluster, ref);
  // Another writer, or a leader that slept, has deleted it: it is helped to its end, and then recreated.
  if (found?.deleting) {
    await engine.withdraw(bundle, found, "keep");
    return false;
  }
  // Its object exists and carries the attempt's mark, but its dispatch object was lost: it is taken over. Never otherwise:
  // Open Cluster Management would replace the whole spec of what it takes over, and a Job's cannot be replaced.
  const takeOver = attempt.uid !== null && !found;
  if (!found) await reserve(context, cluster, ref, takeOver);
  const expected = find(context, cluster, ref);
  if (!expected || expected.deleting) return false;
  await engine.dispatch(bundle, {
    cluster,
    manifest: renderAttempt(job, attempt),
    term,
    notes: {
      [GRANT_NOTE]: grantText(attempt),
      [LIFE_NOTE]: job.metadata.uid ?? "",
      [ATTEMPT_NOTE]: JSON.stringify(attempt),
    },
    expected,
    takeOver,
  });
  return true;
}

/** A leader that slept could otherwise create again what another one has removed. */
async function reserve(context: JobActContext, cluster: string, ref: ObjectRef, takeOver: boolean): Promise<void> {
  const { engine, bundle, session } = context;
  const reserved = await engine.reserve(bundle, [ref], { cluster, term: session.term, takeOver });
  try {
    await session.confirm();
  } catch (error) {
    await Promise.allSettled(reserved.map((one) => engine.withdraw(bundle, one, "keep")));
    throw error;
  }
}

async function withdraw(context: JobActContext, action: Exclude<JobAction, { kind: "expire" }>): Promise<boolean> {
  const { engine, bundle, job, session, nowMs } = context;
  const { attempt, cluster } = action;
  const ref = attemptRef(job, attempt);
  const what = action.kind === "remove" ? "remove" : "keep";
  const agoMs = nowMs - (session.removedAtMs.get(attempt) ?? Number.NEGATIVE_INFINITY);
  if (!find(context, cluster, ref) && what === "remove") {
    // It went with its dispatch object, and the member's watch does not say so yet.
    if (agoMs >= 0 && agoMs < VIEW_LAG_MS) return false;
    // Without a dispatch object there is nothing that could delete it in the member.
    await reserve(context, cluster, ref, true);
  }
  const found = find(context, cluster, ref);
  if (found && what === "remove") session.removedAtMs.set(attempt, nowMs);
  return found === undefined || (await engine.withdraw(bundle, found, what));
}
