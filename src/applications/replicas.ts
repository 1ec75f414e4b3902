import type { ClusterName } from "../rollout/index.ts";
import { type Draft, isRemoving } from "./draft.ts";
import type { Divided, WorkloadKey } from "./types.ts";

const SECOND_MS = 1000;
/** A cluster that is back must stay well at least this long before others give its replicas back. */
const LEAST_RETURN_MS = 10_000;

/** [A15] Divides a number by weights: whole shares first, the rest to the largest remainders, in the given order. */
export function divide(total: number, weights: readonly number[]): number[] {
  const sum = weights.reduce((a, b) => a + b, 0);
  if (sum === 0) return weights.map(() => 0);
  const exact = weights.map((weight) => (total * weight) / sum);
  const shares = exact.map(Math.floor);
  const rest = total - shares.reduce((a, b) => a + b, 0);
  const order = exact
    .map((value, index) => ({ index, remainder: value - Math.floor(value) }))
    .sort((a, b) => b.remainder - a.remainder || a.index - b.index);
  for (const { index } of order.slice(0, rest)) shares[index] = (shares[index] ?? 0) + 1;
  return shares;
}

/** What each chosen cluster is to run, by workload. A workload whose division is not known is not in it. */
export type Shares = ReadonlyMap<ClusterName, Readonly<Record<WorkloadKey, number>>>;

export function sharesOf(draft: Draft): Shares {
  hearDivisions(draft);
  const shares = new Map<ClusterName, Record<WorkloadKey, number>>(draft.chosen.map((cluster) => [cluster, {}]));
  for (const workload of draft.intent.divided) {
    const base = sharesIn(draft, workload);
    for (const [cluster, share] of base) watch(draft, workload, cluster, share);
    for (const [cluster, share] of withLent(draft, workload, base)) {
      const own = shares.get(cluster);
      if (own) own[workload.key] = share;
    }
  }
  return shares;
}

/** What each cluster is to run while all of them serve; with another scheduler, as far as that is known. */
function sharesIn(draft: Draft, workload: Divided): Map<ClusterName, number> {
  if (!workload.division) return baseShares(draft.chosen, workload);
  const known = draft.ledger.divisions[workload.key] ?? {};
  return new Map(
    draft.chosen.flatMap((cluster) => {
      const share = Object.hasOwn(known, cluster) ? known[cluster] : undefined;
      return share === undefined ? [] : [[cluster, share] as const];
    }),
  );
}

/** What each cluster is to run while all of them serve, by weight. */
export function baseShares(
  chosen: readonly ClusterName[],
  { total, weights }: Pick<Divided, "total" | "weights">,
): Map<ClusterName, number> {
  const divided = divide(
    total,
    chosen.map((cluster) => weightOf(weights, cluster)),
  );
  return new Map(chosen.map((cluster, index) => [cluster, divided[index] ?? 0]));
}

function weightOf(weights: Divided["weights"], cluster: ClusterName): number {
  if (!weights) return 1;
  return Object.hasOwn(weights, cluster) ? (weights[cluster] ?? 0) : 0;
}

/** [A28] The last division that was known counts until the next is. */
function hearDivisions(draft: Draft): void {
  const divisions: Record<WorkloadKey, Readonly<Record<ClusterName, number>>> = {};
  for (const { key, division } of draft.intent.divided) {
    if (!division) continue;
    const before = draft.ledger.divisions[key];
    if (division.kind === "known") {
      divisions[key] = Object.fromEntries(draft.chosen.map((cluster) => [cluster, division.shares[cluster] ?? 0]));
      continue;
    }
    if (before) divisions[key] = before;
    draft.wait(
      "ScheduleUnknown",
      undefined,
      `how ${key} is divided is not known: ${division.message}; ${before ? "each cluster keeps its share" : "no cluster starts with it"}`,
      division.remedy ?? "No action needed. If this takes too long, look at what the message names.",
      [{ object: key, field: "division", value: "unknown" }],
    );
  }
  if (JSON.stringify(divisions) !== JSON.stringify(draft.ledger.divisions)) draft.set({ divisions });
}

/** [A28] The workload that keeps a cluster from starting, because its share there is not known. */
export function undecided(draft: Draft, cluster: ClusterName): WorkloadKey | undefined {
  const granted = draft.entry(cluster).grant?.replicas ?? {};
  return draft.intent.divided.find(
    (workload) => !Object.hasOwn(granted, workload.key) && !sharesIn(draft, workload).has(cluster),
  )?.key;
}

/** How many replicas must be ready before any are taken away: no more than were ever divided. */
function neededOf(draft: Draft, { key, total, division }: Divided): number {
  const known = division && draft.ledger.divisions[key];
  if (!known) return total;
  return Math.min(
    total,
    Object.values(known).reduce((sum, share) => sum + share, 0),
  );
}

/** [A16] Clusters that serve take what the others miss; those keep their own share, for when they serve again. */
function withLent(
  draft: Draft,
  { key, weights, division }: Divided,
  base: ReadonlyMap<ClusterName, number>,
): Map<ClusterName, number> {
  let missing = 0;
  for (const [cluster, share] of base) missing += Math.min(draft.entry(cluster).out[key]?.missing ?? 0, share);
  const standing = [...base.keys()].filter((cluster) => draft.isReady(cluster) && !draft.entry(cluster).out[key]);
  // Another scheduler's shares are its weights; if it gave those that stand nothing, they share equally.
  const isBare = standing.every((cluster) => base.get(cluster) === 0);
  const weighs = (cluster: ClusterName) =>
    !division ? weightOf(weights, cluster) : isBare ? 1 : (base.get(cluster) ?? 0);
  const helpers = standing.filter((cluster) => weighs(cluster) > 0);
  const lent = divide(missing, helpers.map(weighs));
  const shares = new Map(base);
  helpers.forEach((cluster, index) => {
    const more = lent[index] ?? 0;
    shares.set(cluster, (base.get(cluster) ?? 0) + more);
    if (more > 0) draft.lent[key] = { ...draft.lent[key], [cluster]: more };
  });
  return shares;
}

/** [A16] [A17] Since when a cluster misses replicas, whether others stand in for it, and since when it is well again. */
function watch(draft: Draft, { key, failover, object }: Divided, cluster: ClusterName, share: number): void {
  const entry = draft.entry(cluster);
  if (!failover || share === 0 || isRemoving(entry)) {
    if (key in entry.out || key in entry.short) {
      draft.change(cluster, { out: without(entry.out, key), short: without(entry.short, key) });
    }
    return;
  }
  const ready = readyIn(draft, cluster, key, object);
  // Before the step that brings the workload, a cluster that can be reached misses nothing: its turn comes.
  const isToBeThere = isGranted(draft, cluster, object);
  const isLost = isToBeThere ? ready === undefined : !draft.isReady(cluster);
  const missing = share - (ready ?? 0);
  back(draft, cluster, key, share, missing <= 0, failover.afterSeconds);
  const isShort = missing > (entry.out[key]?.missing ?? 0) && (isLost || isToBeThere);
  if (!isShort) {
    if (key in entry.short) draft.change(cluster, { short: without(entry.short, key) });
    return;
  }
  const sinceMs = Math.min(entry.short[key] ?? draft.nowMs, draft.nowMs);
  if (!(key in entry.short)) draft.change(cluster, { short: { ...entry.short, [key]: sinceMs } });
  const seconds = isLost ? failover.afterSeconds : failover.unhealthyAfterSeconds;
  // In the middle of a step replicas are missing because of the step, until it fails: it has its own deadline.
  const isInStep = !entry.done && entry.failed === null;
  if (!isLost && (seconds === 0 || isInStep)) return;
  // Whatever was missing before: a loss counts from its own beginning.
  const dueMs = (isLost ? Math.max(sinceMs, lostSince(draft, cluster)) : sinceMs) + seconds * SECOND_MS;
  if (draft.nowMs < dueMs) {
    draft.wakeAt(dueMs);
    return;
  }
  draft.change(cluster, {
    short: without(draft.entry(cluster).short, key),
    out: { ...draft.entry(cluster).out, [key]: { missing, healthySinceMs: null } },
  });
}

/** Whether the revision that the cluster was granted has the object; one that is not stored may have it. */
function isGranted(draft: Draft, cluster: ClusterName, object: string): boolean {
  const entry = draft.entry(cluster);
  if (entry.grant === null) return false;
  const stages = draft.stages(entry, cluster);
  return stages === undefined || stages.some((stage) => stage.kind === "apply" && stage.objects.includes(object));
}

/** As far as the engine knows it. */
function lostSince(draft: Draft, cluster: ClusterName): number {
  const fact = draft.fact(cluster);
  return fact && "sinceMs" in fact ? Math.min(fact.sinceMs ?? 0, draft.nowMs) : 0;
}

/** [A17] No flapping: it counts as back when it has been well for as long as it took to count as out. */
function back(
  draft: Draft,
  cluster: ClusterName,
  key: WorkloadKey,
  share: number,
  isWell: boolean,
  afterSeconds: number,
): void {
  const entry = draft.entry(cluster);
  const outage = entry.out[key];
  if (!outage) return;
  if (!isWell) {
    if (outage.healthySinceMs !== null)
      draft.change(cluster, { out: { ...entry.out, [key]: { ...outage, healthySinceMs: null } } });
    const elsewhere = Math.min(outage.missing, share);
    draft.wait(
      "FailedOver",
      cluster,
      `${elsewhere} replicas of ${key} run in other clusters until it serves them again`,
      `Look at ${key} in ${cluster}.`,
      [{ object: `${key} in ${cluster}`, field: "missing", value: String(elsewhere) }],
    );
    return;
  }
  const sinceMs = Math.min(outage.healthySinceMs ?? draft.nowMs, draft.nowMs);
  const dueMs = sinceMs + Math.max(afterSeconds * SECOND_MS, LEAST_RETURN_MS);
  if (draft.nowMs >= dueMs) {
    draft.change(cluster, { out: without(entry.out, key) });
    return;
  }
  draft.change(cluster, { out: { ...entry.out, [key]: { ...outage, healthySinceMs: sinceMs } } });
  draft.wakeAt(dueMs);
}

/** Ready replicas that a cluster shows, never more than it was granted; undefined: it cannot be seen. */
function readyIn(draft: Draft, cluster: ClusterName, key: WorkloadKey, object: string): number | undefined {
  const seen = draft.view(cluster);
  const granted = draft.entry(cluster).grant?.replicas[key];
  if (!seen || !draft.isReady(cluster)) return undefined;
  const { live } = seen.object(object);
  if (live.kind === "unknown") return undefined;
  const ready = live.kind === "present" ? (live.ready ?? 0) : 0;
  // Without a share the workload runs whole.
  return granted === undefined ? ready : Math.min(ready, granted);
}

/** [A18] Moves shares: growth at once, and a smaller share only when that takes away nothing that is needed. */
export function adjust(draft: Draft, shares: Shares): void {
  for (const workload of draft.intent.divided) {
    const { key, object } = workload;
    const total = neededOf(draft, workload);
    const ready = new Map<ClusterName, number>();
    for (const cluster of Object.keys(draft.ledger.clusters))
      ready.set(cluster, readyIn(draft, cluster, key, object) ?? 0);
    for (const [cluster, wanted] of shares) {
      const share = wanted[key];
      if (share === undefined) continue;
      const { grant } = draft.entry(cluster);
      const granted = grant?.replicas[key];
      if (!grant || grant.mode === "Delete" || granted === share || !draft.isReady(cluster)) continue;
      if (granted !== undefined && share > granted) {
        regrant(draft, cluster, key, share);
        continue;
      }
      const here = ready.get(cluster) ?? 0;
      const others = [...ready].reduce((sum, [each, count]) => sum + (each === cluster ? 0 : count), 0);
      if (here > share && others + share < total) {
        draft.wait(
          "AddBeforeRemove",
          cluster,
          `${key} keeps ${granted ?? here} replicas until ${total} are ready without those that go`,
          "No action needed.",
          [{ object: key, field: "ready elsewhere", value: String(others) }],
        );
        continue;
      }
      ready.set(cluster, Math.min(here, share));
      regrant(draft, cluster, key, share);
    }
  }
}

/** [A18] Whether the others serve everything without this cluster. */
export function isSpare(draft: Draft, cluster: ClusterName): boolean {
  return draft.intent.divided.every((workload) => {
    const { key, object } = workload;
    const here = readyIn(draft, cluster, key, object) ?? 0;
    if (here === 0) return true;
    const others = Object.keys(draft.ledger.clusters)
      .filter((each) => each !== cluster && !isRemoving(draft.entry(each)))
      .reduce((sum, each) => sum + (readyIn(draft, each, key, object) ?? 0), 0);
    return others >= neededOf(draft, workload);
  });
}

function regrant(draft: Draft, cluster: ClusterName, key: WorkloadKey, share: number): void {
  const { grant } = draft.entry(cluster);
  if (!grant) return;
  draft.grant(cluster, { ...grant, replicas: { ...grant.replicas, [key]: share } });
}

function without<Value>(record: Readonly<Record<string, Value>>, key: string): Record<string, Value> {
  return Object.fromEntries(Object.entries(record).filter(([each]) => each !== key));
}
