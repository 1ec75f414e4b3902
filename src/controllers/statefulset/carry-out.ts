import type { Engine, EngineCluster } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import type { Grant, PlanResult } from "../../plan/index.ts";
import {
  type ActContext,
  type ActResult,
  act,
  grantsOutstanding,
  isDrained,
  isStranded,
  leftToDo,
  prepare,
} from "./act.ts";
import { networkOf } from "./network.ts";
import type { RevisionStore } from "./revision-store.ts";
import type { Session } from "./session.ts";
import { isDeleting, type Subject } from "./subject.ts";

export interface CarryOutOptions {
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly revisions: RevisionStore;
  /** Asked before anything is written: a leader whose lease may have run out must not act. */
  readonly mayAct: () => boolean;
}

export interface CarriedOut extends ActResult {
  readonly context: ActContext;
}

/** Act, write-ahead: the ledger first, then what it says. */
export async function carryOut(
  { engine, interpreter, revisions, mayAct }: CarryOutOptions,
  { statefulset, app }: Subject,
  session: Session,
  result: PlanResult,
  clusters: ReadonlyMap<string, EngineCluster>,
  adopting: ReadonlySet<string>,
): Promise<CarriedOut> {
  if (!mayAct()) throw new Error("the lease may have run out; nothing is written");
  const saving = session.save(result.ledger);
  const { retentionPolicy } = statefulset.spec;
  const volumes = isDeleting({ statefulset }) ? retentionPolicy.whenDeleted : retentionPolicy.whenScaled;
  const dispatched = engine.dispatched(app);
  const removals = result.actions.filter(({ kind }) => kind === "remove").map(({ cluster }) => cluster);
  const stranded = removals.filter((cluster) => isStranded({ engine, app, ledger: result.ledger }, cluster));
  const remade = new Set(removals.filter((cluster) => session.isStrandedLong(cluster, stranded.includes(cluster))));
  const planned = result.actions.filter(({ cluster }) => !remade.has(cluster));
  const actions = [...planned, ...leftToDo(result, dispatched, app, volumes)];
  // A cluster that is being let go or removed is not written to again, although its grant stands until it is gone; one that
  // has left the fleet has no place to write to.
  const leaving = new Set(actions.filter(({ kind }) => kind !== "deletePods").map(({ cluster }) => cluster));
  const isThere = ({ cluster }: Grant) =>
    clusters.has(cluster) && (remade.has(cluster) || !isDrained(result.ledger, cluster));
  const staying = result.grants.filter((grant) => !leaving.has(grant.cluster) && isThere(grant));
  const outstanding = grantsOutstanding(staying, dispatched, app, session.dispatchedRefs);
  const context: ActContext = {
    engine,
    app,
    owner: statefulset.metadata,
    revisions,
    interpreter,
    spec: statefulset.spec,
    network: networkOf(statefulset),
    ledger: result.ledger,
    term: session.term,
    confirm: () => session.confirm(),
    adopting,
    dispatchedRefs: session.dispatchedRefs,
  };
  // What is to be written is made ready while the ledger is on its way.
  const prepared = prepare(context, outstanding, clusters);
  const decides = await saving;
  if (outstanding.length === 0 && actions.length === 0) return { context, failures: [], unfinished: false };
  // What was decided earlier is carried out by whoever still leads. A Work that is gone cannot be compared with.
  if (!decides) await session.confirm();
  if (!session.stamped) {
    await engine.stamp(app, session.term, Object.keys(session.ledger.clusters));
    session.stamped = true;
  }
  // What the stamp read may be newer than what was planned on; grants are by epoch, so an old one is simply there.
  const still = grantsOutstanding(staying, engine.dispatched(app), app, session.dispatchedRefs);
  const { failures, unfinished } = await act(context, still, actions, clusters, prepared);
  return { context, failures, unfinished: unfinished || stranded.length > 0 };
}
