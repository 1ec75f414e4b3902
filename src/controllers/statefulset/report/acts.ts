/** What people did to a rollout, as status and Events tell it. Pure. */
import type { CrossClusterStatefulsetStatus, ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { LeaderMove, PlanResult, Promotion } from "../../../plan/index.ts";

type LeaderTransfer = NonNullable<CrossClusterStatefulsetStatus["leaderTransfer"]>;
type Spec = ParsedCrossClusterStatefulset["spec"];

/** [W7] In the planner's words, which count waves from 0. */
export function promotionOf({ promote }: Spec): Promotion | undefined {
  if (!promote) return undefined;
  const { revision, wave, window = false } = promote;
  return { revision, window, ...(wave !== undefined && { wave: wave - 1 }) };
}

/** Past what the rollout to this revision was promoted, by whom and when; undefined: it was not. */
export function promotedText({ promote }: Spec, revision: string): string | undefined {
  if (promote?.revision !== revision) return undefined;
  const { wave, window, at, by } = promote;
  const past = [
    ...(wave === undefined ? [] : [`past the soak of wave ${wave}`]),
    ...(window ? ["outside the maintenance windows"] : []),
  ];
  return `${past.join(" and ")}${by === undefined ? "" : ` by ${by}`} at ${at}`;
}

const MOVE_STATES: Record<LeaderMove["state"], string> = {
  waiting: "Waiting",
  asked: "Asked",
  moved: "Moved",
  stayed: "Stayed",
  refused: "Refused",
};

/** [L8] The user's last request to move the leader, if the planner has already read it. */
export function leaderTransferOf(
  { transferLeader }: Spec,
  { ledger, waiting }: PlanResult,
): LeaderTransfer | undefined {
  const move = ledger.leaderRequest;
  if (!transferLeader || move?.id !== transferLeader.at) return undefined;
  const said = waiting.find(({ code }) => code === "LeaderTransfer")?.message;
  const message = move.message || said;
  return {
    to: transferLeader.to,
    at: transferLeader.at,
    ...(transferLeader.by !== undefined && { by: transferLeader.by }),
    state: MOVE_STATES[move.state],
    ...(message !== undefined && { message }),
    since: `${new Date(move.sinceMs).toISOString().slice(0, 19)}Z`,
  };
}

export interface ActNews {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/** An Event for each user's act that affects the current rollout. Each controller process announces it once. */
export class ActEvents {
  readonly #promoted = new Map<string, string>();
  readonly #moves = new Map<string, string>();

  news(key: string, { spec }: ParsedCrossClusterStatefulset, plan: PlanResult): ActNews[] {
    return [...this.#promotion(key, spec, plan), ...this.#leaderMove(key, spec, plan)];
  }

  forget(key: string): void {
    this.#promoted.delete(key);
    this.#moves.delete(key);
  }

  #promotion(key: string, spec: Spec, { ledger }: PlanResult): ActNews[] {
    const { rollout } = ledger;
    const promoted = rollout ? promotedText(spec, rollout.to) : undefined;
    if (!rollout || promoted === undefined || this.#promoted.get(key) === promoted) return [];
    this.#promoted.set(key, promoted);
    return [{ type: "Normal", reason: "Promoted", message: `the rollout to ${rollout.to} continues ${promoted}` }];
  }

  /** How a request ended. What had ended before this process began is old news. */
  #leaderMove(key: string, spec: Spec, plan: PlanResult): ActNews[] {
    const move = leaderTransferOf(spec, plan);
    const now = move ? `${move.at} ${move.state}` : "";
    const before = this.#moves.get(key);
    this.#moves.set(key, now);
    if (!move || before === undefined || before === now) return [];
    const { state = "", to = "", by, message = "" } = move;
    const asked = `the leader was asked for at ${to}${by === undefined ? "" : ` by ${by}`}`;
    if (state === "Moved") return [{ type: "Normal", reason: "LeaderMoved", message: `${asked}: ${message}` }];
    if (state !== "Stayed" && state !== "Refused") return [];
    return [{ type: "Warning", reason: `LeaderTransfer${state}`, message: `${asked}: ${message}` }];
  }
}
