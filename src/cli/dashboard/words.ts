/** Small helpers of the views. Pure. */
import { CONTROLLER_REASONS } from "../../controllers/index.ts";
import { JOB_REASONS } from "../../jobs/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { REASONS } from "../../rollout/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { HappenedView, NoteView, RevisionView } from "../../web/index.ts";

const MEANINGS: Readonly<Record<string, { readonly meaning: string; readonly needsPerson: boolean }>> = {
  ...REASONS,
  ...JOB_REASONS,
  ...CONTROLLER_REASONS,
};

export function meaningOf(reason: string): string | undefined {
  return Object.hasOwn(MEANINGS, reason) ? MEANINGS[reason]?.meaning : undefined;
}

/** A person is at it already, and ends it: to call another one would hide what is urgent. */
const IN_HAND: ReadonlySet<string> = new Set(["InMaintenance"]);

export function isInHand(reason: string | undefined): boolean {
  return reason !== undefined && IN_HAND.has(reason);
}

export function needsPerson(reason: string | undefined): boolean {
  if (reason === undefined || isInHand(reason) || !Object.hasOwn(MEANINGS, reason)) return false;
  return MEANINGS[reason]?.needsPerson === true;
}

type Given<K extends string, V> = { readonly [key in K]?: Exclude<V, undefined> };

/** A field that is left out if it has no value. */
export function given<K extends string, V>(key: K, value: V): Given<K, V>;
export function given(key: string, value: unknown): object {
  return value === undefined ? {} : { [key]: value };
}

export function listOf(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

export function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** Undefined: no time. */
export function timeOf(value: string | undefined): number | undefined {
  const ms = Date.parse(value ?? "");
  return Number.isFinite(ms) ? ms : undefined;
}

interface Entry {
  readonly revision: string;
  readonly number?: number;
  readonly createdAt?: string;
  readonly cause?: string;
  readonly promoted?: string;
  readonly record?: string;
}

interface Marks {
  readonly current: string | undefined;
  readonly target: string | undefined;
  readonly rejected: string | undefined;
}

/** Newest first. */
export function historyView(
  history: readonly Entry[],
  { current, target, rejected }: Marks,
  changes?: ReadonlyMap<string, readonly string[]>,
): RevisionView[] {
  return history
    .map(({ revision, number = 0, createdAt, cause, promoted, record }): RevisionView => {
      const state: RevisionView["state"][number][] = [];
      if (revision === current) state.push("current");
      if (revision === target && revision !== current) state.push("being rolled out");
      if (revision === rejected) state.push("rejected");
      return {
        revision,
        hasRecord: record !== undefined,
        number,
        ...given("createdAt", createdAt),
        ...given("cause", cause),
        ...given("promoted", promoted),
        ...given("changes", changes?.get(revision)),
        state,
      };
    })
    .sort((a, b) => b.number - a.number);
}

/** Of what the controller notes in an account; its Events have a type. */
export function isWarningReason(reason: string): boolean {
  return /Failed|RolledBack|Refused|Lost/.test(reason);
}

/** Clusters that no wave names come after the last one, as a wave of their own. */
export function waveCount(
  waves: readonly { readonly clusters: readonly string[] }[] | undefined,
  clusters: readonly { readonly name: string }[],
): number {
  if (waves === undefined || waves.length === 0) return 0;
  const named = new Set(waves.flatMap((wave) => wave.clusters));
  return clusters.every(({ name }) => named.has(name)) ? waves.length : waves.length + 1;
}

const MAX_NOTES = 50;

/** What the Events say, newest first. */
export function happenedView(events: readonly KubeObject[], problem: string | undefined): HappenedView {
  const notes = events.flatMap((event): NoteView[] => {
    const { reason, message, type, lastTimestamp, eventTime, firstTimestamp } = event;
    const atMs = timeOf([lastTimestamp, eventTime, firstTimestamp].map(textOf).find((time) => time !== undefined));
    if (typeof reason !== "string" || typeof message !== "string" || atMs === undefined) return [];
    return [{ atMs, isWarning: type === "Warning", reason, message }];
  });
  return { notes: notes.sort((a, b) => b.atMs - a.atMs).slice(0, MAX_NOTES), ...given("problem", problem) };
}
