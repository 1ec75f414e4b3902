import type { LabelsOf, MetricOf } from "./definitions.ts";

type Counter = MetricOf<"counter">;
type Gauge = MetricOf<"gauge">;
type Histogram = MetricOf<"histogram">;

export type SetGauge = <Name extends Gauge>(name: Name, labels: LabelsOf<Name>, value: number) => void;

/** Where figures about the program's work go. definitions.ts lists every metric. */
export interface Metrics {
  count<Name extends Counter>(name: Name, labels: LabelsOf<Name>, by?: number): void;
  observe<Name extends Histogram>(name: Name, labels: LabelsOf<Name>, value: number): void;
  /**
   * Gauges have no memory: `read` sets them each time that metrics are read, so what is gone is not served any more.
   * Returns a function that takes `read` out again.
   */
  gauges(read: (set: SetGauge) => void): () => void;
}

export const silentMetrics: Metrics = {
  count: () => {},
  observe: () => {},
  gauges: () => () => {},
};
