/** A plan as the account of its rollout sees it. Pure. */
import type { PlanResult } from "../../../plan/index.ts";
import { type Happening, REASONS, type RolloutMoment } from "../../../rollout/index.ts";
import type { ActNews } from "./acts.ts";
import { STEP_REASONS } from "./announce.ts";

/** Undefined: no revision is wanted. */
export function momentOf(
  { ledger, steps, waiting, figures }: Pick<PlanResult, "ledger" | "steps" | "waiting" | "figures">,
  news: readonly ActNews[],
): RolloutMoment | undefined {
  const revision = ledger.rollout?.to ?? figures.targetRevision;
  if (revision === null) return undefined;
  const running = Object.entries(ledger.clusters).flatMap(([cluster, { step }]): Happening[] => {
    if (!step) return [];
    const why = steps.find((one) => one.cluster === cluster && one.kind === step.kind)?.why ?? "";
    return [{ kind: "step", cluster, code: STEP_REASONS[step.kind], why, sinceMs: step.sinceMs }];
  });
  const held = waiting
    .filter(({ code }) => !REASONS[code].atRest)
    .map(({ code, cluster = "", message }): Happening => ({ kind: "hold", cluster, code, why: message }));
  const { rollout } = ledger;
  const notes = news.map(({ reason, message }) => ({ code: reason, why: message }));
  return { revision, rollout, happening: [...running, ...held], notes };
}
