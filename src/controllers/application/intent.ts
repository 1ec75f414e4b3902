import type { AllowedClustersRule, ParsedDistributedApplication, RolloutApproval } from "../../api/index.ts";
import { forbiddenClusters } from "../../api/index.ts";
import type { Divided, Intent, Ledger, WantedClusters, WantedRevision } from "../../applications/index.ts";
import type { Engine, EngineBundle, EngineCluster } from "../../engine/index.ts";
import { labelSelectorMatches } from "../../render/index.ts";
import type { Promotion, WindowState } from "../../rollout/index.ts";
import type { Found } from "../common/hub/hub-readings.ts";
import type { Way } from "./way.ts";

/** The clusters that the spec chooses, in order. */
export function wantedClusters(
  { spec }: ParsedDistributedApplication,
  engine: Engine,
  owner: EngineBundle,
  fleet: ReadonlyMap<string, EngineCluster>,
): WantedClusters {
  const { names, selector, placementRef } = spec.clusters;
  if (names) return { kind: "known", names };
  if (placementRef) {
    const schedule = engine.schedule({ ...owner, placement: placementRef.name });
    if (schedule.kind === "unknown") return schedule;
    const kept = schedule.clusters.flatMap(({ cluster, kept }) => (kept ? [[cluster, kept.message]] : []));
    return {
      kind: "known",
      names: schedule.clusters.map(({ cluster }) => cluster),
      ...(kept.length > 0 && { kept: Object.fromEntries(kept) }),
    };
  }
  const matched = [...fleet.values()].filter(({ labels }) => labelSelectorMatches({ ...selector }, labels));
  return { kind: "known", names: matched.map(({ name }) => name).sort() };
}

/** Why the namespace may not use these clusters; undefined: it may. */
export function clustersRefused(
  { metadata }: ParsedDistributedApplication,
  chosen: readonly string[],
  namespace: Found,
  rule: AllowedClustersRule,
): string | undefined {
  if (namespace.kind === "unknown" && namespace.notServed === undefined) {
    return `which clusters namespace ${metadata.namespace} may use is not known yet: ${namespace.message}`;
  }
  const object = namespace.kind === "present" ? namespace.object : { metadata: {} };
  const refused = forbiddenClusters(
    object,
    chosen.map((name) => ({ name })),
    rule,
  );
  return refused.length === 0 ? undefined : `namespace ${metadata.namespace} may not use ${refused.join(", ")}`;
}

/** The revision that the next plan goes to; undefined: there is none yet. */
export function targetOf(
  revised: WantedRevision,
  { override, rollout, currentRevision, undoHeard }: Ledger,
  app: ParsedDistributedApplication,
): string | undefined {
  const { undo } = app.spec;
  // An undo that is not heard yet is the target of this very plan.
  if (undo && undoHeard !== `${undo.at} ${undo.to}`) return undo.to;
  if (override && !(revised.kind === "known" && revised.id !== override.instead)) return override.to;
  if (revised.kind === "known") return revised.id;
  return rollout?.to ?? currentRevision ?? undo?.to;
}

export interface IntentFacts {
  readonly app: ParsedDistributedApplication;
  readonly revision: WantedRevision;
  readonly clusters: WantedClusters;
  readonly way: Way;
  readonly divided: readonly Divided[];
  readonly approvals: readonly RolloutApproval[];
  readonly window: WindowState;
}

export function intentOf({ app, revision, clusters, way, divided, approvals, window }: IntentFacts): Intent {
  const { spec, metadata } = app;
  const { maxUnavailableClusters, waves = [], soakSeconds, paused, progressDeadlineSeconds, onFailure } = spec.rollout;
  const promotion = promotionOf(app);
  return {
    revision,
    clusters,
    leave: spec.deletionPolicy,
    ...(metadata.deletionTimestamp !== undefined && { ending: spec.deletionPolicy }),
    rollout: { maxUnavailableClusters, waves, soakSeconds, paused, progressDeadlineSeconds, onFailure, window },
    requests: {
      approvals: approvals.map(({ spec: { revision: to, wave } }) => ({ revision: to, wave: wave - 1 })),
      ...(promotion && { promotion }),
      ...(spec.undo && { undo: { id: `${spec.undo.at} ${spec.undo.to}`, to: spec.undo.to } }),
      ...(spec.resumedAt !== undefined && { resumed: spec.resumedAt }),
    },
    divided,
    stages: (id, cluster, mode) => way.stages(id, cluster, mode),
  };
}

function promotionOf({ spec: { promote } }: ParsedDistributedApplication): Promotion | undefined {
  if (!promote) return undefined;
  const { revision, wave, window = false } = promote;
  return { revision, window, ...(wave !== undefined && { wave: wave - 1 }) };
}
