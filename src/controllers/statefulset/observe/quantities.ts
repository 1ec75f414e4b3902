/** Kubernetes' quantities as numbers, and for people. */
import { Quantity, QuantityError } from "../../../interpret/index.ts";
import type { Json } from "../../../runtime/index.ts";

const UNITS: ReadonlyArray<readonly [string, number]> = [
  ["Ti", 1024 ** 4],
  ["Gi", 1024 ** 3],
  ["Mi", 1024 ** 2],
];

/** For people: thousandths for small numbers, binary units for large ones. */
export function short(value: number): string {
  const [unit, size] = UNITS.find(([, each]) => value >= each) ?? ["", 1];
  return `${Math.round((value / size) * 1000) / 1000}${unit}`;
}

export function amount(text: Json | undefined): number | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return Quantity.parse(text).toNumber();
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}

/** How often `wanted` fits into `free`. Sums of floating-point numbers may miss a whole number by a hair. */
export function timesIn(free: number, wanted: number): number {
  return Math.floor(free / wanted + 1e-9);
}
