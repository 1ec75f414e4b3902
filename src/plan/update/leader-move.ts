import { isInMaintenance } from "../../rollout/index.ts";
import { nearest } from "../../runtime/index.ts";
import { type Leader, transferTarget } from "../evidence/leader.ts";
import { serialCost, viewIn } from "../evidence/view.ts";
import { instanceKey, localName } from "../identity/identity.ts";
import type { Draft } from "../ledger/draft.ts";
import { fitsBudget } from "../limits/budget.ts";
import { busyClusters, turnElsewhere } from "../membership/member.ts";
import type { ClusterName, LeaderMove } from "../types/index.ts";
import type { Turns } from "./rollout.ts";

const SECOND_MS = 1000;
/**
 * [L13] How long a user's request waits until it can begin. If it began hours later, when the user has long found
 * another way, it would surprise them.
 */
const REQUEST_PATIENCE_MS = 600_000;

/** A user's request has priority over a maintenance. */
const MOVES = ["leaderRequest", "leaderEvacuation"] as const;
type Which = (typeof MOVES)[number];

/** Where the leader has to move. */
interface Destination {
  readonly cluster: ClusterName;
  /** The name in the request to the operator. */
  readonly instance: string;
  /** Its name in the cluster, where a person named this very instance; a cluster's name means any of its instances. */
  readonly named?: string;
}

/**
 * [L8] [L9] Moves the leader where a person asked to have it, or away from a cluster in maintenance. Returns the
 * cluster that keeps its turn because its leader is on its way.
 */
export function moveLeader(turns: Turns): ReadonlySet<ClusterName> {
  const { draft } = turns;
  const keep = new Set<ClusterName>();
  takeRequest(draft);
  noteEvacuation(turns);
  for (const which of MOVES) {
    const move = draft.ledger[which];
    if (move?.state !== "asked") continue;
    const verdict = followed(turns, which, move);
    applyVerdict(turns, which, move, verdict);
    if (verdict.kind === "watch") keep.add(verdict.from);
  }
  if (keep.size > 0) return keep;
  for (const which of MOVES) {
    const move = draft.ledger[which];
    if (move?.state !== "waiting") continue;
    applyVerdict(turns, which, move, givenUp(turns, which, move, begun(turns, which, move)));
    // One move at a time: a leader cannot move to two clusters.
    break;
  }
  return keep;
}

/** [L8] Each request is carried out once; one that was withdrawn before it began is dropped. */
function takeRequest(draft: Draft): void {
  const { transferLeader } = draft.intent.requests;
  const heard = draft.ledger.leaderRequest;
  if (!transferLeader) {
    if (heard?.state === "waiting") draft.set("leaderRequest", null);
    return;
  }
  if (heard?.id === transferLeader.id || heard?.state === "asked") return;
  const { id, to } = transferLeader;
  draft.set("leaderRequest", { id, to, from: null, state: "waiting", message: "", sinceMs: draft.nowMs });
}

/** [L9] The leader is to leave a cluster in maintenance: asked once, and again if it was away and came back. */
function noteEvacuation({ draft, leader }: Turns): void {
  const before = draft.ledger.leaderEvacuation;
  if (before && before.state !== "asked" && !isInMaintenance(draft.intent, before.id))
    draft.set("leaderEvacuation", null);
  if (leader.kind !== "known" || !isInMaintenance(draft.intent, leader.cluster)) return;
  if (timeoutMs(draft) === undefined) return;
  const move = draft.ledger.leaderEvacuation;
  if (move?.state === "asked" || (move?.id === leader.cluster && move.state !== "moved")) return;
  const { cluster: id } = leader;
  draft.set("leaderEvacuation", { id, to: "", from: null, state: "waiting", message: "", sinceMs: draft.nowMs });
}

/** What is to be done about a move now. */
type Verdict =
  | { readonly kind: "over"; readonly state: "moved" | "stayed" | "refused"; readonly message: string }
  /** Not yet, because of this. */
  | { readonly kind: "later"; readonly cluster?: ClusterName; readonly why: string }
  | { readonly kind: "ask"; readonly from: ClusterName; readonly to: Destination }
  /** Asked already, and not seen to have moved. */
  | { readonly kind: "watch"; readonly from: ClusterName; readonly endsAtMs: number };

const over = (state: "moved" | "stayed" | "refused", message: string): Verdict => ({ kind: "over", state, message });

function applyVerdict(turns: Turns, which: Which, move: LeaderMove, verdict: Verdict): void {
  switch (verdict.kind) {
    case "over": {
      const { state, message } = verdict;
      turns.draft.set(which, { ...move, state, message, sinceMs: turns.draft.nowMs });
      break;
    }
    case "later":
      reportLater(turns, which, move, verdict.cluster, verdict.why);
      break;
    case "ask":
      ask(turns, which, move, verdict.from, verdict.to);
      break;
    case "watch":
      reportAsked(turns, verdict.from, verdict.endsAtMs);
      break;
  }
}

/** For a request that was sent: whether the leader has moved, or the request has timed out. */
function followed({ draft, leader }: Turns, which: Which, { from, to }: LeaderMove): Verdict {
  const entry = from === null ? undefined : draft.ledger.clusters[from];
  const isMoved =
    which === "leaderEvacuation"
      ? leader.kind === "known" && leader.cluster !== from
      : leads(leader, resolve(draft, to));
  if (isMoved) return over("moved", `the leader is ${placeOf(leader)} now`);
  if (from === null || entry?.step?.kind !== "transfer" || entry.turn !== "held")
    return over("stayed", `the request was interrupted; the leader is ${placeOf(leader)}`);
  const endsAtMs = entry.step.sinceMs + (timeoutMs(draft) ?? 0);
  if (draft.nowMs >= endsAtMs) return over("stayed", `the leader did not move in time; it is ${placeOf(leader)}`);
  return { kind: "watch", from, endsAtMs };
}

/** For a request that was not sent yet: whether it can be sent now. */
function begun(turns: Turns, which: Which, move: LeaderMove): Verdict {
  const { draft, leader } = turns;
  if (leader.kind === "none")
    return over("refused", "the application does not tell where its leader is (spec.leader, or the contract's report)");
  if (timeoutMs(draft) === undefined)
    return over("refused", "spec.updateStrategy.rollingUpdate.leaderTransfer is not set: the operator is not asked");
  if (leader.kind === "unknown") return { kind: "later", why: "the leader is not known" };
  const { cluster: from } = leader;
  const to = which === "leaderEvacuation" ? awayFrom(draft, from) : resolve(draft, move.to);
  if (typeof to === "string")
    return which === "leaderRequest" ? over("refused", to) : { kind: "later", cluster: from, why: to };
  if (which === "leaderRequest") {
    const why = refused(draft, leader, to);
    if (why !== undefined) return over("refused", why);
    if (leads(leader, to)) return over("moved", `the leader is ${placeOf(leader)} already`);
  }
  const hold = holds(turns, from, to);
  return hold === undefined ? { kind: "ask", from, to } : { kind: "later", cluster: from, why: hold };
}

function ask({ draft }: Turns, which: Which, move: LeaderMove, from: ClusterName, to: Destination): void {
  const { grant } = draft.entry(from);
  if (!grant) return;
  const why =
    which === "leaderRequest" ? `a person asks for the leader at ${move.to}` : "it is drained for maintenance";
  draft.set(which, { ...move, from, state: "asked", message: "", sinceMs: draft.nowMs });
  draft.write(
    from,
    { ...grant, turn: true, transferLeaderTo: to.instance },
    {
      kind: "transfer",
      why: `${why}; the leader is asked to move to ${to.instance}`,
      progress: draft.startStep("transfer", from),
    },
  );
}

/** Why the move can never succeed; undefined: it may. */
function refused({ intent }: Draft, leader: Leader, { cluster, named }: Destination): string | undefined {
  if (isInMaintenance(intent, cluster)) return `${cluster} is drained for maintenance, which moves the leader away`;
  const isUntold = leader.kind === "known" && leader.cluster === cluster && leader.instance === undefined;
  return named !== undefined && isUntold
    ? `the leader is in ${cluster}, which does not say which of its instances leads`
    : undefined;
}

/** What has to be over first; undefined: it may begin. */
function holds({ draft, tally }: Turns, from: ClusterName, to: Destination): string | undefined {
  const { turn, done } = draft.entry(from);
  const view = viewIn(draft, from);
  if (!viewIn(draft, to.cluster).healthy) return `${to.cluster} is not healthy`;
  if (turn !== "none" || !done || view.reach !== "ready") return `${from} is in the middle of a step`;
  const other = turnElsewhere(draft, from);
  if (other === undefined) return undefined;
  const { intent } = draft;
  // With the turn, its operator may act; what it may take down counts in the budget like any other step.
  const cost = intent.memberConcurrency === "Parallel" ? view.ready : serialCost(intent, view.awaited, 0);
  const fits = tally.keepsMajority(cost, tally.pendingElsewhere(from)) && fitsBudget(tally, from, cost, 0) && cost > 0;
  return fits && busyClusters(draft).size === 0 ? undefined : `${other} holds the turn`;
}

function reportAsked({ draft, leader }: Turns, from: ClusterName, endsAtMs: number): void {
  const { grant, step } = draft.entry(from);
  draft.wakeAt(endsAtMs);
  draft.wait(
    "LeaderTransfer",
    from,
    `the leader has been asked to move to ${grant?.transferLeaderTo ?? "another cluster"}`,
    "Wait; after leaderTransfer.timeoutSeconds the request is given up.",
    [{ object: from, field: "leader", value: placeOf(leader), ...(step && { sinceMs: step.sinceMs }) }],
  );
}

function reportLater(
  { draft, leader }: Turns,
  which: Which,
  move: LeaderMove,
  cluster: ClusterName | undefined,
  why: string,
): void {
  const isRequest = which === "leaderRequest";
  if (isRequest) draft.wakeAt(move.sinceMs + REQUEST_PATIENCE_MS);
  draft.wait(
    "LeaderTransfer",
    cluster,
    `the leader is to move ${isRequest ? `to ${move.to}` : `away from ${move.id}`}; first: ${why}`,
    isRequest
      ? "Wait, or take the request back: remove spec.transferLeader."
      : `Wait, or run 'lockstep undrain ${move.id}'.`,
    [{ object: cluster ?? "the application", field: "leader", value: placeOf(leader), sinceMs: move.sinceMs }],
  );
}

/** [L13] A request that could not begin for so long is dropped; the message says what it waited for. */
function givenUp({ draft }: Turns, which: Which, move: LeaderMove, verdict: Verdict): Verdict {
  if (which !== "leaderRequest" || verdict.kind !== "later") return verdict;
  if (draft.nowMs < move.sinceMs + REQUEST_PATIENCE_MS) return verdict;
  return over("refused", `it could not begin in time: ${verdict.why}`);
}

function timeoutMs({ intent }: Draft): number | undefined {
  const { update } = intent;
  const seconds = update.type === "RollingUpdate" ? update.leaderTransfer?.timeoutSeconds : undefined;
  return seconds === undefined ? undefined : seconds * SECOND_MS;
}

/** [L9] Chosen as in L5, among the clusters that are not in maintenance. */
function awayFrom(draft: Draft, cluster: ClusterName): Destination | string {
  const newest = draft.ledger.rollout?.to ?? draft.ledger.currentRevision;
  return transferTarget(draft, cluster, newest) ?? "no other cluster is healthy and could take the leader";
}

/** What a person named: a cluster, or an instance of one. A text says what is wrong with it. */
function resolve(draft: Draft, named: string): Destination | string {
  const { identity } = draft;
  const names: string[] = [];
  const found: Destination[] = [];
  for (const cluster of draft.order) {
    const entry = draft.entry(cluster);
    const members = entry.votes !== "counted" ? [] : entry.instances.filter(({ state }) => state === "member");
    const [first] = members;
    if (!first) continue;
    const key = (ordinal: number) => instanceKey(identity, cluster, entry, ordinal);
    if (cluster === named) return { cluster, instance: key(first.ordinal) };
    names.push(cluster, ...members.map(({ ordinal }) => key(ordinal)));
    for (const { ordinal } of members) {
      const local = localName(identity, entry, ordinal);
      if (named === key(ordinal) || named === local) found.push({ cluster, instance: key(ordinal), named: local });
    }
  }
  const [only, second] = found;
  if (only && second) return `'${named}' is in several clusters: ${found.map(({ instance }) => instance).join(", ")}`;
  if (only) return only;
  const like = nearest(named, names);
  return `no cluster or instance is called '${named}'${like === undefined ? "" : `; the nearest is '${like}'`}`;
}

/** Whether the leader is where it was asked to be; where the leading instance is not named, its cluster has to do. */
function leads(leader: Leader, to: Destination | string): boolean {
  if (typeof to === "string" || leader.kind !== "known" || leader.cluster !== to.cluster) return false;
  return to.named === undefined || leader.instance === undefined || [to.named, to.instance].includes(leader.instance);
}

function placeOf(leader: Leader): string {
  if (leader.kind !== "known") return "not known";
  return leader.instance === undefined ? `in ${leader.cluster}` : `${leader.instance} in ${leader.cluster}`;
}
