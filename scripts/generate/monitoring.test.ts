import { expect, it } from "vitest";
import { parse } from "yaml";
import { controllerArguments, DEFAULT_HOST, hostManifests } from "../../src/cli/commands/install/host.ts";
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

it("what is scraped is the controller of the host's set, and an application keeps its own namespace", () => {
  const read = (name: string) => parse(monitoring().find(({ path }) => path.endsWith(`/${name}`))?.text ?? "");
  const namespace = "lockstep-system";
  const args = controllerArguments({
    systemNamespace: namespace,
    workloads: [],
    requireAllowedClusters: false,
    rendersSources: false,
  });
  const manifests = hostManifests({ ...DEFAULT_HOST, namespace, image: "x", arguments: args });
  const service = manifests.find(({ kind }) => kind === "Service");
  const deployment = manifests.find(({ kind }) => kind === "Deployment");

  const { namespaceSelector, selector, endpoints } = read("service-monitor.yaml").spec;
  expect(namespaceSelector.matchNames).toEqual([namespace]);
  expect(service).toMatchObject({ metadata: { labels: selector.matchLabels } });
  expect(service).toMatchObject({ spec: { ports: [{ name: endpoints[0].port }] } });
  expect(endpoints[0].honorLabels).toBe(true);

  const [job] = read("scrape.yaml").scrape_configs;
  expect(job).toMatchObject({ honor_labels: true, kubernetes_sd_configs: [{ namespaces: { names: [namespace] } }] });
  const [byName, byPort] = job.relabel_configs;
  expect(deployment).toMatchObject({
    spec: {
      template: {
        metadata: { labels: { "app.kubernetes.io/name": byName.regex } },
        spec: { containers: [{ ports: [{ name: byPort.regex }] }] },
      },
    },
  });
});
