/** What a cluster offers to pods and what is left of it, as far as its engine tells: in cores, bytes and pods. */
import type { KubeObject } from "../kube/index.ts";
import { isJsonObject, type Json } from "../runtime/index.ts";

export interface Amounts {
  readonly cpu?: number;
  readonly memory?: number;
  readonly pods?: number;
}

export interface Headroom {
  /** Of all its nodes together. */
  readonly offered: Amounts;
  /** What no pod has requested yet. Absent: the engine does not tell. */
  readonly free?: Amounts;
}

/** Karmada's cluster reports what its nodes offer, and what pods have requested of it or are about to. */
export function karmadaHeadroom({ status }: KubeObject): Headroom | undefined {
  const summary = isJsonObject(status) && isJsonObject(status.resourceSummary) ? status.resourceSummary : undefined;
  if (!summary) return undefined;
  const offered = amountsOf(summary.allocatable);
  const [allocated, allocating] = [amountsOf(summary.allocated), amountsOf(summary.allocating)];
  const left = (of: keyof Amounts) =>
    offered[of] === undefined ? {} : { [of]: offered[of] - (allocated[of] ?? 0) - (allocating[of] ?? 0) };
  return { offered, free: { ...left("cpu"), ...left("memory"), ...left("pods") } };
}

/** OCM's cluster reports what its nodes offer, not what is used: an add-on's scores tell that (ocm/scores.ts). */
export function ocmHeadroom({ status }: KubeObject): Headroom | undefined {
  const offered = amountsOf(isJsonObject(status) ? status.allocatable : undefined);
  return Object.keys(offered).length === 0 ? undefined : { offered };
}

/** Amounts as the API has them, without what is no text. */
export function quantities(value: unknown): Record<string, string> {
  const entries = Object.entries(isJsonObject(value) ? value : {});
  return Object.fromEntries(entries.flatMap(([name, amount]) => (typeof amount === "string" ? [[name, amount]] : [])));
}

function amountsOf(amounts: Json | undefined): Amounts {
  const read = (of: keyof Amounts) => {
    const amount = isJsonObject(amounts) ? amountOf(amounts[of]) : undefined;
    return amount === undefined ? {} : { [of]: amount };
  };
  return { ...read("cpu"), ...read("memory"), ...read("pods") };
}

const QUANTITY = /^(\d{1,18}(?:\.\d{1,9})?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$/;
const FACTORS: Readonly<Record<string, number>> = {
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  T: 1e12,
  P: 1e15,
  Ki: 1024,
  Mi: 1024 ** 2,
  Gi: 1024 ** 3,
  Ti: 1024 ** 4,
  Pi: 1024 ** 5,
};

/** A Kubernetes quantity as a number, to be shown; undefined for the rarer notations. */
function amountOf(text: Json | undefined): number | undefined {
  if (typeof text === "number") return text;
  const [, digits, suffix = ""] = (typeof text === "string" && QUANTITY.exec(text)) || [];
  return digits === undefined ? undefined : Number(digits) * (FACTORS[suffix] ?? 1);
}
