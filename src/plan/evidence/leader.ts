import { isInMaintenance } from "../../rollout/index.ts";
import { instanceKey, localName } from "../identity/identity.ts";
import type { Draft } from "../ledger/draft.ts";
import type { ClusterName, TimeMs } from "../types/index.ts";
import { viewIn } from "./view.ts";

const SECOND_MS = 1000;
/** [L4] How long an unknown leader holds its possible clusters back when no transfer timeout says otherwise. */
export const LEADER_UNKNOWN_PATIENCE_MS = 60_000;

export type Leader =
  /** No source reports a leader: there is none to wait for. */
  | { readonly kind: "none" }
  | { readonly kind: "known"; readonly cluster: ClusterName; readonly instance: string | undefined }
  /** [L3] None or several claim it: each of these clusters may hold it. */
  | { readonly kind: "unknown"; readonly suspects: ReadonlySet<ClusterName> };

/** [L1] Where the leader is, by the claims of clusters that are Ready and observed. */
export function leaderOf(draft: Draft): Leader {
  if (!draft.intent.workload.reportsLeader) return { kind: "none" };
  const claiming: ClusterName[] = [];
  const silent: ClusterName[] = [];
  const present: ClusterName[] = [];
  let instance: string | undefined;
  for (const cluster of draft.order) {
    const seen = viewIn(draft, cluster).present;
    if (!seen || draft.entry(cluster).instances.length === 0) continue;
    present.push(cluster);
    if (seen.leader.kind === "here") {
      claiming.push(cluster);
      instance = seen.leader.instance;
    } else if (seen.leader.kind === "unknown") silent.push(cluster);
  }
  const [first, second] = claiming;
  if (first !== undefined && second === undefined) return { kind: "known", cluster: first, instance };
  if (first !== undefined) return { kind: "unknown", suspects: new Set(claiming) };
  return { kind: "unknown", suspects: new Set(silent.length > 0 ? silent : present) };
}

/** Names that are listed where a leader's name matches none of them. */
const MATCHES_SHOWN = 8;

/**
 * [L10] What a cluster says about the leader cannot be read: said at once, and not only when an update has to wait for
 * it.
 */
export function reportUnreadable(draft: Draft): void {
  if (!draft.intent.workload.reportsLeader) return;
  for (const cluster of draft.order) {
    const claim = viewIn(draft, cluster).present?.leader;
    if (claim?.kind !== "unknown" || draft.entry(cluster).instances.length === 0) continue;
    const { said, failure } = claim;
    if (failure !== undefined) {
      draft.wait("LeaderUnknown", cluster, `its leader cannot be read: ${failure}`, "Correct spec.leader.", [
        { object: cluster, field: "spec.leader", value: failure },
      ]);
    } else if (said !== undefined) {
      draft.wait(
        "LeaderUnknown",
        cluster,
        `its leader is said to be '${said}', which is no instance and no cluster of this application`,
        "Have spec.leader give an instance's name, a cluster's name, true or false.",
        [
          { object: cluster, field: "leader", value: said },
          { object: "the application", field: "would match", value: matchesOf(draft) },
        ],
      );
    }
  }
}

/** [L1] If every cluster numbers its own instances, an instance's name does not identify the cluster. */
function matchesOf(draft: Draft): string {
  const instances = draft.order.flatMap((cluster) => {
    const entry = draft.entry(cluster);
    return draft.identity.mode === "PerCluster"
      ? []
      : entry.instances.map(({ ordinal }) => localName(draft.identity, entry, ordinal));
  });
  const names = [...draft.order, ...instances];
  const shown = names.slice(0, MATCHES_SHOWN);
  return `${shown.join(", ")}${names.length > shown.length ? " ..." : ""}, true, false`;
}

export function mayLead(leader: Leader, cluster: ClusterName): boolean {
  return leader.kind === "known"
    ? leader.cluster === cluster
    : leader.kind === "unknown" && leader.suspects.has(cluster);
}

/**
 * [L5] Whom the leader is asked to hand over to: the first instance, in global order, of another cluster that has
 * completed `revision` and is healthy; without one, of any healthy other cluster. Never one in maintenance. Undefined:
 * no cluster can.
 */
export function transferTarget(
  draft: Draft,
  from: ClusterName,
  revision: string | null,
): { readonly cluster: ClusterName; readonly instance: string } | undefined {
  let fallback: { readonly cluster: ClusterName; readonly instance: string } | undefined;
  for (const cluster of draft.order) {
    if (cluster === from || !viewIn(draft, cluster).healthy || isInMaintenance(draft.intent, cluster)) continue;
    const entry = draft.entry(cluster);
    if (!entry.grant || entry.votes !== "counted") continue;
    const updated = entry.done && entry.grant.revision === revision;
    const chosen = entry.instances.find(
      ({ state }, i) => state === "member" && (!updated || i >= (entry.grant?.partition ?? 0)),
    );
    if (!chosen) continue;
    const found = { cluster, instance: instanceKey(draft.identity, cluster, entry, chosen.ordinal) };
    if (updated) return found;
    fallback ??= found;
  }
  return fallback;
}

/**
 * Whether the leader is, or may be, the `from`-th to the last instance before `below` of its cluster. Not named: any of
 * them.
 */
export function mayTakeLeader(
  draft: Draft,
  leader: Leader,
  cluster: ClusterName,
  from: number,
  below: number = draft.entry(cluster).instances.length,
): boolean {
  const { step } = draft.entry(cluster);
  // The leader was asked to move, and no cluster claims it: it may be moving, or may stay.
  if (leader.kind === "unknown") return step?.kind === "transfer";
  if (leader.kind !== "known" || leader.cluster !== cluster) return false;
  const named = leader.instance;
  if (named === undefined) return true;
  const entry = draft.entry(cluster);
  const at = entry.instances.findIndex(
    ({ ordinal }) =>
      named === localName(draft.identity, entry, ordinal) ||
      named === instanceKey(draft.identity, cluster, entry, ordinal),
  );
  return at < 0 || (at >= from && at < below);
}

/**
 * [L6] Before the leader may be taken down, it is asked to move; its cluster gets the turn for it, on the content it
 * has. Returns true while the move is in progress, including an election without any leader. False: the leader moved,
 * it may not be asked, no instance can take over, or the request has timed out.
 */
export function movesLeaderFirst(draft: Draft, cluster: ClusterName, revision: string | null, why: string): boolean {
  const { update } = draft.intent;
  const timeout = update.type === "RollingUpdate" ? update.leaderTransfer?.timeoutSeconds : undefined;
  const { grant, step } = draft.entry(cluster);
  if (timeout === undefined || !grant) return false;
  if (step?.kind !== "transfer") {
    const target = transferTarget(draft, cluster, revision)?.instance;
    if (target === undefined) return false;
    draft.write(
      cluster,
      { ...grant, turn: true, transferLeaderTo: target },
      {
        kind: "transfer",
        why: `${why}; first the leader is asked to move to ${target}`,
        progress: draft.startStep("transfer", cluster),
      },
    );
    return true;
  }
  const endsAtMs: TimeMs = step.sinceMs + timeout * SECOND_MS;
  if (draft.nowMs >= endsAtMs) return false;
  draft.wakeAt(endsAtMs);
  draft.wait(
    "LeaderTransfer",
    cluster,
    `the leader has been asked to move to ${grant.transferLeaderTo ?? "another cluster"}`,
    "Wait; after leaderTransfer.timeoutSeconds the step starts even if the leader has not moved.",
    [{ object: cluster, field: "leader", value: "not seen elsewhere", sinceMs: step.sinceMs }],
  );
  return true;
}
