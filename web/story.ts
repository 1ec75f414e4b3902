/** What is shown of a rollout, of any kind: on the page, in a replay, and in a saved file. Pure. */
import type {
  AheadView,
  ApplicationName,
  ApplicationView,
  DistributionView,
  JobView,
  RecordView,
  RevisionView,
  TimelineView,
} from "../src/web/types.ts";
import { count, short, words } from "./format.ts";
import { waitOf } from "./titles.ts";

export interface Story extends ApplicationName {
  readonly atMs: number;
  /** Such as: StatefulSet, 5 instances over 3 clusters. */
  readonly about: string;
  /** Absent: a job has none. */
  readonly revision?: string;
  /** How it began, in a sentence. */
  readonly opening: string;
  readonly timeline: TimelineView;
  /** A row for each; empty: the whole rollout. */
  readonly lanes: readonly string[];
  readonly isRunning: boolean;
  readonly ahead: readonly AheadView[];
  /** What the revision changed. */
  readonly changes: readonly string[];
  /** How it stood; absent: it is about the past. */
  readonly end?: { readonly sentence: string; readonly rows: readonly (readonly [string, string])[] };
}

type Told = Pick<Story, "type" | "namespace" | "name" | "atMs">;

function told({ type, namespace, name, atMs }: Told): Told {
  return { type, namespace, name, atMs };
}

/** Those of the timeline follow what is there now: a cluster may have left since. */
function lanesOf(timeline: TimelineView, clusters: readonly string[]): string[] {
  const seen = [...timeline.holds, ...timeline.spans].map(({ cluster }) => cluster);
  const isWhole = timeline.holds.some(({ cluster }) => cluster === "");
  return [...new Set([...(isWhole ? [""] : []), ...clusters, ...seen])];
}

function isOpen({ spans, holds }: TimelineView): boolean {
  return [...spans, ...holds].some(({ toMs }) => toMs === undefined);
}

export function statefulStory(app: ApplicationView): Story {
  const { timeline, clusters, quorum, updateRevision, history, phase, plan, desired, kind, why } = app;
  return {
    ...told(app),
    about: `${kind}, ${count(desired, "instance")} over ${count(clusters.length, "cluster")}`,
    ...(updateRevision !== undefined && { revision: updateRevision }),
    opening: `The application has ${quorum.voters} instances; ${quorum.needed} are a majority. At most ${quorum.maxUnavailable} may be down at a time, over all clusters.`,
    timeline,
    lanes: lanesOf(
      timeline,
      clusters.map(({ name }) => name),
    ),
    isRunning: phase !== "Settled" || isOpen(timeline),
    ahead: plan.ahead,
    changes: changesOf(history, updateRevision),
    end: {
      sentence: why.sentence,
      rows: clusters.map((one) => [
        one.name,
        `${words(one.phase).toLowerCase()}, ${one.ready ?? "?"} of ${one.replicas} ready, revision ${short(one.revision)}${one.leader ? ", has the leader" : ""}`,
      ]),
    },
  };
}

export function distributionStory(app: DistributionView): Story {
  const { timeline, clusters, revision, history, phase, plan, source, why } = app;
  return {
    ...told(app),
    about: `${source}, in ${count(clusters.length, "cluster")}`,
    ...(revision !== undefined && { revision }),
    opening: "It goes from cluster to cluster; the next begins when the one before is healthy.",
    timeline,
    lanes: lanesOf(
      timeline,
      clusters.map(({ name }) => name),
    ),
    isRunning: phase !== "Settled" || isOpen(timeline),
    ahead: plan.ahead,
    changes: changesOf(history, revision),
    end: {
      sentence: why.sentence,
      rows: clusters.map((one) => [
        one.name,
        `${words(one.phase).toLowerCase()}, ${one.ready} of ${one.objects} objects healthy, revision ${short(one.deployed)}`,
      ]),
    },
  };
}

export function jobStory(app: JobView): Story {
  const { timeline, attempts, phase, kind, why, guarantee, completions, succeeded } = app;
  return {
    ...told(app),
    about: `${kind}, ${count(attempts.length, "attempt")}`,
    opening: `The guarantee is ${guarantee}. ${completions === undefined ? succeeded : `${succeeded} of ${completions}`} completions are done.`,
    timeline,
    lanes: lanesOf(timeline, []),
    isRunning: phase !== "Complete" && phase !== "Failed",
    ahead: [],
    changes: [],
    end: {
      sentence: why.sentence,
      rows: attempts.map((one) => [`attempt ${one.number} in ${one.cluster}`, `${one.state}, ${one.work}`]),
    },
  };
}

/** A rollout of the past, from the account that the controller has kept. */
export function pastStory(
  now: Story,
  { timeline, revision, type, from }: RecordView,
  history: readonly RevisionView[],
): Story {
  const { end: _, ...rest } = now;
  const what = type === "Deploy" ? "first deployed" : type === "RollBack" ? "returned to" : "rolled out";
  return {
    ...rest,
    revision,
    opening: `It was ${what}${from === undefined ? "" : ` after revision ${short(from)}`}.`,
    timeline,
    lanes: lanesOf(timeline, []),
    isRunning: false,
    ahead: [],
    changes: changesOf(history, revision),
  };
}

function changesOf(history: readonly RevisionView[], revision: string | undefined): readonly string[] {
  return history.find((one) => one.revision === revision)?.changes ?? [];
}

/** From its start to its end, or to now. */
export function rangeOf({ timeline, atMs, isRunning }: Story): { fromMs: number; toMs: number } {
  const ends = [...timeline.spans, ...timeline.holds].map(({ fromMs, toMs }) => toMs ?? fromMs);
  const last = Math.max(timeline.fromMs, ...ends);
  return { fromMs: timeline.fromMs, toMs: isRunning ? Math.max(atMs, last) : last };
}

/** What happened at this moment, in a sentence. */
export function momentWords({ timeline, lanes }: Story, atMs: number): string {
  const holdsAt = <T extends { fromMs: number; toMs?: number }>(all: readonly T[]) =>
    all.filter(({ fromMs, toMs }) => fromMs <= atMs && (toMs === undefined || toMs > atMs));
  const running = holdsAt(timeline.spans);
  const ended = timeline.spans.filter(({ toMs }) => toMs !== undefined && toMs <= atMs);
  const done = new Set(ended.map(({ cluster }) => cluster));
  const said = running.map(
    ({ cluster, what, why }) => `${cluster}: ${words(what).toLowerCase()}${why === "" ? "" : `, ${why}`}`,
  );
  const held = holdsAt(timeline.holds).map(({ cluster, reason }) =>
    waitOf(reason, cluster === "" ? undefined : cluster),
  );
  const note = timeline.notes.findLast((one) => one.atMs <= atMs && atMs - one.atMs < 3_000);
  return [
    said.length > 0 ? said.join("; ") : "No step ran",
    ...(held.length > 0 ? [`Held: ${held.join("; ")}`] : []),
    `${done.size} of ${lanes.filter((lane) => lane !== "").length} clusters had finished a step`,
    ...(note ? [`${note.reason}: ${note.message}`] : []),
  ].join(". ");
}
