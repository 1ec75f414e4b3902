/** The alerts, the panels and what a controller serves, judged by Prometheus' own promtool. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import {
  type LabelsOf,
  METRICS,
  type MetricDefinition,
  MetricsRegistry,
  metricNames,
} from "../../src/runtime/index.ts";
import { until } from "../stack/fleet.ts";
import { freePorts, Processes } from "../stack/processes.ts";

const RULES = new URL("../../deploy/monitoring/rules.yaml", import.meta.url).pathname;
const SCRAPE = new URL("../../deploy/monitoring/scrape.yaml", import.meta.url).pathname;
const IS_HERE = spawnSync("promtool", ["--version"]).status === 0;

interface Scenario {
  /** Series and their values, a minute apart, as promtool writes them; the first must not fire the alert, the second must. */
  readonly calm: Record<string, string>;
  readonly alarming: Record<string, string>;
  readonly labels?: Record<string, string>;
  readonly summary: string;
}

const APPLICATION = 'kind="CrossClusterStatefulset",namespace="shop",name="db"';
const KIND = 'kind="CrossClusterStatefulset"';
const OF_APPLICATION = { kind: "CrossClusterStatefulset", namespace: "shop", name: "db" };
const requests = (code: string) => `rest_client_requests_total{cluster="member1",method="GET",code="${code}"}`;
/** A histogram with one observation a minute, all of them at this bound. */
const observed = (metric: string, labels: string, bounds: readonly string[], from: number) =>
  Object.fromEntries(
    bounds.map((bound, at) => [`${metric}_bucket{${labels},le="${bound}"}`, at < from ? "0x60" : "0+10x60"]),
  );
const GRANTS = "application_dispatch_grant_duration_seconds";
const QUEUE = "workqueue_queue_duration_seconds";

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  LockstepGrantsSlow: {
    calm: observed(GRANTS, KIND, ["2.5", "10", "60", "+Inf"], 0),
    alarming: observed(GRANTS, KIND, ["2.5", "10", "60", "+Inf"], 2),
    summary: "The controller takes more than 5 s from an open gate to the next grant",
  },
  LockstepNeedsPerson: {
    calm: { [`application_waiting{${KIND},reason="Paused",needs_person="true"}`]: "3x60" },
    alarming: { [`application_waiting{${KIND},reason="HoldDefeated",needs_person="true"}`]: "3x60" },
    labels: { kind: "CrossClusterStatefulset", reason: "HoldDefeated" },
    summary: "3 applications wait with HoldDefeated, which ends only when a person acts",
  },
  LockstepQuorumAtRisk: {
    calm: { [`application_waiting{${KIND},reason="QuorumAtRisk",needs_person="false"}`]: "0x60" },
    alarming: { [`application_waiting{${KIND},reason="QuorumAtRisk",needs_person="false"}`]: "2x60" },
    labels: { kind: "CrossClusterStatefulset" },
    summary: "2 applications could lose their majority with one more instance down",
  },
  LockstepNoProgress: {
    calm: { [`application_without_progress_seconds{${APPLICATION}}`]: "0+10x60" },
    alarming: { [`application_without_progress_seconds{${APPLICATION}}`]: "0+60x60" },
    labels: OF_APPLICATION,
    summary: "shop/db has a step that has not come further for 15 minutes",
  },
  LockstepNoQuorum: {
    calm: { [`application_quorum_margin{${APPLICATION}}`]: "0x60" },
    alarming: { [`application_quorum_margin{${APPLICATION}}`]: "-1x60" },
    labels: OF_APPLICATION,
    summary: "shop/db has no majority of ready voters",
  },
  LockstepRequestsDenied: {
    calm: { [requests("200")]: "0+60x60" },
    alarming: { [requests("401")]: "0+1x60" },
    labels: { cluster: "member1" },
    summary: "member1 denies requests of the controller",
  },
  LockstepRequestsFail: {
    calm: { [requests("200")]: "0+60x60", [requests("429")]: "0+6x60" },
    alarming: { [requests("200")]: "0+60x60", [requests("<error>")]: "0+12x60", [requests("429")]: "0+12x60" },
    labels: { cluster: "member1" },
    summary: "More than a fifth of the requests to member1 fail",
  },
  LockstepQueueSlow: {
    calm: observed(QUEUE, 'name="q"', ["2.5", "10", "60", "+Inf"], 0),
    alarming: observed(QUEUE, 'name="q"', ["2.5", "10", "60", "+Inf"], 2),
    labels: { name: "q" },
    summary: "Objects wait longer than 10 s for their reconcile",
  },
  LockstepWatchesWait: {
    calm: { 'watch_streams{lane="members",state="open"}': "900x60" },
    alarming: { 'watch_streams{lane="members",state="waiting"}': "7x60" },
    labels: { lane: "members" },
    summary: "7 watches of members wait for a free stream; their clusters cannot be observed",
  },
  LockstepNoLeader: {
    calm: {
      'leader_election_master_status{name="lockstep-controller",pod="a"}': "1x60",
      'leader_election_master_status{name="lockstep-controller",pod="b"}': "0x60",
    },
    // Both pods are gone, and so are their series.
    alarming: { 'leader_election_master_status{name="lockstep-controller",pod="a"}': "1x5 _x55" },
    summary: "No Lockstep controller leads: nothing moves, and nothing is repaired",
  },
};

const definitions: MetricDefinition[] = metricNames().map((name) => METRICS[name]);
const alerts = definitions.flatMap(({ alerts = [] }) => alerts);

describe("monitoring", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-monitoring-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const promtool = (args: string[], input = "") => {
    const { status, stdout, stderr } = spawnSync("promtool", args, { cwd: folder, encoding: "utf8", input });
    return { status, printed: `${stdout}${stderr}` };
  };
  const file = (name: string, content: object) => {
    writeFileSync(join(folder, name), stringify(content));
    return name;
  };

  it("has a scenario for every alert", () => {
    expect(Object.keys(SCENARIOS)).toEqual(alerts.map(({ name }) => name));
    if (!IS_HERE) console.warn("promtool is not on this machine, so the rules were NOT tried with it");
  });

  if (!IS_HERE) return;

  it.each(alerts.map((alert) => [alert.name, alert] as const))("%s fires when it should, and only then", (_, alert) => {
    const { name, severity, action } = alert;
    const { calm, alarming, labels = {}, summary } = SCENARIOS[name] ?? { calm: {}, alarming: {}, summary: "" };
    const test = (series: Record<string, string>, exp_alerts: object[]) => ({
      interval: "1m",
      input_series: Object.entries(series).map(([key, values]) => ({ series: key, values })),
      alert_rule_test: [{ eval_time: "55m", alertname: name, exp_alerts }],
    });
    const tests = file(`${name}.yaml`, {
      rule_files: [RULES],
      evaluation_interval: "1m",
      tests: [
        test(calm, []),
        test(alarming, [{ exp_labels: { ...labels, severity }, exp_annotations: { summary, action } }]),
      ],
    });
    const { status, printed } = promtool(["test", "rules", tests]);
    expect(status, printed).toBe(0);
  });

  it("has rules, and panels of the dashboard, whose expressions Prometheus understands", () => {
    const panels = definitions.flatMap(({ panel }) => (panel ? [panel] : []));
    const recorded = panels.map(({ expression }, at) => ({ record: `panel:${at}`, expr: expression }));
    const rules = file("panels.yaml", { groups: [{ name: "panels", rules: recorded }] });
    const { status, printed } = promtool(["check", "rules", RULES, rules]);
    expect(status, printed).toBe(0);
    expect(printed).toContain(`SUCCESS: ${alerts.length} rules found`);
    expect(printed).toContain(`SUCCESS: ${panels.length} rules found`);
  });

  it("keeps the namespace of an application when a real Prometheus scrapes what is configured", async () => {
    const registry = new MetricsRegistry();
    registry.gauges((set) => set("application_quorum_margin", OF_APPLICATION, 2));
    const server = createServer((_request, response) => response.end(registry.text()));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const [port = 0] = await freePorts(1);
    // Discovery needs a Kubernetes with pods that answer; it would find these labels.
    const {
      kubernetes_sd_configs: _,
      relabel_configs: __,
      ...job
    } = parse(readFileSync(SCRAPE, "utf8")).scrape_configs[0];
    const labels = { namespace: "lockstep-system", pod: "lockstep-controller-0" };
    const targets = [`127.0.0.1:${(server.address() as AddressInfo).port}`];
    const scraped = { ...job, scrape_interval: "1s", static_configs: [{ targets, labels }] };
    const config = join(folder, file("prometheus.yaml", { scrape_configs: [scraped] }));
    const processes = new Processes(join(folder, "prometheus"));
    const data = `--storage.tsdb.path=${join(folder, "data")}`;
    const address = `127.0.0.1:${port}`;
    processes.start("prometheus", "prometheus", [`--config.file=${config}`, data, `--web.listen-address=${address}`]);
    try {
      let found: unknown;
      await until("Prometheus has scraped it", async () => {
        const query = fetch(`http://${address}/api/v1/query?query=application_quorum_margin`);
        const answer = await query.then(async (got) => JSON.parse(await got.text())).catch(() => undefined);
        found = answer?.data?.result?.[0]?.metric;
        return found !== undefined;
      });
      expect(found).toMatchObject({ ...OF_APPLICATION, pod: labels.pod });
    } finally {
      await processes.end("prometheus");
      server.close();
    }
  });

  it("serves metrics that Prometheus parses, in the names that it recommends", () => {
    const registry = new MetricsRegistry();
    const values = (name: keyof typeof METRICS) =>
      Object.fromEntries(METRICS[name].labels.map((label) => [label, `a "quoted"\nvalue`])) as LabelsOf<never>;
    for (const name of metricNames()) {
      const { type } = METRICS[name];
      if (type === "counter") registry.count(name as never, values(name), 2);
      else if (type === "histogram") registry.observe(name as never, values(name), 0.2);
      else registry.gauges((set) => set(name as never, values(name), 1));
    }
    const { status, printed } = promtool(["check", "metrics"], registry.text());
    expect({ status, printed }).toEqual({ status: 0, printed: "" });
  });
});
