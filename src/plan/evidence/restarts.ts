import type { Draft } from "../ledger/draft.ts";
import type { ClusterName, DownSeen, InstanceObservation, StepInProgress } from "../types/index.ts";
import { isCounted, isObserved, localOrdinal, viewIn } from "./view.ts";

/**
 * [Q20] What took an instance down: the step, or an accident during it. If the snapshot lists every instance, the
 * planner can distinguish the two, so that an eviction does not look like an operator that restarts in parallel. If
 * only counts are known, every instance that went down since the step began counts as taken down by the step.
 */

interface PodSlot {
  readonly ordinal: number;
  /** Absent: deleted, and not there again yet. */
  readonly pod: InstanceObservation | undefined;
}

const NOTHING_DOWN: DownSeen = { accidents: [], finishedFrom: null };

/** Instances that were down before the step began were not taken down by it. */
export function downBefore(draft: Draft, cluster: ClusterName): DownSeen | null {
  const slots = slotsOf(draft, cluster);
  if (!slots) return null;
  return { accidents: slots.filter(isDown).map(({ ordinal }) => ordinal), finishedFrom: null };
}

/** Remembers, while the step lasts, which instances are down by accident and which it has finished with. */
export function noteDown(draft: Draft, cluster: ClusterName, step: StepInProgress): StepInProgress {
  const slots = slotsOf(draft, cluster);
  const { present } = viewIn(draft, cluster);
  // If pods were not listed when the step began but none was down, no record of that time is needed.
  const known = step.down ?? (step.unavailableBefore === 0 ? NOTHING_DOWN : null);
  if (!known || !present || !haveRevisions(slots)) return step;
  // Before its controller has seen the spec, "updated" refers to the previous spec.
  const observed = isObserved(present);
  const finishedFrom = lower(known.finishedFrom, observed ? finishedNow(slots) : null);
  const accidents: number[] = [];
  let above: PodSlot | undefined;
  // From the highest down, so that `above` is an instance that a StatefulSet would have to restart first.
  for (const slot of slots.toReversed()) {
    const { ordinal, pod } = slot;
    if (!isDown(slot)) {
      if (observed && draft.intent.workload.protocol === "statefulset" && pod?.updated === false) above ??= slot;
      continue;
    }
    const before = known.accidents.includes(ordinal);
    const finished = finishedFrom !== null && ordinal >= finishedFrom;
    if (before || finished || pod?.disrupted === true || above !== undefined) accidents.push(ordinal);
  }
  accidents.reverse();
  const same = finishedFrom === step.down?.finishedFrom && `${accidents}` === `${step.down.accidents}`;
  return same ? step : { ...step, down: { accidents, finishedFrom } };
}

/** Instances that the current step has taken down and that are not back, by name if the names are known. */
export function takenDown(draft: Draft, cluster: ClusterName): { readonly count: number; readonly names: string } {
  const { step } = draft.entry(cluster);
  const { down, present } = viewIn(draft, cluster);
  // Without counts, it is not known how many are down.
  if (!step || !present || !isCounted(present)) return { count: 0, names: "" };
  const slots = slotsOf(draft, cluster);
  if (!step.down || !haveRevisions(slots)) {
    const before = Math.max(step.unavailableBefore, step.down?.accidents.length ?? 0);
    return { count: Math.max(0, down - before), names: `${down} are down, ${before} were before the step` };
  }
  // Until the status shows that the controller has seen the spec, no pod is down because of it. Pods and status come
  // from two watches, so they may show two different times.
  if (!isObserved(present)) return { count: 0, names: "" };
  const { accidents } = step.down;
  // A pod that still runs the old revision and is not terminating has not been restarted for the new one.
  const taken = slots.filter(
    (slot) =>
      isDown(slot) &&
      !accidents.includes(slot.ordinal) &&
      !(slot.pod !== undefined && !slot.pod.terminating && slot.pod.updated === false),
  );
  return { count: taken.length, names: taken.map(({ ordinal }) => `${draft.identity.app.name}-${ordinal}`).join(", ") };
}

/** The cluster's member instances with their pods, by ascending ordinal; null: the snapshot does not list pods. */
function slotsOf(draft: Draft, cluster: ClusterName): PodSlot[] | null {
  const { present } = viewIn(draft, cluster);
  const pods = present?.instances;
  if (!pods) return null;
  const entry = draft.entry(cluster);
  const byOrdinal = new Map(pods.map((pod) => [pod.ordinal, pod]));
  return entry.instances.flatMap(({ state }, i) => {
    const ordinal = localOrdinal(draft, entry, i);
    return state === "joining" ? [] : [{ ordinal, pod: byOrdinal.get(ordinal) }];
  });
}

/** Whether every pod shows its revision. Otherwise only counts can be used. */
function haveRevisions(slots: readonly PodSlot[] | null): slots is PodSlot[] {
  return slots?.every(({ pod }) => pod === undefined || pod.updated !== undefined) ?? false;
}

function isDown({ pod }: PodSlot): boolean {
  return !pod?.ready || pod.terminating;
}

/** The lowest ordinal from which upwards all are updated and ready. */
function finishedNow(slots: readonly PodSlot[]): number | null {
  let lowest: number | null = null;
  for (const slot of slots.toReversed()) {
    if (isDown(slot) || slot.pod?.updated !== true) break;
    lowest = slot.ordinal;
  }
  return lowest;
}

function lower(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
