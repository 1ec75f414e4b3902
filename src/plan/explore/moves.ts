import type { ClusterName } from "../types.ts";
import { arrive, isDeliverable, operate, takesOver, withLeader } from "./cluster.ts";
import { changedBy, isSynced, type PlanOn, planAndDispatch, rebuilt, type Step } from "./controller.ts";
import { type Look, look, podsSeen } from "./look.ts";
import { type Act, act, changed, kubelet, read } from "./operator.ts";
import { cut, edited, mended } from "./person.ts";
import { same } from "./same.ts";
import type { Scenario } from "./scenario.ts";
import {
  clustersOf,
  type Faults,
  type Member,
  memberOf,
  type Pod,
  placeOf,
  type Seen,
  type State,
  withMember,
} from "./state.ts";

/**
 * `work`: what clusters do by themselves. `look`: the controller sees something and plans. `heal`: a fault ends. These go on
 * until nothing is left to do; `edit`, `time` and `fault` are somebody's choice, or nobody's.
 */
export type MoveKind = "work" | "look" | "heal" | "edit" | "time" | "fault";

/** Somebody does one small thing. `run` says what came of it. */
export interface Move {
  readonly kind: MoveKind;
  readonly label: string;
  readonly run: () => Step;
}

/** Stands for nothing having been seen yet. */
const NEVER_SEEN: Seen = { observation: { kind: "unreachable", message: "not observed yet" }, pods: [] };

interface Looked {
  readonly atMs: number;
  readonly member: Member;
  readonly seen: Seen;
}

/** What can happen next in a scenario. What has been worked out for a cluster is kept for every state in which it is the same. */
export class Moves {
  readonly #scenario: Scenario;
  readonly #planOn: PlanOn;
  readonly #acts = new WeakMap<Member, Array<Act | null | undefined>>();
  readonly #kubelets = new WeakMap<Member, Member | null>();
  readonly #looks = new WeakMap<Member, Looked[]>();
  readonly #glances = new WeakMap<Seen, WeakMap<Member, Looked[]>>();

  readonly #keepSeen: ((seen: Seen) => Seen) | undefined;

  /** `keepSeen`: returns the same object for all looks that show the same. */
  constructor(scenario: Scenario, planOn: PlanOn, keepSeen?: (seen: Seen) => Seen) {
    this.#scenario = scenario;
    this.#planOn = planOn;
    this.#keepSeen = keepSeen;
  }

  /** Every move that changes something, in a fixed order. */
  of(state: State): Move[] {
    const moves: Move[] = [];
    const synced = isSynced(state);
    let unseen = !synced && !state.finished;
    for (const cluster of clustersOf(state)) {
      this.#pushWork(state, cluster, moves);
      if (this.#pushLooks(state, cluster, synced, moves)) unseen = true;
      this.#pushFaults(state, cluster, moves);
    }
    if (unseen) moves.push({ kind: "look", label: "look everywhere", run: () => this.lookEverywhere(state) });
    const edit = this.#scenario.edits[state.edits];
    if (edit) {
      const run = () => this.plan(edited(this.#scenario, state));
      moves.push({ kind: "edit", label: `edit: ${edit.label}`, run });
    }
    this.#pushFleetFaults(state, moves);
    return moves;
  }

  plan(state: State): Step {
    return planAndDispatch(this.#scenario, this.#planOn, state);
  }

  /** The next thing that a cluster does by itself, if any is left. */
  work(state: State): Move | undefined {
    const moves: Move[] = [];
    for (const cluster of clustersOf(state)) {
      this.#pushWork(state, cluster, moves);
      if (moves.length > 0) return moves[0];
    }
    return undefined;
  }

  /** Something has changed that the planner was not shown, or a crash lost what it decided. */
  isUnseen(state: State): boolean {
    if (state.finished) return false;
    return !isSynced(state) || clustersOf(state).some((cluster) => this.#isNews(state, cluster));
  }

  lookEverywhere(state: State): Step {
    const places = { ...state.places };
    for (const cluster of clustersOf(state)) {
      const { member, seen } = this.#lookAt(state, cluster);
      places[cluster] = { ...placeOf(state, cluster), member, seen };
    }
    return this.plan({ ...state, places });
  }

  /** How long until time alone may change the answer. Planning again changes nothing, so it says the same again. */
  wakesInMs(state: State): number | undefined {
    const { before, result } = this.#planOn(state);
    return result.requeueAt === undefined ? undefined : result.requeueAt - before.nowMs;
  }

  #pushWork(state: State, cluster: ClusterName, moves: Move[]): void {
    const member = memberOf(state, cluster);
    if (isDeliverable(state, cluster)) {
      moves.push({
        kind: "work",
        label: `${cluster}: the dispatch arrives`,
        run: () => arrive(this.#scenario, state, cluster),
      });
    }
    if (this.#scenario.protocol === "contract" && member.live !== member.read) {
      const run = () => still(withMember(state, cluster, read(member, placeOf(state, cluster).given)));
      moves.push({ kind: "work", label: `${cluster}: the operator reads`, run });
    }
    const acted = this.#act(state, cluster, member);
    // Asking in vain changes nothing.
    if (acted && (acted.member !== member || takesOver(state, acted.leaderTo) !== undefined)) {
      moves.push({ kind: "work", label: `${cluster}: the operator acts`, run: () => operate(state, cluster, acted) });
    }
    const moved = this.#kubelet(member);
    if (moved) {
      const run = () => still(withLeader(withMember(state, cluster, moved)));
      moves.push({ kind: "work", label: `${cluster}: an instance moves on`, run });
    }
  }

  #act({ intent, leader }: State, cluster: ClusterName, member: Member): Act | undefined {
    const leads = leader === cluster;
    const parallel = intent.memberConcurrency === "Parallel";
    const bits = (leads ? 1 : 0) + (parallel ? 2 : 0);
    const known = this.#acts.get(member) ?? [];
    if (known.length === 0) this.#acts.set(member, known);
    const found = known[bits];
    if (found !== undefined) return found ?? undefined;
    const done = act(this.#scenario, { cluster, leads, parallel, ordered: intent.workload.memberOrdered }, member);
    known[bits] = done ?? null;
    return done;
  }

  #kubelet(member: Member): Member | undefined {
    const found = this.#kubelets.get(member);
    if (found !== undefined) return found ?? undefined;
    const moved = kubelet(this.#scenario, member);
    this.#kubelets.set(member, moved ?? null);
    return moved;
  }

  #lookAt({ leader, nowMs, places }: State, cluster: ClusterName): Looked {
    const member = memberOf({ places }, cluster);
    const leads = leader === cluster;
    const known = this.#looks.get(member) ?? [];
    if (known.length === 0) this.#looks.set(member, known);
    const at = leads ? 1 : 0;
    const found = known[at];
    if (found?.atMs === nowMs) return found;
    const shown = podsSeen(member);
    const seen = look(this.#scenario, shown, leads, null, "both", nowMs);
    const looked = { atMs: nowMs, member: shown, seen: this.#keepSeen?.(seen) ?? seen };
    known[at] = looked;
    return looked;
  }

  /** Planning again on what was planned on changes nothing, and a property says so; only what is new is looked at. */
  #isNews(state: State, cluster: ClusterName): boolean {
    const { member, seen } = placeOf(state, cluster);
    const looked = this.#lookAt(state, cluster);
    return looked.member !== member || !this.#isSame(looked.seen, seen);
  }

  #isSame(a: Seen, b: Seen | null): boolean {
    return a === b || (this.#keepSeen === undefined && sameSeen(a, b));
  }

  #pushLooks(state: State, cluster: ClusterName, synced: boolean, moves: Move[]): boolean {
    const news = this.#isNews(state, cluster);
    // Nobody looks any more once all was let go.
    if ((synced && !news) || state.finished) return false;
    const { given, member, seen } = placeOf(state, cluster);
    const whats: readonly Look[] =
      this.#scenario.twoWatches && !member.cut ? ["object", "pods", "both"] : (["both"] as const);
    for (const what of whats) {
      const looked = what === "both" ? this.#lookAt(state, cluster) : this.#glance(state, cluster, what);
      if (what !== "both" && looked.member === member && this.#isSame(looked.seen, seen)) continue;
      const places = { ...state.places, [cluster]: { given, member: looked.member, seen: looked.seen } };
      const shown: State = { ...state, places };
      const label = `${cluster}: ${what === "both" ? "seen" : `${what} seen`}, plan`;
      moves.push({ kind: "look", label, run: () => this.plan(shown) });
      if (state.faults.crash > 0 && what === "both") this.#pushCrashes(shown, label, moves);
    }
    return news;
  }

  /** A look at one of the two watches only. */
  #glance({ leader, nowMs, places }: State, cluster: ClusterName, what: "object" | "pods"): Looked {
    const { member, seen } = placeOf({ places }, cluster);
    const before = seen ?? NEVER_SEEN;
    const byMember = this.#glances.get(before) ?? new WeakMap<Member, Looked[]>();
    this.#glances.set(before, byMember);
    const known = byMember.get(member) ?? [];
    if (known.length === 0) byMember.set(member, known);
    const leads = leader === cluster;
    const at = (leads ? 1 : 0) + (what === "pods" ? 2 : 0);
    const found = known[at];
    if (found?.atMs === nowMs) return found;
    const shown = what === "pods" ? podsSeen(member) : member;
    const glanced = look(this.#scenario, shown, leads, seen, what, nowMs);
    const looked = { atMs: nowMs, member: shown, seen: this.#keepSeen?.(glanced) ?? glanced };
    known[at] = looked;
    return looked;
  }

  /** The controller dies after the ledger's write: of several grants any part, but not all, was dispatched. */
  #pushCrashes(shown: State, label: string, moves: Move[]): void {
    const changed = changedBy(this.#planOn(shown));
    for (let part = 0; part < 2 ** changed.length - 1; part++) {
      const only = changed.filter((_, i) => part & (1 << i));
      const run = () => planAndDispatch(this.#scenario, this.#planOn, spend(shown, "crash"), only);
      moves.push({ kind: "fault", label: `${label}, crash after dispatch to [${only}]`, run });
    }
  }

  #pushFaults(state: State, cluster: ClusterName, moves: Move[]): void {
    const { faults } = state;
    const member = memberOf(state, cluster);
    if (faults.accident > 0) this.#pushAccidents(state, cluster, moves);
    if (faults.cut > 0 && !member.cut) {
      const run = () => this.plan(spend(cut(state, cluster), "cut"));
      moves.push({ kind: "fault", label: `${cluster} is cut off`, run });
    }
    if (member.cut) {
      moves.push({ kind: "heal", label: `${cluster} is back`, run: () => this.plan(mended(state, cluster)) });
    }
    if (faults.mute > 0 && !member.mute) {
      const run = () => still(spend(withMember(state, cluster, { ...member, mute: true }), "mute"));
      moves.push({ kind: "fault", label: `${cluster}: its health becomes unknown`, run });
    }
    if (member.mute) {
      const run = () => still(withMember(state, cluster, { ...member, mute: false }));
      moves.push({ kind: "heal", label: `${cluster}: its health is known again`, run });
    }
  }

  #pushAccidents(state: State, cluster: ClusterName, moves: Move[]): void {
    const { accident } = this.#scenario;
    const member = memberOf(state, cluster);
    const ready = member.pods.filter(({ phase }) => phase === "ready");
    for (const pod of new Set([ready[0], ready.at(-1)])) {
      if (!pod) continue;
      const phase: Pod["phase"] = accident === "evict" ? "terminating" : "starting";
      const pods = member.pods.flatMap((each) => {
        if (each !== pod) return each;
        return accident === "kill" ? [] : { ...changed(this.#scenario, pod), phase };
      });
      moves.push({
        kind: "fault",
        label: `${cluster}: ${pod.ordinal} is down by accident (${accident})`,
        run: () => still(withLeader(spend(withMember(state, cluster, { ...member, pods }), "accident"))),
      });
    }
  }

  #pushFleetFaults(state: State, moves: Move[]): void {
    const { faults } = state;
    if (faults.wait > 0) {
      const waitMs = this.wakesInMs(state) ?? this.#scenario.waitMs;
      const later = spend({ ...state, nowMs: state.nowMs + waitMs }, "wait");
      moves.push({ kind: "time", label: `time passes: ${waitMs} ms`, run: () => this.plan(later) });
    }
    if (faults.rebuild > 0 && clustersOf(state).some((cluster) => placeOf(state, cluster).given)) {
      const run = () => this.plan(spend(rebuilt(state), "rebuild"));
      moves.push({ kind: "fault", label: "the ledger is lost and rebuilt", run });
    }
    if (faults.leader === 0 || state.leader === null) return;
    for (const cluster of clustersOf(state)) {
      if (cluster === state.leader || !memberOf(state, cluster).pods.some(({ phase }) => phase === "ready")) continue;
      const run = () => still(spend({ ...state, leader: cluster }, "leader"));
      moves.push({ kind: "fault", label: `the leader moves to ${cluster}`, run });
    }
  }
}

function still(state: State): Step {
  return { state, deeds: [] };
}

function spend(state: State, fault: keyof Faults): State {
  return { ...state, faults: { ...state.faults, [fault]: state.faults[fault] - 1 } };
}

/** Whether two looks show the same. The time of a look is no news. */
function sameSeen(a: Seen, b: Seen | null): boolean {
  if (b === null || a.updateRevision !== b.updateRevision) return false;
  if (!same(a.pods, b.pods)) return false;
  return same(timeless(a.observation), timeless(b.observation));
}

function timeless(seen: Seen["observation"]): object {
  return seen.kind === "unreachable" ? seen : { ...seen, atMs: 0 };
}
