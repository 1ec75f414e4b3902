import { expect, it } from "vitest";
import { METRICS, type MetricDefinition } from "../../src/runtime/index.ts";
import { monitoring } from "./monitoring.ts";

/** Functions and words of PromQL that the rules use. */
const WORDS = new Set(
  "histogram_quantile sum by le rate topk bottomk max or vector kind reason step needs_person name cluster code target method lane state pod m".split(
    " ",
  ),
);

it("expressions of alerts and panels are balanced, and name only metrics and labels that are served", () => {
  const definitions: [string, MetricDefinition][] = Object.entries(METRICS);
  const served = new Set(
    definitions.flatMap(([name, { type }]) => (type === "histogram" ? [`${name}_bucket`, `${name}_count`] : [name])),
  );
  for (const [, { alerts = [], panel }] of definitions) {
    for (const { expression } of [...alerts, ...(panel ? [panel] : [])]) {
      const plain = expression.replace(/"[^"]*"/g, '""').replace(/\[\d+m\]/g, "");
      for (const [open, close] of ["()", "{}"].map((pair) => [...pair])) {
        expect(plain.split(open ?? "").length, expression).toBe(plain.split(close ?? "").length);
      }
      const words = plain.match(/[a-z_]+/g) ?? [];
      expect(words.filter((word) => !served.has(word) && !WORDS.has(word))).toEqual([]);
      expect(words.some((word) => served.has(word))).toBe(true);
    }
  }
});

it("the dashboard has a panel for each metric that declares one, none over another", () => {
  const file = monitoring().find(({ path }) => path.endsWith("dashboard.json"));
  const { panels }: { panels: { gridPos: { x: number; y: number } }[] } = JSON.parse(file?.text ?? "");
  const declared = Object.values(METRICS).filter((definition) => "panel" in definition);
  expect(panels).toHaveLength(declared.length);
  expect(new Set(panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)).size).toBe(panels.length);
});
