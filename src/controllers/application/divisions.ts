import type { ParsedDistributedApplication } from "../../api/index.ts";
import type { Divided, WantedClusters } from "../../applications/index.ts";
import type { Engine, EngineBundle } from "../../engine/index.ts";
import type { DividedPart } from "./way.ts";

/** Why an engine cannot divide what the spec asks it to; undefined: it can. */
export function divisionRefused({ spec }: ParsedDistributedApplication, { divide }: Engine): string | undefined {
  const at = (spec.replicas ?? []).findIndex(({ by }) => by === "Scheduler");
  if (at < 0 || divide) return undefined;
  return `spec.replicas[${at}].by: only Karmada has a scheduler that divides replicas; remove it, and divide by weights`;
}

export interface Asked {
  readonly divided: readonly Divided[];
  /** Nothing is left of what is no longer divided like this. */
  readonly isTidy: boolean;
  /** What is not known yet is looked at again soon. */
  readonly isKnown: boolean;
}

/** [A28] Has the engine's scheduler divide what the spec leaves to it. */
export async function askScheduler(
  engine: Engine,
  owner: EngineBundle,
  parts: readonly DividedPart[],
  clusters: WantedClusters,
  beforeWriting: () => Promise<void>,
): Promise<Asked> {
  const scheduled = parts.filter((part) => part.scheduled !== undefined);
  const isChosen = clusters.kind === "known" && clusters.names.length > 0;
  if (!engine.divide || (scheduled.length > 0 && !isChosen)) {
    const message = clusters.kind === "unknown" ? clusters.message : "no cluster is chosen";
    const division = { kind: "unknown", message } as const;
    const divided = parts.map((part) => (part.scheduled ? { ...part, division } : part));
    return { divided, isTidy: true, isKnown: scheduled.length === 0 };
  }
  const names = clusters.kind === "known" ? clusters.names : [];
  const requests = parts.flatMap(({ scheduled: asked }) => (asked ? [{ ...asked, clusters: names }] : []));
  const { schedules, isTidy } = await engine.divide(owner, requests, beforeWriting);
  const byKey = new Map(scheduled.map(({ key }, index) => [key, schedules[index]]));
  const divided = parts.map((part) => {
    const division = byKey.get(part.key);
    return division ? { ...part, division } : part;
  });
  return { divided, isTidy, isKnown: schedules.every(({ kind }) => kind === "known") };
}
