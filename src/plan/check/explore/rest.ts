import type { ClusterName } from "../../types/index.ts";
import type { Step } from "./controller.ts";
import { edited, mended } from "./person.ts";
import type { Scenario } from "./scenario.ts";
import { clustersOf, memberOf, NO_FAULTS, type State, withMember } from "./state.ts";
import { Broken, LIVENESS, type Watch } from "./watch.ts";
import type { World } from "./world.ts";

/** What one after the other did until all was at rest; for a person who reads a counterexample. */
export type Told = (before: State, step: Step) => void;

/**
 * [U2] When faults have ended, users have followed the remedies and made the remaining edits, the fleet must settle.
 */
export class Rest {
  readonly #scenario: Scenario;
  readonly #world: World;
  readonly #watch: Watch;
  /** States, without faults to come, from which the fleet is known to settle. */
  readonly #known = new Set<string>();

  constructor(scenario: Scenario, world: World, watch: Watch) {
    this.#scenario = scenario;
    this.#world = world;
    this.#watch = watch;
  }

  /** All actors do what is left to do, one step at a time. Throws if that never ends, or ends not as requested. */
  check(from: State, told?: Told): State {
    const path = new Set<string>();
    let state = this.#world.canonical({ ...from, faults: NO_FAULTS });
    for (;;) {
      const key = this.#world.key(state);
      if (this.#known.has(key)) break;
      if (path.has(key)) {
        if (this.#watch.watches(LIVENESS)) throw new Broken(LIVENESS, `runs in circles; ${this.#waiting(state)}`);
        break;
      }
      path.add(key);
      const next = this.#next(state);
      if (!next) {
        this.#judge(state);
        break;
      }
      told?.(state, next);
      state = this.#world.after(state, next);
    }
    for (const key of path) this.#known.add(key);
    return state;
  }

  /** Without edits and answers: the application deployed and at rest. */
  calm(from: State): State {
    let state = this.#world.canonical(from);
    const seen = new Set<string>();
    for (;;) {
      const key = this.#world.key(state);
      if (seen.has(key)) throw new Broken(LIVENESS, `runs in circles; ${this.#waiting(state)}`);
      seen.add(key);
      const next = this.#byItself(state) ?? this.#byTime(state);
      if (!next) return state;
      state = this.#world.after(state, next);
    }
  }

  #judge(state: State): void {
    this.#watch.met(LIVENESS);
    const wrong = this.#watch.watches(LIVENESS) ? askedFor(this.#scenario, state) : undefined;
    if (wrong) throw new Broken(LIVENESS, `${wrong}; ${this.#waiting(state)}`);
  }

  #next(state: State): Step | undefined {
    return this.#byItself(state) ?? this.#byPeople(state);
  }

  /** Faults end first; then clusters work; then the controller looks. */
  #byItself(state: State): Step | undefined {
    const { moves } = this.#world;
    for (const cluster of clustersOf(state)) {
      const member = memberOf(state, cluster);
      if (member.cut) return moves.plan(mended(state, cluster));
      if (member.mute || member.failing) {
        return { state: withMember(state, cluster, { ...member, mute: false, failing: false }), deeds: [] };
      }
    }
    const work = moves.work(state);
    if (work) return work.run();
    return moves.isUnseen(state) ? moves.lookEverywhere(state) : undefined;
  }

  #byTime(state: State): Step | undefined {
    const { moves } = this.#world;
    const waitMs = moves.wakesInMs(state);
    if (waitMs === undefined) return undefined;
    const step = moves.plan({ ...state, nowMs: state.nowMs + waitMs });
    // What time alone does not change is at rest.
    return this.#world.canonical(step.state) === state ? undefined : step;
  }

  /** At first users do not react, so that waits without their help can end. Then they follow the remedies. */
  #byPeople(state: State): Step | undefined {
    const { moves } = this.#world;
    const { intent, edits } = state;
    const { resume } = intent.requests;
    if (resume === undefined) return this.#byTime(state) ?? moves.plan(answered(state, "end"));
    if (edits < this.#scenario.edits.length) return moves.plan(edited(this.#scenario, state));
    const later = this.#byTime(state);
    if (later) return later;
    // A user checks what is halted, and resumes it.
    const looks = state.ledger.halt !== null || withoutOldVolumes(state) !== state;
    return looks ? moves.plan(answered(state, resume === "end" ? "end again" : "end")) : undefined;
  }

  #waiting(state: State): string {
    const { waiting } = this.#world.moves.plan(state).planned?.result ?? { waiting: [] };
    return `waiting: ${waiting.map(({ cluster, code }) => `${cluster ?? ""} ${code}`).join(", ") || "for nothing"}`;
  }
}

const REVISIONS = ["A", "B", "C", "D"];

function answered(state: State, resume: string): State {
  const { intent } = state;
  const waves = intent.update.type === "RollingUpdate" ? intent.update.waves : [];
  const approvals = waves.flatMap((_, wave) => REVISIONS.map((revision) => ({ revision, wave })));
  const requests = {
    ...intent.requests,
    confirmedDrain: clustersOf(state),
    confirmedLost: [],
    resume,
    approvals,
  };
  return { ...withoutOldVolumes(state), intent: { ...intent, requests } };
}

/** Users save what they need of volumes that are no longer used, and delete them. */
function withoutOldVolumes(state: State): State {
  let after = state;
  for (const cluster of clustersOf(state)) {
    const member = memberOf(state, cluster);
    if (!member.live && member.volumes.length > 0) after = withMember(after, cluster, { ...member, volumes: [] });
  }
  return after;
}

/** Whether the world at rest is what was asked for. Says what is not. */
function askedFor(scenario: Scenario, state: State): string | undefined {
  const { intent, ledger } = state;
  if (intent.deletion) return afterDeletion(scenario, state, intent.deletion.policy);
  if (intent.schedule.kind !== "known" || intent.revision.kind !== "ready") return undefined;
  const wanted = new Map<ClusterName, number>();
  for (const { cluster, replicas } of intent.schedule.clusters) wanted.set(cluster, replicas);
  let total = 0;
  for (const cluster of clustersOf(state)) {
    const { pods, live } = memberOf(state, cluster);
    const replicas = wanted.get(cluster) ?? 0;
    const ready = pods.filter(({ phase }) => phase === "ready").length;
    total += ready;
    if (ready < pods.length) return `${cluster}: ${pods.length - ready} instances are not ready`;
    if (!scenario.sizesMayDiffer && ready !== replicas)
      return `${cluster} runs ${ready} instances instead of ${replicas}`;
    if (replicas === 0 && live && !scenario.sizesMayDiffer) return `${cluster} still has an object`;
  }
  const asked = intent.schedule.clusters.reduce((sum, { replicas }) => sum + replicas, 0);
  if (total < asked) return `${total} instances run instead of ${asked}`;
  const { update, requests } = intent;
  const undone = requests.undo && ledger.undoHeard === requests.undo.id && ledger.override?.to === requests.undo.to;
  const to = undone ? requests.undo?.to : (ledger.override?.to ?? intent.revision.id);
  const partition = update.type === "RollingUpdate" && !ledger.override ? update.partition : 0;
  const all = clustersOf(state)
    .flatMap((cluster) => memberOf(state, cluster).pods)
    .sort((a, b) => a.ordinal - b.ordinal);
  const late = all.slice(partition).find(({ revision }) => revision !== to);
  if (update.type === "RollingUpdate" && late && (scenario.hasPartition || partition === 0)) {
    return `${late.ordinal} runs ${late.revision} instead of ${to}`;
  }
  return undefined;
}

function afterDeletion(scenario: Scenario, state: State, policy: "Release" | "Teardown"): string | undefined {
  if (!state.finished) return `the ${policy} is not finished`;
  const running = clustersOf(state).filter((cluster) => memberOf(state, cluster).pods.length > 0);
  if (policy === "Teardown" && running.length > 0 && !scenario.sizesMayDiffer) return `${running} still run instances`;
  if (policy === "Release" && Object.values(state.places).some(({ given }) => given))
    return "a dispatch object is left";
  return undefined;
}
