/** What tenants write, wherever they can write it, is only ever text: on every page, and in the saved file. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import type {
  ApplicationView,
  DistributionView,
  JobView,
  LiveEvent,
  OverviewView,
  PodReportsView,
  TimelineView,
  WhyView,
} from "../../src/web/types.ts";
import { APP, OPERATOR_TOKEN } from "./fleet.ts";
import { fleet, newPage, openApp, operatorPage, signIn } from "./pages.ts";

/** Ends elements, begins scripts, and has characters that turn the direction of text. */
const HOSTILE =
  '</script></style></title><script>window.pwned = 1</script><img src=x onerror="window.pwned = 1"><a href="javascript:window.pwned=1">{{7*7}}\u202e';

async function isOnlyText(page: Page): Promise<void> {
  expect(await page.evaluate("window.pwned")).toBeUndefined();
  expect(await page.locator("img[src=x]").count()).toBe(0);
  expect(await page.locator('a[href^="javascript:"]').count()).toBe(0);
}

/** Saves the rollout from the page, and opens the file. */
async function openSaved(page: Page): Promise<{ saved: Page; end: () => void }> {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-hostile-"));
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Save as a file" }).click(),
  ]);
  const file = join(folder, "rollout.html");
  await download.saveAs(file);
  const saved = await newPage({ files: true });
  await saved.goto(`file://${file}`);
  await saved.getByRole("heading", { name: "How it went" }).waitFor();
  return { saved, end: () => rmSync(folder, { recursive: true }) };
}

/** The page gets this from its server, whatever it asks for. */
async function answered(page: Page, event: LiveEvent): Promise<void> {
  await page.route("**/api/live/**", (route) =>
    route.fulfill({
      contentType: "text/event-stream",
      body: `retry: 60000\n\nevent: ${event.event}\ndata: ${JSON.stringify(event.data)}\n\n`,
    }),
  );
}

describe("what a tenant writes into the hub", () => {
  it("an Event and an image with markup are shown as they were written, also in the saved file", async () => {
    const page = await operatorPage({ files: true });
    await fleet.setImage(`example.com/xline:1${HOSTILE}`);
    const { uid } = (await fleet.object()).metadata;
    const time = new Date(Date.now() + 1_000).toISOString();
    await fleet.apply({
      apiVersion: "v1",
      kind: "Event",
      metadata: { name: "hostile", namespace: APP.namespace },
      involvedObject: {
        apiVersion: "apps.karmada.io/v1alpha1",
        kind: "CrossClusterStatefulset",
        ...APP,
        ...(uid !== undefined && { uid }),
      },
      type: "Warning",
      reason: "Hostile",
      message: HOSTILE,
      firstTimestamp: time,
      lastTimestamp: time,
    });
    // Long values are cut in a list of changes.
    await page.locator(".headline-change, .history", { hasText: "</script>" }).first().waitFor();
    await page.getByText("The same in words").click();
    await page.locator(".spans li", { hasText: "Hostile" }).filter({ hasText: "onerror" }).waitFor();
    await isOnlyText(page);
    const { saved, end } = await openSaved(page);
    await saved.locator("ol.spans li", { hasText: "onerror" }).waitFor();
    await isOnlyText(saved);
    end();
    await fleet.setImage("example.com/xline:1.0");
    await page.goto(fleet.url);
    await page.getByRole("heading", { name: "Applications" }).waitFor();
    await isOnlyText(page);
  });
});

describe("every text of a view", () => {
  it("of a CrossClusterStatefulset, with its pods' messages, is only text, also in the saved file", async () => {
    const page = await newPage({ files: true });
    await signIn(page, OPERATOR_TOKEN);
    await answered(page, { event: "application", data: application() });
    await page.route("**/api/pod-reports?**", (route) => route.fulfill({ json: podReports() }));
    await page.route("**/api/logs?**", (route) => route.fulfill({ json: { text: HOSTILE } }));
    await openApp(page);
    await page.locator("h1", { hasText: "onerror" }).waitFor();
    await page.locator(".pod-report", { hasText: "onerror" }).getByRole("button").click();
    await page.getByRole("dialog").locator("pre", { hasText: "onerror" }).waitFor();
    await page.keyboard.press("Escape");
    const { saved, end } = await openSaved(page);
    await isOnlyText(page);
    await isOnlyText(saved);
    end();
  });

  it("of a DistributedApplication is only text", async () => {
    const page = await newPage();
    await signIn(page, OPERATOR_TOKEN);
    await answered(page, { event: "distribution", data: distribution() });
    await page.goto(`${fleet.url}#/dapp/default/x`);
    await page.locator(".tree-object", { hasText: "onerror" }).waitFor();
    await isOnlyText(page);
  });

  it("of a CrossClusterJob is only text", async () => {
    const page = await newPage();
    await signIn(page, OPERATOR_TOKEN);
    await answered(page, { event: "job", data: job() });
    await page.route("**/api/pods?**", (route) => route.fulfill({ json: { pods: [HOSTILE] } }));
    await page.goto(`${fleet.url}#/ccj/default/x`);
    await page.getByRole("button", { name: /^Pods and logs/ }).click();
    await page.getByRole("button", { name: /show its log$/ }).waitFor();
    await isOnlyText(page);
  });

  it("of the list and the fleet, and a refusal of the hub, is only text", async () => {
    const page = await newPage();
    await signIn(page, OPERATOR_TOKEN);
    await page.route("**/api/act", (route) => route.fulfill({ status: 403, json: { error: HOSTILE } }));
    await answered(page, { event: "overview", data: overview() });
    await page.goto(`${fleet.url}#/ccs/default/x`);
    await page.goto(`${fleet.url}#/`);
    await page.locator("tbody tr", { hasText: "onerror" }).waitFor();
    await page.getByRole("link", { name: "Fleet" }).click();
    await page.locator(".cluster", { hasText: "onerror" }).waitFor();
    await page.getByRole("button", { name: /^Drain for maintenance/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
    await page.getByRole("dialog").getByRole("alert").getByText("onerror").waitFor();
    await isOnlyText(page);
  });
});

const WHY: WhyView = {
  reason: HOSTILE,
  sentence: HOSTILE,
  meaning: HOSTILE,
  cluster: HOSTILE,
  evidence: [{ object: HOSTILE, field: HOSTILE, value: HOSTILE }],
  remedy: [HOSTILE],
  needsPerson: true,
  others: [HOSTILE],
};
const NOTE = { isWarning: true, reason: HOSTILE, message: HOSTILE };

function podReports(): PodReportsView {
  const last = { exitCode: 1, reason: HOSTILE, finishedAt: HOSTILE };
  const pod = { cluster: HOSTILE, name: HOSTILE, reason: HOSTILE, message: HOSTILE, last, log: [HOSTILE] };
  return { atMs: Date.now(), pods: [pod], notes: [HOSTILE] };
}

function application(): ApplicationView {
  const now = Date.now();
  return {
    type: "ccs",
    namespace: HOSTILE,
    name: HOSTILE,
    atMs: now,
    resourceVersion: "1",
    seen: { uid: "1", past: [] },
    kind: HOSTILE,
    isCurrent: true,
    phase: HOSTILE,
    desired: 1,
    updated: 1,
    updateRevision: HOSTILE,
    quorum: { voters: 1, ready: 1, needed: 1, maxUnavailable: 1, spare: 0 },
    paused: false,
    why: {
      reason: HOSTILE,
      sentence: HOSTILE,
      meaning: HOSTILE,
      evidence: [{ object: HOSTILE, field: HOSTILE, value: HOSTILE }],
      remedy: [HOSTILE],
      needsPerson: true,
      others: [HOSTILE],
    },
    clusters: [
      {
        name: HOSTILE,
        phase: HOSTILE,
        health: HOSTILE,
        leader: false,
        isBusy: true,
        ready: 0,
        replicas: 1,
        ordinals: HOSTILE,
        instances: [{ name: HOSTILE, terminating: false, leader: true, ready: false, reason: HOSTILE }],
        message: HOSTILE,
        reason: HOSTILE,
      },
    ],
    timeline: timeline(now),
    plan: { ahead: [], blockedBy: [{ code: HOSTILE, message: HOSTILE, remedy: HOSTILE }], diffs: [] },
    history: [
      { revision: HOSTILE, number: 1, cause: HOSTILE, changes: [HOSTILE], state: ["current"], hasRecord: true },
    ],
    actions: [],
  };
}

function distribution(): DistributionView {
  const now = Date.now();
  return {
    type: "dapp",
    namespace: HOSTILE,
    name: HOSTILE,
    atMs: now,
    resourceVersion: "1",
    seen: { uid: "1", past: [] },
    source: HOSTILE,
    isCurrent: true,
    phase: HOSTILE,
    revision: HOSTILE,
    paused: false,
    why: WHY,
    clusters: [
      {
        name: HOSTILE,
        phase: HOSTILE,
        deployed: HOSTILE,
        stage: HOSTILE,
        objects: 1,
        ready: 0,
        reason: HOSTILE,
        message: HOSTILE,
      },
    ],
    objects: [{ kind: HOSTILE, namespace: HOSTILE, name: HOSTILE, clusters: 1, health: HOSTILE, message: HOSTILE }],
    workloads: [
      {
        kind: HOSTILE,
        name: HOSTILE,
        total: 1,
        ready: 0,
        clusters: [{ name: HOSTILE, replicas: 1, ready: 0, lent: 1 }],
      },
    ],
    plan: {
      ahead: [{ kind: "person", code: HOSTILE, message: HOSTILE, remedy: HOSTILE }],
      blockedBy: [],
      diffs: [{ clusters: [HOSTILE], objects: [{ object: HOSTILE, change: HOSTILE, lines: [HOSTILE] }] }],
    },
    timeline: timeline(now),
    happened: { notes: [{ atMs: now, ...NOTE }] },
    history: [{ revision: HOSTILE, number: 1, cause: HOSTILE, changes: [HOSTILE], state: [], hasRecord: true }],
    actions: [],
  };
}

function timeline(now: number): TimelineView {
  const held = { cluster: HOSTILE, reason: HOSTILE, why: HOSTILE, fromMs: now - 8_000, toMs: now - 2_000 };
  return {
    fromMs: now - 10_000,
    spans: [{ cluster: HOSTILE, what: HOSTILE, why: HOSTILE, fromMs: now - 9_000, toMs: now - 1_000 }],
    holds: [held, { ...held, cluster: "" }],
    notes: [{ atMs: now - 500, ...NOTE }],
  };
}

function job(): JobView {
  const now = Date.now();
  return {
    type: "ccj",
    namespace: HOSTILE,
    name: HOSTILE,
    atMs: now,
    resourceVersion: "1",
    seen: { uid: "1", past: [] },
    kind: HOSTILE,
    guarantee: HOSTILE,
    isCurrent: true,
    phase: HOSTILE,
    succeeded: 0,
    active: 1,
    failed: 0,
    done: [],
    why: WHY,
    attempts: [
      {
        number: 1,
        cluster: HOSTILE,
        object: HOSTILE,
        work: HOSTILE,
        state: HOSTILE,
        fromMs: now - 5_000,
        mayRunTwice: HOSTILE,
        reason: HOSTILE,
        message: HOSTILE,
      },
    ],
    plan: { ahead: [{ kind: "otherwise", message: HOSTILE }], blockedBy: [], diffs: [], problem: HOSTILE },
    timeline: timeline(now),
    happened: { notes: [{ atMs: now, ...NOTE }] },
    actions: [],
  };
}

function overview(): OverviewView {
  return {
    atMs: Date.now(),
    mayDrain: true,
    applications: [
      {
        type: "ccs",
        namespace: HOSTILE,
        name: HOSTILE,
        kind: HOSTILE,
        phase: HOSTILE,
        reason: HOSTILE,
        message: HOSTILE,
        since: HOSTILE,
        needsPerson: true,
        ready: 0,
        desired: 1,
        clusters: [{ name: HOSTILE, count: 1 }],
        step: HOSTILE,
      },
    ],
    clusters: [
      {
        name: HOSTILE,
        uid: HOSTILE,
        health: HOSTILE,
        message: HOSTILE,
        since: HOSTILE,
        version: HOSTILE,
        region: HOSTILE,
        load: [{ resource: HOSTILE, used: 1, of: 2, text: HOSTILE }],
        taints: [HOSTILE],
        draining: false,
      },
    ],
    problems: [HOSTILE],
  };
}
