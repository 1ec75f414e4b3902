/** How many more instances of an application fit into a cluster. Pure. */
import type { ClusterCapacity } from "../../../engine/index.ts";
import { Quantity, QuantityError } from "../../../interpret/index.ts";
import type { Room } from "../../../rollout/index.ts";

/**
 * `request`: what one instance requests. Every instance is also a pod. Undefined: the engine knows nothing of the
 * cluster's resources. A resource that the cluster does not list is not judged.
 */
export function roomIn(
  capacity: ClusterCapacity | undefined,
  request: Readonly<Record<string, string>>,
): Room | undefined {
  if (!capacity) return undefined;
  const rooms = Object.entries({ pods: "1", ...request }).flatMap(([name, each]) => {
    const [allocatable, wanted] = [amount(capacity.allocatable[name]), amount(each)];
    if (allocatable === undefined || wanted === undefined || wanted <= 0) return [];
    const taken = capacity.taken.reduce((sum, part) => sum + (amount(part[name]) ?? 0), 0);
    const free = Math.max(0, allocatable - taken);
    const evidence = `${short(free)} of ${short(allocatable)} ${name} are free, an instance requests ${short(wanted)}`;
    // Sums of floating-point numbers may miss a whole number by a hair.
    return [{ instances: Math.floor(free / wanted + 1e-9), evidence }];
  });
  return rooms.reduce<Room | undefined>(
    (least, room) => (least && least.instances <= room.instances ? least : room),
    undefined,
  );
}

const UNITS: ReadonlyArray<readonly [string, number]> = [
  ["Ti", 1024 ** 4],
  ["Gi", 1024 ** 3],
  ["Mi", 1024 ** 2],
];

/** For people: thousandths for small numbers, binary units for large ones. */
function short(value: number): string {
  const [unit, size] = UNITS.find(([, each]) => value >= each) ?? ["", 1];
  return `${Math.round((value / size) * 1000) / 1000}${unit}`;
}

function amount(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    return Quantity.parse(text).toNumber();
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}
