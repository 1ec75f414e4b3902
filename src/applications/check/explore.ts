import { isRemoving } from "../draft.ts";
import {
  begin,
  isTruly,
  type Move,
  objectsOf,
  type Planner,
  planIn,
  type Scenario,
  type State,
  stagesIn,
  writesDue,
} from "./world.ts";

export interface Explored {
  readonly states: number;
  readonly isComplete: boolean;
  readonly violations: ReadonlySet<string>;
}

/** Visits every state that can be reached, in every order of events, up to a limit. */
export function explore(scenario: Scenario, planner: Planner, limit: number, stopAtFirst = false): Explored {
  const seen = new Set<string>();
  const queue: State[] = [begin(scenario)];
  const violations = new Set<string>();
  seen.add(idOf(begin(scenario)));
  for (let state = queue.shift(); state !== undefined; state = queue.shift()) {
    const all = moves(scenario, planner, state);
    // A lost cluster need never return: what the others need must not depend on it.
    if (all.every(({ name }) => name.startsWith("returned"))) {
      for (const each of unsettled(scenario, state)) violations.add(each);
    }
    for (const { next, violation } of all) {
      if (violation !== undefined) violations.add(violation);
      const id = idOf(next);
      if (seen.has(id)) continue;
      if (seen.size >= limit) return { states: seen.size, isComplete: false, violations };
      seen.add(id);
      queue.push(next);
    }
    if (stopAtFirst && violations.size > 0) break;
  }
  return { states: seen.size, isComplete: queue.length === 0, violations };
}

/** Epochs only ever rise; states that differ in their numbers alone are one, as long as their order is the same. */
function idOf(state: State): string {
  const text = JSON.stringify(state, (key, value) =>
    key === "history" || key === "hooks" || key === "progress" ? undefined : value,
  );
  const numbers = [...new Set([...text.matchAll(/"(?:epoch|step)":(\d+)/g)].map(([, number]) => Number(number)))].sort(
    (a, b) => a - b,
  );
  return text.replace(/"(epoch|step)":(\d+)/g, (_, name, number) => `"${name}":${numbers.indexOf(Number(number))}`);
}

function moves(scenario: Scenario, planner: Planner, state: State): Move[] {
  const result = planIn(planner, scenario, state);
  const planned: State = { ...state, ledger: result.ledger };
  const isNew = idOf(planned) !== idOf(state);
  const out: Move[] = [];
  if (isNew) out.push({ name: "plan", next: planned, ...found(checkPlan(scenario, state, planned)) });
  // A leader carries out what the ledger says, also after a stop: the old ledger's writes stay possible.
  for (const { name, next, kind, cluster, key } of writesDue(scenario, state)) {
    out.push({ name, next, ...found(checkWrite(scenario, state, next, kind, cluster, key)) });
  }
  out.push(...worldMoves(scenario, state));
  return out;
}

function found(violation: string | undefined): { violation?: string } {
  return violation === undefined ? {} : { violation };
}

function worldMoves(scenario: Scenario, state: State): Move[] {
  const out: Move[] = [];
  for (const cluster of scenario.clusters) {
    const works = state.works[cluster] ?? {};
    const members = state.members[cluster] ?? {};
    const isLost = state.lost.includes(cluster);
    for (const [key, work] of isLost ? [] : Object.entries(works)) {
      const live = members[key];
      if (work.isGoing) {
        const { [key]: _member, ...left } = members;
        const { [key]: _work, ...rest } = works;
        const next = {
          ...state,
          works: { ...state.works, [cluster]: rest },
          members: { ...state.members, [cluster]: left },
        };
        out.push({ name: `deleted ${cluster}/${key}`, next });
      } else if (live?.epoch !== work.epoch || live.content !== work.content) {
        const object = { content: work.content, epoch: work.epoch, isHealthy: false };
        out.push({
          name: `delivered ${cluster}/${key}`,
          next: withMember(state, cluster, { ...members, [key]: object }),
        });
      }
    }
    for (const [key, live] of Object.entries(members)) {
      if (live.isHealthy) continue;
      out.push({
        name: `healthy ${cluster}/${key}`,
        next: withMember(state, cluster, { ...members, [key]: { ...live, isHealthy: true } }),
      });
    }
    if (!isLost && JSON.stringify(state.views[cluster]) !== JSON.stringify(members)) {
      out.push({ name: `watched ${cluster}`, next: { ...state, views: { ...state.views, [cluster]: members } } });
    }
    if (isLost)
      out.push({
        name: `returned ${cluster}`,
        next: { ...state, lost: state.lost.filter((each) => each !== cluster) },
      });
    else if (state.losses < scenario.losses) {
      out.push({
        name: `lost ${cluster}`,
        next: { ...state, losses: state.losses + 1, lost: [...state.lost, cluster] },
      });
    }
  }
  const edit = scenario.edits[state.edits];
  if (edit !== undefined) out.push({ name: `edit ${edit}`, next: { ...state, wanted: edit, edits: state.edits + 1 } });
  else if (scenario.deletes && !state.isDeleting) out.push({ name: "delete", next: { ...state, isDeleting: true } });
  return out;
}

function withMember(state: State, cluster: string, members: State["members"][string]): State {
  return { ...state, members: { ...state.members, [cluster]: members } };
}

/** What a plan may not do, told from outside: by what is true in the members, not by what the planner sees. */
function checkPlan(scenario: Scenario, before: State, after: State): string | undefined {
  for (const cluster of scenario.clusters) {
    const [old, now] = [before.ledger.clusters[cluster]?.grant, after.ledger.clusters[cluster]?.grant];
    if (!now || now.mode === "Delete") continue;
    const isStep = old?.step !== now.step;
    if (isStep && before.lost.includes(cluster)) return "A12: a step starts in a cluster that cannot be reached";
    if (isStep && !before.isDeleting) {
      const max = scenario.rollout?.maxUnavailableClusters ?? 1;
      const others = scenario.clusters.filter(
        (each) => each !== cluster && !before.lost.includes(each) && isBusy(scenario, before, each),
      );
      if (others.length >= max) return "A3: more clusters than maxUnavailableClusters are in a step";
      const waves = scenario.rollout?.waves ?? [];
      const first = waves[0]?.clusters ?? [];
      const isLate = first.some((each) => !before.lost.includes(each) && !isOn(scenario, before, each, now.revision));
      if (waves.length > 0 && !first.includes(cluster) && isLate)
        return "W3: a later wave starts before the first is healthy";
    }
    if (old && old.step === now.step && now.stage < old.stage) return "A5: a stage is entered again";
  }
  return undefined;
}

function isBusy(scenario: Scenario, state: State, cluster: string): boolean {
  const entry = state.ledger.clusters[cluster];
  return entry?.grant != null && !isRemoving(entry) && !isOn(scenario, state, cluster, entry.grant.revision);
}

function isOn(scenario: Scenario, state: State, cluster: string, revision: string): boolean {
  const stages = stagesIn(scenario, revision, "Upgrade").filter(({ kind }) => kind === "apply");
  return objectsOf(stages).every((key) => isTruly(state, cluster, key, revision));
}

function checkWrite(
  scenario: Scenario,
  state: State,
  next: State,
  kind: "apply" | "hook" | "remove",
  cluster: string,
  key: string,
): string | undefined {
  const grant = state.ledger.clusters[cluster]?.grant;
  if (!grant) return "A1: something is written without a grant";
  const stages = stagesIn(scenario, grant.revision, grant.mode);
  if (kind === "remove" && grant.mode !== "Delete" && !objectsOf(stages).includes(key)) {
    if (!isOn(scenario, state, cluster, grant.revision))
      return "A8: something is pruned before the revision is healthy";
  }
  if (kind !== "remove") {
    const at = stages.findIndex((stage) =>
      stage.kind === "apply" ? stage.objects.includes(key) : stage.kind === "hook" && stage.object === key,
    );
    for (const stage of stages.slice(0, at)) {
      for (const each of objectsOf([stage])) {
        if (!isTruly(state, cluster, each, grant.revision))
          return "A6: a stage starts before the one before it is healthy";
      }
    }
  }
  if (Object.values(next.hooks).some((count) => count > 1)) return "A7: a hook runs twice in one step";
  return undefined;
}

/** Nothing can happen any more: then everything must be as it was asked for. */
function unsettled(scenario: Scenario, state: State): string[] {
  const clusters = scenario.clusters.filter((cluster) => !state.lost.includes(cluster));
  if (state.isDeleting) {
    const left = clusters.filter((cluster) => Object.keys(state.members[cluster] ?? {}).length > 0);
    return left.length > 0 || clusters.some((cluster) => cluster in state.ledger.clusters)
      ? ["A21: it makes no progress, and something is left"]
      : [];
  }
  const isRight = clusters.every((cluster) => {
    const keys = objectsOf(stagesIn(scenario, state.wanted, "Upgrade"));
    const here = Object.keys(state.members[cluster] ?? {});
    return (
      isOn(scenario, state, cluster, state.wanted) &&
      here.every((key) => keys.includes(key)) &&
      state.ledger.clusters[cluster]?.done
    );
  });
  return isRight && state.ledger.currentRevision === state.wanted
    ? []
    : ["A4: it makes no progress, and is not as asked for"];
}
