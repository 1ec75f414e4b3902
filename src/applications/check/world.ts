/**
 * A small model of hub, engine and members around the planner. Dispatches arrive late, watches lag, objects become
 * healthy one by one, clusters are lost and return, users edit, and a controller may stop after any write: the next one
 * has only the ledger and the hub. One `State` is plain JSON; `moves` says what may happen next.
 */
import { emptyLedger } from "../ledger.ts";
import type { plan as realPlan } from "../plan.ts";
import type {
  ClusterSeen,
  Intent,
  Ledger,
  Mode,
  ObjectSeen,
  PlanResult,
  RolloutSettings,
  Seen,
  Stage,
} from "../types.ts";

export type Planner = typeof realPlan;

export interface Scenario {
  readonly name: string;
  readonly clusters: readonly string[];
  /** Objects and hooks of each revision, in stages. */
  readonly revisions: Readonly<Record<string, readonly Stage[]>>;
  readonly edits: readonly string[];
  readonly losses: number;
  readonly rollout?: Partial<RolloutSettings>;
  readonly deletes?: boolean;
}

interface Work {
  readonly content: string;
  readonly epoch: number;
  readonly isGoing: boolean;
}

interface MemberObject {
  readonly content: string;
  readonly epoch: number;
  readonly isHealthy: boolean;
}

type Objects<T> = Readonly<Record<string, T>>;

export interface State {
  readonly ledger: Ledger;
  readonly wanted: string;
  readonly edits: number;
  readonly losses: number;
  readonly isDeleting: boolean;
  readonly lost: readonly string[];
  readonly works: Objects<Objects<Work>>;
  readonly members: Objects<Objects<MemberObject>>;
  /** What the watches have brought. */
  readonly views: Objects<Objects<MemberObject>>;
  /** How often each hook was started, by cluster, object and step. */
  readonly hooks: Objects<number>;
}

export interface Move {
  readonly name: string;
  readonly next: State;
  /** What went wrong with this move, if anything. */
  readonly violation?: string;
}

export function begin({ clusters, edits }: Scenario): State {
  const empty = Object.fromEntries(clusters.map((cluster) => [cluster, {}]));
  return {
    ledger: emptyLedger(),
    wanted: edits[0] ?? "A",
    edits: 1,
    losses: 0,
    isDeleting: false,
    lost: [],
    works: empty,
    members: empty,
    views: empty,
    hooks: {},
  };
}

export function stagesIn({ revisions }: Scenario, revision: string, mode: Mode): readonly Stage[] {
  if (mode === "Delete") return [{ kind: "remove", title: "removing", tier: 0 }];
  return revisions[revision] ?? [];
}

export function objectsOf(stages: readonly Stage[]): string[] {
  return stages.flatMap((stage) =>
    stage.kind === "apply" ? [...stage.objects] : stage.kind === "hook" ? [stage.object] : [],
  );
}

/** What an object's content is in a revision; `same` objects do not change. */
function contentOf(key: string, revision: string): string {
  return key.startsWith("same") ? key : `${key}@${revision}`;
}

export function seenIn(scenario: Scenario, { works, views, lost, ledger }: State): Seen {
  const clusters: Record<string, ClusterSeen> = {};
  for (const cluster of scenario.clusters) {
    if (lost.includes(cluster)) continue;
    const grant = ledger.clusters[cluster]?.grant;
    const own = works[cluster] ?? {};
    const keys = grant ? objectsOf(stagesIn(scenario, grant.revision, grant.mode)) : [];
    clusters[cluster] = {
      left: [Object.keys(own).length],
      leftovers: Object.keys(own).filter((key) => !keys.includes(key)).length,
      object: (key) => objectSeen(own[key], views[cluster]?.[key], grant ? contentOf(key, grant.revision) : ""),
    };
  }
  const fleet = Object.fromEntries(
    scenario.clusters.map((name) => [
      name,
      lost.includes(name) ? { state: "NotReady" as const, sinceMs: 0 } : { state: "Ready" as const },
    ]),
  );
  return { fleet, clusters };
}

function objectSeen(work: Work | undefined, live: MemberObject | undefined, wanted: string): ObjectSeen {
  return {
    dispatched: !work ? "none" : work.isGoing ? "going" : work.content === wanted ? "wanted" : "other",
    epoch: work?.epoch ?? 0,
    live: live
      ? { kind: "present", epoch: live.epoch, observed: true, health: live.isHealthy ? "Complete" : "Progressing" }
      : { kind: "absent" },
  };
}

export function intentIn(scenario: Scenario, { wanted, isDeleting }: State): Intent {
  return {
    revision: { kind: "known", id: wanted },
    clusters: { kind: "known", names: scenario.clusters },
    leave: "Teardown",
    ...(isDeleting && { ending: "Teardown" }),
    rollout: {
      maxUnavailableClusters: 1,
      waves: [],
      soakSeconds: 0,
      paused: false,
      progressDeadlineSeconds: 600,
      onFailure: "Pause",
      window: { open: true },
      ...scenario.rollout,
    },
    requests: { approvals: [] },
    divided: [],
    stages: (revision, _cluster, mode) => stagesIn(scenario, revision, mode),
  };
}

export function planIn(planner: Planner, scenario: Scenario, state: State): PlanResult {
  return planner(intentIn(scenario, state), state.ledger, seenIn(scenario, state), 0);
}

export function isTruly(state: State, cluster: string, key: string, revision: string): boolean {
  const live = state.members[cluster]?.[key];
  return live?.isHealthy === true && live.content === contentOf(key, revision);
}

/** Every write that is due on the hub by the ledger, one at a time: a controller may stop between any two. */
export function writesDue(
  scenario: Scenario,
  state: State,
): { name: string; next: State; key: string; cluster: string; kind: "apply" | "hook" | "remove" }[] {
  return scenario.clusters.flatMap((cluster) => {
    const grant = state.ledger.clusters[cluster]?.grant;
    if (!grant) return [];
    const stages = stagesIn(scenario, grant.revision, grant.mode);
    const own = state.works[cluster] ?? {};
    const due: ReturnType<typeof writesDue> = [];
    const write = (kind: "apply" | "hook" | "remove", key: string, work: Work | undefined, hooks = state.hooks) => {
      const { [key]: _old, ...rest } = own;
      const works = { ...state.works, [cluster]: work ? { ...rest, [key]: work } : rest };
      due.push({ name: `${kind} ${cluster}/${key}`, kind, key, cluster, next: { ...state, works, hooks } });
    };
    const take = (key: string) => write("remove", key, { ...(own[key] ?? { content: "", epoch: 0 }), isGoing: true });
    for (const [index, stage] of stages.entries()) {
      if (index > grant.stage) break;
      if (stage.kind === "apply") {
        for (const key of stage.objects) {
          const content = contentOf(key, grant.revision);
          if (own[key]?.isGoing || own[key]?.content === content) continue;
          write("apply", key, { content, epoch: grant.epoch, isGoing: false });
        }
      } else if (index < grant.stage) continue;
      else if (stage.kind === "hook") {
        const key = stage.object;
        if (own[key]?.epoch === grant.step && !own[key]?.isGoing) continue;
        const id = `${cluster}/${key}/${grant.step}`;
        const hooks = { ...state.hooks, [id]: (state.hooks[id] ?? 0) + 1 };
        if (!own[key])
          write("hook", key, { content: contentOf(key, grant.revision), epoch: grant.step, isGoing: false }, hooks);
        else if (!own[key]?.isGoing) take(key);
      } else {
        const keys = stage.kind === "prune" ? objectsOf(stages) : [];
        for (const key of Object.keys(own)) if (!keys.includes(key) && !own[key]?.isGoing) take(key);
      }
    }
    return due.slice(0, 1);
  });
}
