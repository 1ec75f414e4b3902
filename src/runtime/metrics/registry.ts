import { type LabelsOf, METRICS, type MetricDefinition, type MetricName, type MetricOf } from "./definitions.ts";
import type { Metrics, SetGauge } from "./metrics.ts";

/** More series of one metric cost Prometheus memory for labels that outsiders choose: names of tenants' objects. */
const MAX_SERIES = 2_000;

type Values = Readonly<Record<string, string>>;

interface Distribution {
  /** One more than there are bounds: the last one is +Inf. Not cumulative. */
  readonly counts: number[];
  sum: number;
}

/** Series by their text between braces. */
class Family<Value> {
  readonly series = new Map<string, Value>();
  dropped = 0;

  /** Undefined: there are too many series already. */
  at(labels: string, make: () => Value): Value | undefined {
    const known = this.series.get(labels);
    if (known !== undefined) return known;
    if (this.series.size >= MAX_SERIES) {
      this.dropped++;
      return undefined;
    }
    const made = make();
    this.series.set(labels, made);
    return made;
  }
}

/** Keeps metrics and writes them in Prometheus' text format. Every process has its own; nothing is global. */
export class MetricsRegistry implements Metrics {
  readonly #counters = new Map<MetricName, Family<{ value: number }>>();
  readonly #histograms = new Map<MetricName, Family<Distribution>>();
  readonly #readers = new Set<(set: SetGauge) => void>();

  count<Name extends MetricOf<"counter">>(name: Name, labels: LabelsOf<Name>, by = 1): void {
    const counter = familyOf(this.#counters, name).at(labelText(name, labels), () => ({ value: 0 }));
    if (counter) counter.value += by;
  }

  observe<Name extends MetricOf<"histogram">>(name: Name, labels: LabelsOf<Name>, value: number): void {
    const { buckets } = METRICS[name];
    const histogram = familyOf(this.#histograms, name).at(labelText(name, labels), () => ({
      counts: new Array<number>(buckets.length + 1).fill(0),
      sum: 0,
    }));
    if (!histogram || !Number.isFinite(value)) return;
    const found = buckets.findIndex((bound) => value <= bound);
    const at = found < 0 ? buckets.length : found;
    histogram.counts[at] = (histogram.counts[at] ?? 0) + 1;
    histogram.sum += value;
  }

  gauges(read: (set: SetGauge) => void): () => void {
    this.#readers.add(read);
    return () => this.#readers.delete(read);
  }

  /** All metrics, in the order of their definitions. */
  text(): string {
    const gauges = new Map<MetricName, Family<{ value: number }>>();
    const set: SetGauge = (name, labels, value) => {
      const gauge = familyOf(gauges, name).at(labelText(name, labels), () => ({ value }));
      if (gauge) gauge.value = value;
    };
    for (const read of this.#readers) read(set);
    for (const families of [this.#counters, this.#histograms, new Map(gauges)]) {
      for (const [metric, { dropped }] of families) if (dropped > 0) set("metrics_dropped_series", { metric }, dropped);
    }
    const lines: string[] = [];
    for (const name of metricNames()) {
      const { type, help }: MetricDefinition = METRICS[name];
      const plain = (type === "counter" ? this.#counters : gauges).get(name);
      const histograms = this.#histograms.get(name);
      if (!plain && !histograms) continue;
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`);
      for (const [labels, { value }] of plain?.series ?? []) lines.push(`${name}${braced(labels)} ${value}`);
      for (const [labels, histogram] of histograms?.series ?? [])
        lines.push(...histogramLines(name, labels, histogram));
    }
    return `${lines.join("\n")}\n`;
  }
}

export function metricNames(): MetricName[] {
  return Object.keys(METRICS).filter((name): name is MetricName => name in METRICS);
}

function familyOf<Value>(families: Map<MetricName, Family<Value>>, name: MetricName): Family<Value> {
  const known = families.get(name);
  if (known) return known;
  const family = new Family<Value>();
  families.set(name, family);
  return family;
}

function histogramLines(name: MetricName, labels: string, { counts, sum }: Distribution): string[] {
  const { buckets = [] }: MetricDefinition = METRICS[name];
  const before = labels === "" ? "" : `${labels},`;
  let total = 0;
  const lines = counts.map((count, at) => {
    total += count;
    return `${name}_bucket{${before}le="${buckets[at] ?? "+Inf"}"} ${total}`;
  });
  return [...lines, `${name}_sum${braced(labels)} ${sum}`, `${name}_count${braced(labels)} ${total}`];
}

function labelText(name: MetricName, values: Values): string {
  return METRICS[name].labels.map((label) => `${label}="${escaped(values[label] ?? "")}"`).join(",");
}

/** Names of objects come from tenants. */
function escaped(value: string): string {
  return value.replace(/[\\"\n]/g, (character) => (character === "\n" ? "\\n" : `\\${character}`));
}

function braced(labels: string): string {
  return labels === "" ? "" : `{${labels}}`;
}
