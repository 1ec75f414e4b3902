import type { InstanceState } from "../contract/index.ts";
import type { Grant } from "./grant.ts";

/** One instance of this cluster, as the topology names it and as the operator finds it. */
export interface InstanceView {
  readonly name: string;
  readonly address: string;
  /** From the topology. */
  readonly state: InstanceState;
  /**
   * `down`: it should run, and does not answer. `starting`: it answers, and does not take part in every decision of the
   * application, or not at this moment. `ending`: its pod was deleted.
   */
  readonly process: "none" | "down" | "starting" | "ready" | "ending";
  /** The revision that its process runs; undefined without a process. */
  readonly revision?: string;
  /** Its volume exists, and belongs to this life of the instance: an instance that was removed has none. */
  readonly hasVolume: boolean;
}

/** The next thing that an operator on the contract does. Each names the contract's rule that asks for it. */
export type Step =
  /** Start it again on its volume, exactly as it was before: with or without the turn (M2). */
  | { readonly do: "recreate"; readonly instance: InstanceView }
  /** Ask the application to move its leader there (M5). */
  | { readonly do: "transferLeader"; readonly to: string }
  /** Remove it from the application's own member list, then stop it, then give up its volume (M3). */
  | { readonly do: "remove"; readonly instance: InstanceView }
  /** Add it to the application, and start it on an empty volume. Its volume may have been lost (M3, M4). */
  | { readonly do: "join"; readonly instance: InstanceView }
  /** Restart it on the grant's revision, on its volume (M3). */
  | { readonly do: "restart"; readonly instance: InstanceView }
  /** Something is under way; its result triggers the next reconcile. */
  | { readonly do: "wait"; readonly why: string }
  | { readonly do: "nothing" };

/**
 * Decides what an operator does next, one instance at a time. Pure: read the grant and look at the instances first, do
 * what it says, and report. `leader`: the leading instance of the whole application, if it is known.
 */
export function nextStep(grant: Grant, instances: readonly InstanceView[], leader?: string): Step {
  // A lost member returns unchanged. A joining instance is not a member yet: what is left of it is of an earlier life.
  const lost = instances.find(({ process, state, hasVolume }) => process === "none" && state === "member" && hasVolume);
  if (lost) return { do: "recreate", instance: lost };
  const homeless = instances.find(
    ({ process, state, hasVolume }) => process === "none" && state === "member" && !hasVolume,
  );
  if (!grant.processor) {
    return homeless
      ? { do: "wait", why: `the volume of ${homeless.name} is lost; it is replaced in this cluster's next turn` }
      : { do: "nothing" };
  }
  const { transferLeaderTo } = grant;
  const leads = leader !== undefined && instances.some(({ name }) => name === leader);
  if (transferLeaderTo !== undefined && leads && leader !== transferLeaderTo) {
    return { do: "transferLeader", to: transferLeaderTo };
  }
  const leaving = instances.find(
    ({ state, process, hasVolume }) => state === "leaving" && (process !== "none" || hasVolume),
  );
  if (leaving) return { do: "remove", instance: leaving };

  const staying = instances.filter(({ state }) => state !== "leaving");
  const outdated = staying.filter(
    ({ process, revision }, at) => process !== "none" && at >= grant.partition && revision !== grant.revision,
  );
  const unready = staying.find(({ process }) => process !== "none" && process !== "ready");
  if (unready) {
    // One at a time; only a broken instance of another revision need not be waited for.
    const isBroken = unready.process === "down" && outdated.includes(unready);
    return isBroken
      ? { do: "restart", instance: unready }
      : { do: "wait", why: `${unready.name} is ${unready.process}` };
  }
  const joining = staying.find(({ process }) => process === "none");
  if (joining) return { do: "join", instance: joining };
  const next = outdated.findLast(({ name }) => name !== leader) ?? outdated.at(-1);
  if (next && transferLeaderTo !== undefined && leader === undefined) {
    return { do: "wait", why: `${next.name} restarts when it is known who leads` };
  }
  return next ? { do: "restart", instance: next } : { do: "nothing" };
}
