import type { Intent } from "../../types/index.ts";
import type { Scenario } from "./scenario.ts";

const SECOND_MS = 1000;
/** The planner's own patience: with a drifted object, a step that was superseded, an unknown leader. */
const PATIENCE_MS = 60_000;
/** And with a grant that does not arrive. */
const DELIVERY_MS = 300_000;
/** And with a request to move the leader that cannot begin. */
const REQUEST_MS = 600_000;
/** No deadline at all: the age is kept as it is. */
const NEVER_MS = Number.POSITIVE_INFINITY;

/**
 * How old a time can become before its age makes no difference any more: the longest deadline that it is held against.
 * Times that are only shown have none. Beyond its horizon every age is the same to the planner, and so it is to the
 * explorer.
 */
export interface Horizons {
  readonly written: number;
  readonly acked: number;
  readonly open: number;
  readonly reasserted: number;
  readonly away: number;
  readonly stepSince: number;
  readonly progress: number;
  readonly soak: number;
  readonly leaderUnknown: number;
  readonly leaderRequest: number;
}

export function horizonsOf({ intent, edits, faults, listsMembers }: Scenario): Horizons {
  const intents = [intent];
  for (const edit of edits) intents.push(edit.apply(intents.at(-1) ?? intent));
  const longest = (seconds: (each: Intent) => number) => Math.max(...intents.map(seconds)) * SECOND_MS;
  const rolling = (seconds: (each: Extract<Intent["update"], { type: "RollingUpdate" }>) => number) =>
    longest(({ update }) => (update.type === "RollingUpdate" ? seconds(update) : 0));
  const transfer = rolling(({ leaderTransfer }) => leaderTransfer?.timeoutSeconds ?? 0);
  return {
    // A rebuilt ledger believes the dispatch object that was written last.
    written: faults.rebuild > 0 ? NEVER_MS : DELIVERY_MS,
    acked: longest(({ assumeCompleteAfterSeconds }) => assumeCompleteAfterSeconds ?? 0),
    open: longest(({ minReadySeconds }) => minReadySeconds),
    reasserted: PATIENCE_MS,
    // A list of members proves a loss only if it was read after the cluster went.
    away: listsMembers ? NEVER_MS : longest(({ failover }) => failover.afterSeconds),
    stepSince: transfer,
    progress: Math.max(
      PATIENCE_MS,
      rolling(({ progressDeadlineSeconds }) => progressDeadlineSeconds),
    ),
    soak: rolling(({ waves }) => Math.max(0, ...waves.map(({ soakSeconds }) => soakSeconds))),
    leaderUnknown: Math.max(PATIENCE_MS, transfer),
    leaderRequest: intents.some(({ requests }) => requests.transferLeader) ? REQUEST_MS : 0,
  };
}
