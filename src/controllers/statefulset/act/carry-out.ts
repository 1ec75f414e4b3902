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

/** Act, write-ahead: the ledger first, then what it says. */
export async function carryOut(
  { engine, interpreter, revisions, mayAct, parts, topologyInlineBytes }: CarryOutOptions,
  { key, statefulset, app }: Subject,
  session: Session,
  result: PlanResult,
  moment: Moment,
  adopting: ReadonlySet<string>,
): Promise<CarriedOut> {
  if (!mayAct()) throw new Error("the lease may have run out; nothing is written");
  const saving = session.save(result.ledger);
  const { clusters, dispatched } = moment;
  const { actions, standing } = result;
  // [I21] The grant's ConfigMaps are being looked for in the cluster: the grant is written when they have been seen.
  const looked = standing.flatMap(({ cluster, epoch }) => {
    const message = parts.lookedFor(key, cluster, epoch);
    return message === undefined ? [] : [{ cluster, message }];
  });
  const isLooked = ({ cluster }: Grant) => looked.some((each) => each.cluster === cluster);
  const outstandingOf = (now: readonly Dispatched[]) =>
    grantsOutstanding(standing, now, app, session.dispatchedRefs).filter((grant) => !isLooked(grant));
  const outstanding = outstandingOf(dispatched);
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
      // Asked last: if the process was suspended after it sent the request above, the response may be old.
      if (!mayAct()) throw new Error("the lease may have run out; nothing is written");
    },
    adopting,
    dispatchedRefs: session.dispatchedRefs,
    partsAwaited: ({ cluster, epoch }, needed) => parts.awaited(key, cluster, epoch, needed),
    ...(topologyInlineBytes !== undefined && { topologyInlineBytes }),
  };
  // The manifests are rendered while the ledger is being written.
  const prepared = prepare(context, outstanding, clusters);
  const decides = await saving;
  if (outstanding.length === 0 && actions.length === 0)
    return { context, failures: [], awaited: looked, unfinished: false };
  // An earlier decision may only be carried out while this process leads. The check is needed because a Work that was
  // deleted cannot be compared and swapped.
  if (!decides) await session.confirm();
  if (!session.stamped) {
    await engine.stamp(app, session.term, Object.keys(session.ledger.clusters));
    session.stamped = true;
  }
  // The stamp may have read newer dispatch objects than the plan: grants that are already dispatched are skipped.
  const still = outstandingOf(engine.dispatched(app));
  const { failures, awaited, unfinished } = await act(context, still, actions, clusters, prepared);
  return { context, failures, awaited: [...looked, ...awaited], unfinished };
}
