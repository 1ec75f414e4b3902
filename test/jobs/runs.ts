/** What the program of this suite wrote about its own runs. */
import { readFileSync } from "node:fs";

export interface Run {
  readonly work: string;
  readonly index: number | null;
  readonly cluster: string;
  readonly pod: string;
  readonly pid: number;
  readonly fromMs: number;
  /** Undefined: it still runs, or was killed without a chance to say so. */
  readonly end: { readonly how: "done" | "failed" | "stopped"; readonly atMs: number } | undefined;
}

interface Line {
  readonly what: "started" | "done" | "failed" | "stopped";
  readonly work: string;
  readonly index: number | null;
  readonly cluster: string;
  readonly pod: string;
  readonly pid: number;
  readonly atMs: number;
}

/** All runs of one work so far, in the order of their starts. */
export function runsOf(file: string, work: string): Run[] {
  const lines = linesOf(file).filter((line) => line.work === work);
  return lines
    .filter(({ what }) => what === "started")
    .map(({ index, cluster, pod, pid, atMs }) => {
      const end = lines.find((line) => line.what !== "started" && line.pod === pod && line.pid === pid);
      const how = end?.what;
      return {
        work,
        index,
        cluster,
        pod,
        pid,
        fromMs: atMs,
        end: end && how && how !== "started" ? { how, atMs: end.atMs } : undefined,
      };
    });
}

/** Pairs of runs of the same index that were alive at the same time. */
export function overlaps(runs: readonly Run[]): [Run, Run][] {
  const isBefore = (one: Run, other: Run) => one.end !== undefined && one.end.atMs <= other.fromMs;
  return runs.flatMap((one, at) =>
    runs
      .slice(at + 1)
      .filter((other) => other.index === one.index && !isBefore(one, other) && !isBefore(other, one))
      .map((other): [Run, Run] => [one, other]),
  );
}

/** How often each index was done: the proof that nothing was done twice. */
export function timesDone(runs: readonly Run[]): Record<string, number> {
  const times: Record<string, number> = {};
  for (const { index, end } of runs) if (end?.how === "done") times[`${index}`] = (times[`${index}`] ?? 0) + 1;
  return times;
}

function linesOf(file: string): Line[] {
  return readFileSync(file, "utf8")
    .split("\n")
    .filter((line) => line !== "")
    .map((line): Line => JSON.parse(line));
}
