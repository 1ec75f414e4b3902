import type { EngineApp } from "../../../engine/index.ts";
import type { Ledger } from "../../../plan/index.ts";
import { isWorkload } from "../../common/dispatched.ts";
import type { Moment } from "../observe/moment.ts";
import type { ActContext, ActFailure } from "./act.ts";

/**
 * Clusters that the engine looks at only once something is dispatched or reserved there: those that the schedule wants
 * instances in, and those that are drained, which may be forgotten only once their object is seen to be gone. What holds
 * a grant is dispatched again by that.
 */
export function unaskedIn(
  { members, clusters, dispatched }: Pick<Moment, "members" | "clusters" | "dispatched">,
  app: EngineApp,
  wanted: readonly string[],
  granted: readonly string[],
  ledger: Ledger,
): string[] {
  const drained = Object.entries(ledger.clusters).filter(([, { grant, done }]) => grant?.replicas === 0 && done);
  const all = new Set([...wanted, ...drained.map(([cluster]) => cluster)]);
  return [...all].filter((cluster) => {
    const seen = members.get(cluster);
    const isUnasked = seen?.kind === "unreachable" && seen.isUnasked === true;
    const isDispatchedTo = (name: string) => dispatched.some((one) => one.cluster === name && isWorkload(one, app));
    const isReady = clusters.get(cluster)?.state === "Ready";
    return isUnasked && isReady && !granted.includes(cluster) && !isDispatchedTo(cluster);
  });
}

/** Takes the place of the workload in each of them, so that the engine reports what is there. Nothing is created in the member. */
export async function askThem(
  { engine, app, term, confirm }: Pick<ActContext, "engine" | "app" | "term" | "confirm">,
  unasked: readonly string[],
): Promise<readonly ActFailure[]> {
  const asked = await Promise.all(
    unasked.map(async (cluster) => {
      try {
        return { cluster, reserved: await engine.reserve(app, [app.template], { cluster, term }) };
      } catch (error) {
        return { cluster, failure: error instanceof Error ? error.message : String(error) };
      }
    }),
  );
  try {
    await confirm();
  } catch (error) {
    const reserved = asked.flatMap((each) => each.reserved ?? []);
    await Promise.allSettled(reserved.map((one) => engine.withdraw(app, one, "keep")));
    throw error;
  }
  return asked.flatMap(({ cluster, failure }) =>
    failure === undefined ? [] : [{ cluster, message: failure, reason: "DispatchFailed" as const }],
  );
}
