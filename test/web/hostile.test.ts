/** What tenants write, wherever they can write it, is only ever text: on every page, and in the saved file. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type {
  ApplicationView,
  DistributionView,
  JobView,
  LiveEvent,
  OverviewView,
  PodReportsView,
  TimelineView,
  Topic,
  WhyView,
} from "../../src/web/types.ts";
import { HOSTILE, isOnlyText, openSaved } from "./hostility.ts";
import { Stage, signInAt } from "./stage.ts";
import { DESKTOP, PHONE, type TabOptions, tabs } from "./tabs.ts";

const stage = new Stage();
beforeAll(() => stage.start());
afterAll(() => stage.close());
const browser = tabs((url) => url.startsWith(stage.url));

/** Every text of every view is this one. */
function allAre(text: string): void {
  const views: Readonly<Record<string, LiveEvent>> = {
    overview: { event: "overview", data: overview() },
    ccs: { event: "application", data: application() },
    dapp: { event: "distribution", data: distribution() },
    ccj: { event: "job", data: job() },
  };
  const written = <T>(view: T): T =>
    JSON.parse(JSON.stringify(view), (_, value) => (value === HOSTILE ? text : value)) as T;
  const said = written(views);
  const keyOf = (topic: Topic) => (topic.kind === "application" ? topic.type : "overview");
  stage.show = (topic) => said[keyOf(topic)] ?? { event: "beat", data: { atMs: 0 } };
  answers = {
    "/api/pod-reports": { json: written(podReports()) },
    "/api/logs": { json: { text } },
    "/api/pods": { json: { pods: [text] } },
    "/api/act": { status: 403, json: { error: text } },
  };
}

/** The server would refuse to look for such names. */
let answers: Readonly<Record<string, { status?: number; json: object }>> = {};

async function open(hash: string, options: TabOptions = {}) {
  const page = await browser.open(options);
  await signInAt(page, stage.url, "olga");
  for (const [path, answer] of Object.entries(answers)) {
    await page.route(new RegExp(`${path}(\\?|$)`), (route) => route.fulfill(answer));
  }
  await page.goto(`${stage.url}${hash}`);
  return page;
}

describe("every text of a view", () => {
  beforeAll(() => allAre(HOSTILE));

  it("of a CrossClusterStatefulset, with its pods' messages, is only text, also in the saved file", async () => {
    const page = await open("#/ccs/default/x", { files: true });
    await page.locator("h1", { hasText: "onerror" }).waitFor();
    await page.locator(".pod-report", { hasText: "onerror" }).getByRole("button").click();
    await page.getByRole("dialog").locator("pre", { hasText: "onerror" }).waitFor();
    await page.keyboard.press("Escape");
    const { saved, end } = await openSaved(page, browser.open);
    await isOnlyText(page);
    await isOnlyText(saved);
    end();
  });

  it("of a DistributedApplication is only text", async () => {
    const page = await open("#/dapp/default/x");
    await page.locator(".tree-object", { hasText: "onerror" }).waitFor();
    await page.locator(".pod-report", { hasText: "onerror" }).waitFor();
    await page.getByRole("button", { name: /^Pods and logs/ }).click();
    await page.getByRole("button", { name: /show its log$/ }).waitFor();
    await isOnlyText(page);
  });

  it("of a CrossClusterJob is only text", async () => {
    const page = await open("#/ccj/default/x");
    await page.locator(".pod-report", { hasText: "onerror" }).waitFor();
    await page.getByRole("button", { name: /^Pods and logs/ }).click();
    await page.getByRole("button", { name: /show its log$/ }).waitFor();
    await isOnlyText(page);
  });

  it("of the list and the fleet, and a refusal of the hub, is only text", async () => {
    const page = await open("#/");
    await page.locator("tbody tr", { hasText: "onerror" }).waitFor();
    await page.getByRole("link", { name: "Fleet" }).click();
    await page.locator(".cluster", { hasText: "onerror" }).waitFor();
    await page.getByRole("button", { name: /^Drain for maintenance/ }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
    await page.getByRole("dialog").getByRole("alert").getByText("onerror").waitFor();
    await isOnlyText(page);
  });
});

describe("texts of thousands of characters without a space", () => {
  beforeAll(() => allAre("W".repeat(5_000)));

  it.each([
    ["#/", "tbody tr"],
    ["#/fleet", ".cluster"],
    ["#/ccs/default/x", ".instances"],
    ["#/dapp/default/x", ".tree-object"],
    ["#/ccj/default/x", "tbody tr"],
  ])("make no page wider than its window: %s", async (hash, found) => {
    for (const viewport of [DESKTOP, PHONE]) {
      const page = await open(hash, { viewport });
      await page.locator(found).first().waitFor();
      const width = await page.evaluate("document.documentElement.scrollWidth");
      expect(width).toBeLessThanOrEqual(viewport.width);
    }
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
  const pod = {
    cluster: HOSTILE,
    namespace: HOSTILE,
    name: HOSTILE,
    reason: HOSTILE,
    message: HOSTILE,
    last,
    log: [HOSTILE],
  };
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
        namespace: HOSTILE,
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
    group: HOSTILE,
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
