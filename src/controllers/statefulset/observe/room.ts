/** How many more instances of an application fit into a cluster. Pure. */
import type { ClusterCapacity } from "../../../engine/index.ts";
import type { Room } from "../../../rollout/index.ts";
import { amount, short, timesIn } from "./quantities.ts";

/**
 * `request`: what one instance requests. Every instance is also a pod. Undefined: the engine knows nothing of the
 * cluster's resources. A resource that the cluster does not list is not judged.
 */
export function roomIn(
  capacity: ClusterCapacity | undefined,
  request: Readonly<Record<string, string>>,
): Room | undefined {
  if (!capacity) return undefined;
  const rooms: Room[] = Object.entries({ pods: "1", ...request }).flatMap(([name, each]) => {
    const [allocatable, wanted] = [amount(capacity.allocatable[name]), amount(each)];
    if (allocatable === undefined || wanted === undefined || wanted <= 0) return [];
    const taken = (capacity.taken ?? []).reduce((sum, part) => sum + (amount(part[name]) ?? 0), 0);
    const free = Math.max(0, allocatable - taken);
    const offer = capacity.taken
      ? `${short(free)} of ${short(allocatable)} ${name} are free`
      : `its nodes offer ${short(allocatable)} ${name}, and what is free is not known`;
    const evidence = `${offer}, an instance requests ${short(wanted)}`;
    return [{ instances: timesIn(free, wanted), evidence }];
  });
  return rooms.reduce(lesserRoom, undefined);
}

/** The one that allows less; one that is not known allows everything. */
export function lesserRoom(one: Room | undefined, other: Room | undefined): Room | undefined {
  if (!one || !other) return one ?? other;
  return one.instances <= other.instances ? one : other;
}
