import type { Ledger } from "../../applications/index.ts";

export interface NewsItem {
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
}

/**
 * What a reader of Events wants to know of a rollout: few items, and each once, because each is one change of the ledger.
 * Clusters have no Events of their own unless something failed: status lists them. `waves`: how many the spec names.
 */
export function newsOf(before: Ledger, after: Ledger, waves: number): NewsItem[] {
  return [...targetNews(before, after), ...waveNews(before, after, waves), ...clusterNews(before, after)];
}

function targetNews(before: Ledger, after: Ledger): NewsItem[] {
  const news: NewsItem[] = [];
  const { override, rollout } = after;
  if (override && (override.to !== before.override?.to || override.cause !== before.override.cause)) {
    const what = override.instead === "" ? "the source's revision" : `revision ${override.instead}`;
    news.push(
      override.cause === "failure"
        ? {
            type: "Warning",
            reason: "RolledBack",
            message: `${what} failed; the clusters return to ${override.to}. ${override.why ?? ""}`.trimEnd(),
          }
        : { type: "Normal", reason: "Undone", message: `${what} was undone; the clusters go to ${override.to}` },
    );
  }
  const isNew = rollout?.kind === "update" && rollout.to !== before.rollout?.to;
  // A cluster that joins or returns goes to the revision that all others run already: no rollout to users.
  if (isNew && rollout.to !== before.currentRevision) {
    const from = rollout.from === null ? "" : ` instead of ${rollout.from}`;
    news.push({ type: "Normal", reason: "RolloutStarted", message: `revision ${rollout.to} is rolled out${from}` });
  }
  if (after.currentRevision !== null && after.currentRevision !== before.currentRevision) {
    const clusters = Object.values(after.clusters).filter(({ deployed }) => deployed === after.currentRevision).length;
    const where = `${clusters} ${clusters === 1 ? "cluster" : "clusters"}`;
    news.push({
      type: "Normal",
      reason: "RolloutFinished",
      message: `revision ${after.currentRevision} runs in ${where}, healthy`,
    });
  }
  return news;
}

function waveNews(before: Ledger, after: Ledger, waves: number): NewsItem[] {
  const { rollout } = after;
  const earlier = before.rollout;
  if (rollout?.kind !== "update" || rollout.to !== earlier?.to || rollout.wave <= earlier.wave) return [];
  const done = Math.min(rollout.wave, waves);
  if (done <= earlier.wave) return [];
  return [{ type: "Normal", reason: "WaveFinished", message: `wave ${done} of ${waves} has revision ${rollout.to}` }];
}

function clusterNews(before: Ledger, after: Ledger): NewsItem[] {
  return Object.entries(after.clusters).flatMap(([cluster, { out, failed, grant }]): NewsItem[] => {
    const old = before.clusters[cluster];
    const news: NewsItem[] = [];
    if (failed !== null && (old?.failed ?? null) === null) {
      const what = `${cluster}: the step to ${grant?.revision} failed: ${failed}`;
      news.push({ type: "Warning", reason: "StepFailed", message: what });
    }
    for (const [key, { missing }] of Object.entries(out)) {
      if (old?.out[key]) continue;
      const message = `${missing} replicas of ${key} run elsewhere, because ${cluster} does not serve them`;
      news.push({ type: "Warning", reason: "FailedOver", message });
    }
    for (const key of Object.keys(old?.out ?? {})) {
      if (out[key]) continue;
      news.push({ type: "Normal", reason: "FailedBack", message: `${cluster} serves its replicas of ${key} again` });
    }
    return news;
  });
}
