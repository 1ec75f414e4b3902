import { viewIn } from "../evidence/view.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName } from "../types/index.ts";
import { hasMissedDeadline, isStuck } from "./failure.ts";
import type { RolloutView, Turns } from "./rollout.ts";
import type { Part } from "./share.ts";

/** How a cluster gets to a rollout's revision. */
export interface Way {
  /** The revision of the next step; not always the rollout's. */
  readonly to: string;
  readonly anyWave: boolean;
  readonly back: boolean;
  readonly why: string;
}

/**
 * [U8] [U9] How a cluster gets to the rollout's revision. A StatefulSet in the middle of another revision finishes or
 * goes back first, or a pod that dies meanwhile would return on the wrong one. Any cluster that is stuck in the middle
 * of a superseded revision, and whose wave is far, goes back: its broken instance would block all other clusters.
 */
export function wayTo({ draft }: Turns, view: RolloutView, { cluster }: Part): Way | "wait" {
  const entry = draft.entry(cluster);
  const { to, kind } = view.rollout;
  const straight: Way = { to, anyWave: false, back: kind === "rollback", why: "" };
  if (!entry.grant || entry.grant.revision === to) return straight;
  const isSet = draft.intent.workload.protocol === "statefulset";
  if (entry.grant.onDelete) {
    if (!isSet || entry.grant.revision !== entry.baseRevision) return straight;
    // It was paused during its rollback: its pods still run two revisions.
    if (entry.done) return { to: entry.baseRevision, anyWave: true, back: true, why: "its rollback was paused" };
  }
  const moving = !entry.done && entry.turn === "held";
  const goingBack = !entry.done && entry.step?.kind === "rollback" && entry.grant.revision === entry.baseRevision;
  if (to === entry.baseRevision) return { ...straight, back: true };
  const standsStill = !moving || (goingBack && hasMissedDeadline(draft, cluster));
  if (standsStill && !view.isOpen(cluster) && isDeadOnAbandoned(draft, view, cluster)) {
    // Its wave may never come: earlier waves may wait for the majority or the membership change that this cluster
    // blocks.
    return {
      to: view.rollout.from ?? to,
      anyWave: true,
      back: true,
      why: "nothing runs there on a superseded revision",
    };
  }
  if (entry.baseRevision === null) {
    // Nothing ever completed here, so there is nothing to go back to. What has come up, or is new on the old revision
    // because its wave is far, is left to finish; for nothing that is up and past its deadline no wave waits, which may
    // wait for it.
    const nothingUp = viewIn(draft, cluster).ready === 0;
    const isOld = entry.grant.revision === view.rollout.from && !(nothingUp && hasMissedDeadline(draft, cluster));
    const patient = !(nothingUp && view.isOpen(cluster)) && moving && (isOld || !isStuck(draft, cluster));
    if (patient) return finishFirst(draft, cluster, entry.grant.revision, to);
    return { ...straight, anyWave: moving, back: true, why: "the revision before never completed here" };
  }
  if (entry.grant.revision === entry.baseRevision) {
    // All instances run one revision, or are being rolled back to it. The cluster may continue as soon as its current
    // step is done, or has missed its deadline.
    if (goingBack && !hasMissedDeadline(draft, cluster)) {
      goesBack(draft, cluster, entry.grant.revision, to);
      return "wait";
    }
    const patient = !goingBack && moving && !isStuck(draft, cluster);
    return patient ? finishFirst(draft, cluster, entry.grant.revision, to) : straight;
  }
  const indirect = isSet || (moving && !view.isOpen(cluster));
  if (!indirect) return straight;
  if (moving && !isStuck(draft, cluster)) return finishFirst(draft, cluster, entry.grant.revision, to);
  goesBack(draft, cluster, entry.baseRevision, to);
  return {
    to: entry.baseRevision,
    anyWave: true,
    back: true,
    why: `${entry.grant.revision} was superseded in mid-step`,
  };
}

/** [U9] None of its instances is ready, and it runs neither the rollout's source nor its target revision. */
function isDeadOnAbandoned(draft: Draft, { rollout }: RolloutView, cluster: ClusterName): boolean {
  const { grant, instances } = draft.entry(cluster);
  const isAbandoned = grant !== null && grant.revision !== rollout.from && grant.revision !== rollout.to;
  return isAbandoned && instances.length > 0 && viewIn(draft, cluster).ready === 0;
}

function goesBack(draft: Draft, cluster: ClusterName, base: string, to: string): void {
  draft.wait("RollBackFirst", cluster, `it goes back to ${base} before it goes to ${to}`, "Wait for the way back.", [
    { object: cluster, field: "revision", value: draft.entry(cluster).grant?.revision ?? "none" },
  ]);
}

function finishFirst(draft: Draft, cluster: ClusterName, now: string, to: string): "wait" {
  draft.wait("FinishFirst", cluster, `it finishes ${now} before it goes to ${to}`, "Wait for the step under way.", [
    { object: cluster, field: "revision", value: now },
  ]);
  return "wait";
}
