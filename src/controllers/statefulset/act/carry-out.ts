import type { Dispatched, Engine } from "../../../engine/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import type { Grant, PlanResult } from "../../../plan/index.ts";
import { ownerOf } from "../../common/owner.ts";
import type { RevisionStore } from "../../common/revisions/revision-store.ts";
import type { Moment } from "../observe/moment.ts";
import { networkOf } from "../observe/network.ts";
import type { Session } from "../session.ts";
import type { Subject } from "../subject.ts";
import { type ActContext, type ActResult, act, grantsOutstanding, prepare, viewsOf } from "./act.ts";
import type { PartsSeen } from "./parts-seen.ts";
import { askThem, unaskedIn } from "./unasked.ts";

export interface CarryOutOptions {
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly revisions: RevisionStore;
  /** Asked before anything is written: a leader whose lease may have run out must not act. */
  readonly mayAct: () => boolean;
  readonly parts: PartsSeen;
  /** The most that the topology may have as an annotation; absent: as the contract says. */
  readonly topologyInlineBytes?: number;
}

export interface CarriedOut extends ActResult {
  readonly context: ActContext;
}

/** Act, write-ahead: the ledger first, then what it says. `wanted`: the clusters that the schedule names. */
export async function carryOut(
  { engine, interpreter, revisions, mayAct, parts, topologyInlineBytes }: CarryOutOptions,
  { key, statefulset, app }: Subject,
  session: Session,
  result: PlanResult,
  moment: Moment,
  adopting: ReadonlySet<string>,
  wanted: readonly string[] = [],
): Promise<CarriedOut> {
  if (!mayAct()) throw new Error("the lease may have run out; nothing is written");
  const saving = session.save(result.ledger);
  const { clusters, dispatched } = moment;
  const { actions, standing } = result;
  // [I21] What a grant refers to is being looked for: it is taken up again when that has been seen.
  const looked = standing.flatMap(({ cluster, epoch }) => {
    const message = parts.lookedFor(key, cluster, epoch);
    return message === undefined ? [] : [{ cluster, message }];
  });
  const isLooked = ({ cluster }: Grant) => looked.some((each) => each.cluster === cluster);
  const outstandingOf = (now: readonly Dispatched[]) =>
    grantsOutstanding(standing, now, app, session.dispatchedRefs).filter((grant) => !isLooked(grant));
  const outstanding = outstandingOf(dispatched);
  const granted = standing.map(({ cluster }) => cluster);
  const unasked = unaskedIn(moment, app, wanted, granted, result.ledger);
  const context: ActContext = {
    engine,
    app,
    owner: ownerOf(statefulset),
    revisions,
    interpreter,
    spec: statefulset.spec,
    network: networkOf(statefulset),
    ledger: result.ledger,
    viewOf: viewsOf(result.ledger),
    term: session.term,
    confirm: async () => {
      await session.confirm();
      // Asked last: a process that was stopped for a while has sent its question before, and has its answer now.
      if (!mayAct()) throw new Error("the lease may have run out; nothing is written");
    },
    adopting,
    dispatchedRefs: session.dispatchedRefs,
    partsAwaited: ({ cluster, epoch }, needed) => parts.awaited(key, cluster, epoch, needed),
    ...(topologyInlineBytes !== undefined && { topologyInlineBytes }),
  };
  // What is to be written is made ready while the ledger is on its way.
  const prepared = prepare(context, outstanding, clusters);
  const decides = await saving;
  const mustAsk = engine.awaitsLeader?.(app) === true;
  if (outstanding.length === 0 && actions.length === 0 && unasked.length === 0 && !mustAsk)
    return { context, failures: [], awaited: looked, unfinished: false };
  // What was decided earlier is carried out by whoever still leads. A Work that is gone cannot be compared with.
  if (!decides) await session.confirm();
  if (!session.stamped || mustAsk) {
    await engine.stamp(app, session.term, Object.keys(session.ledger.clusters));
    session.stamped = true;
  }
  // What the stamp read may be newer than what was planned on; grants are by epoch, so an old one is simply there.
  const still = outstandingOf(engine.dispatched(app));
  const { failures, awaited, unfinished } = await act(context, still, actions, clusters, prepared);
  const unanswered = unasked.length > 0 ? await askThem(context, unasked) : [];
  return { context, failures: [...failures, ...unanswered], awaited: [...looked, ...awaited], unfinished };
}
