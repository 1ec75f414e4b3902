import { sameJson } from "../../../runtime/index.ts";
import type { ClusterName } from "../../types/index.ts";
import { arrive, isDeliverable, leftBehind, operate, takesOver, withJoined, withLeader } from "./cluster.ts";
import { changedBy, isSynced, type PlanOn, planAndDispatch, type Step } from "./controller.ts";
import { type PushPlan, pushClusterFaults, pushFleetFaults, spend, still } from "./faults.ts";
import { type Look, look, podsSeen } from "./look.ts";
import { type Act, act, kubelet, needsRepair, read, repaired } from "./operator.ts";
import { edited } from "./person.ts";
import type { Scenario } from "./scenario.ts";
import { clustersOf, type Member, memberOf, NO_FAULTS, placeOf, type Seen, type State, withMember } from "./state.ts";

/**
 * `work`: what clusters do by themselves. `look`: the controller sees something and plans. `heal`: a fault ends. These
 * continue until nothing is left to do. `edit`, `time` and `fault` come from outside, and may never happen.
 */
export type MoveKind = "work" | "look" | "heal" | "edit" | "time" | "fault";

/** One small step of one actor. `run` returns its result. */
export interface Move {
  readonly kind: MoveKind;
  readonly label: string;
  readonly run: () => Step;
}

/** In larger fleets one look at a time, and one at everything, have to do. */
const PAIRS_MAX_CLUSTERS = 4;

/** Stands for nothing having been seen yet. */
const NEVER_SEEN: Seen = { observation: { kind: "unreachable", message: "not observed yet" }, pods: [] };

/** Returns the same object for all that is the same. */
export interface Keeper {
  keepSeen(seen: Seen): Seen;
  keepMember(member: Member): Member;
}

interface Looked {
  readonly member: Member;
  readonly seen: Seen;
}

/**
 * What can happen next in a scenario. What has been worked out for a cluster is kept for every state in which it is the
 * same.
 */
export class Moves {
  readonly #scenario: Scenario;
  readonly #planOn: PlanOn;
  readonly #acts = new WeakMap<Member, Array<Act | null | undefined>>();
  readonly #kubelets = new WeakMap<Member, Member | null>();
  readonly #looks = new WeakMap<Member, Looked[]>();
  readonly #glances = new WeakMap<Seen, WeakMap<Member, Looked[]>>();

  readonly #keeper: Keeper | undefined;

  constructor(scenario: Scenario, planOn: PlanOn, keeper?: Keeper) {
    this.#scenario = scenario;
    this.#planOn = planOn;
    this.#keeper = keeper;
  }

  /** Every move that changes something, in a fixed order. */
  of(state: State): Move[] {
    const moves: Move[] = [];
    const pushPlan: PushPlan = (kind, label, next) => this.#pushPlan(kind, label, next, moves);
    const synced = isSynced(state);
    const news: ClusterName[] = [];
    for (const cluster of clustersOf(state)) {
      this.#pushWork(state, cluster, moves);
      if (this.#pushLooks(state, cluster, synced, pushPlan)) news.push(cluster);
      pushClusterFaults(this.#scenario, state, cluster, moves, pushPlan);
    }
    this.#pushAppMoves(state, moves, pushPlan);
    if (!state.finished) this.#pushWideLooks(state, news, synced, pushPlan);
    const edit = this.#scenario.edits[state.edits];
    if (edit) pushPlan("edit", `edit: ${edit.label}`, edited(this.#scenario, state));
    pushFleetFaults(this.#scenario, state, moves, pushPlan, () => this.wakesInMs(state));
    return moves;
  }

  plan(state: State): Step {
    return planAndDispatch(this.#scenario, this.#planOn, state);
  }

  /** The next thing that the world does by itself, if any is left. */
  work(state: State): Move | undefined {
    const moves: Move[] = [];
    for (const cluster of clustersOf(state)) {
      this.#pushWork(state, cluster, moves);
      if (moves.length > 0) return moves[0];
    }
    pushFleetFaults(
      this.#scenario,
      { ...state, faults: NO_FAULTS },
      moves,
      () => {},
      () => undefined,
    );
    this.#pushAppMoves(state, moves, () => {});
    return moves[0];
  }

  /** Something has changed that the planner was not shown, or a crash lost what it decided. */
  isUnseen(state: State): boolean {
    if (state.finished) return false;
    if (!isSynced(state) || isListNews(state)) return true;
    return clustersOf(state).some((cluster) => this.#isNews(state, cluster));
  }

  lookEverywhere(state: State): Step {
    return this.plan(listRead(this.#lookedAt(state, clustersOf(state))));
  }

  #lookedAt(state: State, clusters: readonly ClusterName[]): State {
    const places = { ...state.places };
    for (const cluster of clusters) {
      const { member, seen } = this.#lookAt(state, cluster);
      places[cluster] = { ...placeOf(state, cluster), member, seen };
    }
    return { ...state, places };
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
    const { given } = placeOf(state, cluster);
    if (given && !member.cut && needsRepair(member, given)) {
      const run = () => still(withMember(state, cluster, repaired(this.#scenario, member, given)));
      moves.push({ kind: "work", label: `${cluster}: the engine repairs its object`, run });
    }
    const acted = this.#act(state, cluster, member);
    // A request without success changes nothing.
    if (acted && (acted.member !== member || takesOver(state, acted.leaderTo) !== undefined)) {
      const run = () => operate(this.#scenario, state, cluster, acted);
      moves.push({ kind: "work", label: `${cluster}: the operator acts`, run });
    }
    const moved = this.#kubelet(member);
    if (moved) {
      const run = () => still(withJoined(withLeader(this.#scenario, withMember(state, cluster, moved)), cluster));
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
    const kept = done && { ...done, member: this.#kept(done.member) };
    known[bits] = kept ?? null;
    return kept;
  }

  #kubelet(member: Member): Member | undefined {
    const found = this.#kubelets.get(member);
    if (found !== undefined) return found ?? undefined;
    const moved = kubelet(this.#scenario, member);
    const kept = moved && this.#kept(moved);
    this.#kubelets.set(member, kept ?? null);
    return kept;
  }

  #lookAt({ leader, places }: State, cluster: ClusterName): Looked {
    const member = memberOf({ places }, cluster);
    const leads = leader === cluster;
    const known = this.#looks.get(member) ?? [];
    if (known.length === 0) this.#looks.set(member, known);
    const at = leads ? 1 : 0;
    const found = known[at];
    if (found) return found;
    const shown = this.#kept(podsSeen(member));
    const seen = look(this.#scenario, shown, leads, null, "both");
    const looked = { member: shown, seen: this.#keeper?.keepSeen(seen) ?? seen };
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
    return a === b || (this.#keeper === undefined && sameSeen(a, b));
  }

  #pushLooks(state: State, cluster: ClusterName, synced: boolean, pushPlan: PushPlan): boolean {
    const news = this.#isNews(state, cluster);
    // After the application was released or removed, the controller no longer observes it.
    if ((synced && !news) || state.finished) return false;
    const { given, member, seen } = placeOf(state, cluster);
    const whats: readonly Look[] =
      this.#scenario.twoWatches && !member.cut ? ["object", "pods", "both"] : (["both"] as const);
    for (const what of whats) {
      const looked = what === "both" ? this.#lookAt(state, cluster) : this.#glance(state, cluster, what);
      if (what !== "both" && looked.member === member && this.#isSame(looked.seen, seen)) continue;
      const places = { ...state.places, [cluster]: { given, member: looked.member, seen: looked.seen } };
      const label = `${cluster}: ${what === "both" ? "seen" : `${what} seen`}, plan`;
      pushPlan("look", label, { ...state, places });
    }
    return news;
  }

  #kept(member: Member): Member {
    return this.#keeper?.keepMember(member) ?? member;
  }

  /** A look at one of the two watches only. */
  #glance({ leader, places }: State, cluster: ClusterName, what: "object" | "pods"): Looked {
    const { member, seen } = placeOf({ places }, cluster);
    const before = seen ?? NEVER_SEEN;
    const byMember = this.#glances.get(before) ?? new WeakMap<Member, Looked[]>();
    this.#glances.set(before, byMember);
    const known = byMember.get(member) ?? [];
    if (known.length === 0) byMember.set(member, known);
    const leads = leader === cluster;
    const at = (leads ? 1 : 0) + (what === "pods" ? 2 : 0);
    const found = known[at];
    if (found) return found;
    const shown = what === "pods" ? this.#kept(podsSeen(member)) : member;
    const glanced = look(this.#scenario, shown, leads, seen, what);
    const looked = { member: shown, seen: this.#keeper?.keepSeen(glanced) ?? glanced };
    known[at] = looked;
    return looked;
  }

  /** Several clusters are looked at before the next plan: any two of three or more that have news, or all there are. */
  #pushWideLooks(state: State, news: readonly ClusterName[], synced: boolean, pushPlan: PushPlan): void {
    if (news.length > 2 && news.length <= PAIRS_MAX_CLUSTERS) {
      for (const [i, one] of news.entries()) {
        for (const other of news.slice(i + 1)) {
          pushPlan("look", `${one}, ${other}: seen, plan`, this.#lookedAt(state, [one, other]));
        }
      }
    }
    if (news.length > 0 || !synced) pushPlan("look", "look everywhere", this.#lookedAt(state, clustersOf(state)));
  }

  /** What the application itself does, and what is read of it. */
  #pushAppMoves(state: State, moves: Move[], pushPlan: PushPlan): void {
    const { app } = state;
    if (!app) return;
    for (const name of leftBehind(state)) {
      const members = app.members.filter((each) => each !== name);
      const run = () => still({ ...state, app: { ...app, members } });
      moves.push({ kind: "work", label: `the application lets ${name} go`, run });
    }
    if (isListNews(state)) pushPlan("look", "the application's members are read, plan", listRead(state));
  }

  /**
   * A plan that is made; where faults allow it, also one whose controller dies, or is deposed, in the middle of
   * dispatching.
   */
  #pushPlan(kind: MoveKind, label: string, state: State, moves: Move[]): void {
    moves.push({ kind, label, run: () => this.plan(state) });
    const { crash, depose } = state.faults;
    if (crash === 0 && depose === 0) return;
    const changed = changedBy(this.#planOn(state));
    // Of several grants any part, but not all, was dispatched.
    for (let part = 0; part < 2 ** changed.length - 1; part++) {
      const only = changed.filter((_, i) => part & (1 << i));
      const push = (fault: "crash" | "depose", what: string) => {
        const end = { only, deposed: fault === "depose" };
        const run = () => planAndDispatch(this.#scenario, this.#planOn, spend(state, fault), end);
        moves.push({ kind: "fault", label: `${label}, ${what} after dispatch to [${only}]`, run });
      };
      if (crash > 0) push("crash", "crash");
      if (depose > 0) push("depose", "deposed");
    }
  }
}

/** A list read later is news even if it is the same: it proves that no member was removed since. */
function isListNews({ app, nowMs }: State): boolean {
  if (!app) return false;
  return app.seen === null || app.seen.atMs !== nowMs || !sameJson(app.seen.members, app.members);
}

function listRead(state: State): State {
  const { app, nowMs } = state;
  return app ? { ...state, app: { ...app, seen: { members: app.members, atMs: nowMs } } } : state;
}

function sameSeen(a: Seen, b: Seen | null): boolean {
  if (b === null || a.updateRevision !== b.updateRevision) return false;
  if (!sameJson(a.pods, b.pods)) return false;
  return sameJson(a.observation, b.observation);
}
