import type { EngineOwner, ObjectRef, Snapshot } from "../port.ts";
import { type MemberStreams, ownerIndexValue, PODS, type StreamState } from "./streams.ts";

/**
 * One object as a member's own API server shows it. `unseen` answers for a cluster that this process has never been
 * able to read: each engine has something else to go by.
 */
export function liveSnapshot(
  streams: MemberStreams,
  { owner, cluster, ref, atMs }: Viewed,
  unseen: (state: Extract<StreamState, { kind: "never" }>) => Snapshot,
): Snapshot {
  const isOwned = owner.kind !== undefined;
  const state = streams.state(cluster, { ...ref, isOwned });
  if (state.kind === "broken") return unreachable(state.message, state.isStarved, state.isForbidden);
  if (state.kind === "never") return unseen(state);
  const object = state.cache.get(ref);
  if (!object) return { kind: "absent", atMs };
  if (isOwned || ref.kind !== "StatefulSet") return { kind: "present", object, source: "live", atMs };
  const pods = streams.state(cluster, PODS);
  if (pods.kind === "live") {
    const own = pods.cache.byIndex("owner", ownerIndexValue(ref));
    return { kind: "present", object, source: "live", atMs, pods: own };
  }
  // A StatefulSet's status counts terminating pods as ready. It is used alone only if the controller has no right to
  // read pods.
  if (pods.isForbidden) return { kind: "present", object, source: "live", atMs };
  return unreachable(`its pods cannot be read: ${pods.message}`, pods.kind === "broken" && pods.isStarved);
}

interface Viewed {
  readonly owner: EngineOwner;
  readonly cluster: string;
  readonly ref: ObjectRef;
  readonly atMs: number;
}

export function unreachable(message: string, isBlind: boolean, isForbidden = false): Snapshot {
  return { kind: "unreachable", message, ...(isBlind && { isBlind }), ...(isForbidden && { isForbidden }) };
}
