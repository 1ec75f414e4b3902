/** The pages of DistributedApplications and CrossClusterJobs, the fleet's drain, logs, and the replay of a rollout. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/kube/index.ts";
import type { JsonObject } from "../../src/runtime/index.ts";
import { violations } from "./browser.ts";
import { APP, MEMBERS, OPERATOR_TOKEN } from "./fleet.ts";
import { confirm, fleet, newPage, openApp, phase, revisionIn, signIn } from "./pages.ts";
import { DESKTOP, PHONE, shoot } from "./tabs.ts";

const SHOTS = process.env.LOCKSTEP_SHOTS ?? mkdtempSync(join(tmpdir(), "lockstep-kinds-"));
const RUN_MS = "lockstep.test/run-ms";
/** A replay takes less, however long the rollout took. */
const REPLAY_MS = 9_000;

function notes(text: string, image: string): KubeObject {
  const labels = { app: "notes" };
  const pods = { metadata: { labels }, spec: { containers: [{ name: "notes", image }] } };
  const inline = [
    { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "notes" }, data: { text } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: "notes" },
      spec: { selector: labels, ports: [{ port: 80 }] },
    },
    {
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "notes" },
      spec: {
        replicas: 1,
        podManagementPolicy: "Parallel",
        serviceName: "notes",
        selector: { matchLabels: labels },
        template: pods,
      },
    },
  ];
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "DistributedApplication",
    metadata: { name: "notes", namespace: "default" },
    spec: {
      source: { manifests: { inline } },
      clusters: { names: MEMBERS },
      revisionSettleSeconds: 0,
      rollout: { progressDeadlineSeconds: 600 },
    },
  };
}

function train(name: string, image: string, spec: JsonObject, more: JsonObject = {}): KubeObject {
  const template = {
    metadata: { annotations: { [RUN_MS]: "1500" } },
    spec: { restartPolicy: "Never", containers: [{ name: "main", image }] },
  };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name, namespace: "default" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0, ...spec, template } },
      clusters: { names: ["member1", "member2"] },
      ...more,
    },
  };
}

beforeAll(async () => {
  await fleet.mayDistribute(["configmaps", "services", "statefulsets"]);
  await fleet.apply(notes("one", "notes:1"));
  const indexed = { completionMode: "Indexed", completions: 12, parallelism: 4 };
  await fleet.apply(
    train("train", "worker:1", indexed, { memberCleanup: "AfterTTL", division: "Indexes", clusterParallelism: 2 }),
  );
  await fleet.apply(train("doomed", "broken:1", {}, { memberCleanup: "AfterTTL", failover: { maxAttempts: 2 } }));
});

async function open(name: string, viewport = DESKTOP) {
  const page = await newPage({ viewport });
  await signIn(page, OPERATOR_TOKEN);
  await page.getByRole("link", { name, exact: true }).click();
  await page.locator("h1", { hasText: name }).waitFor();
  return page;
}

describe("the list", () => {
  it("has all three kinds, what needs a person first, and can be narrowed to one kind", async () => {
    const page = await newPage();
    await signIn(page, OPERATOR_TOKEN);
    await page.locator("tr.urgent", { hasText: "doomed" }).waitFor();
    await page.locator("tr", { hasText: "notes" }).filter({ hasText: "Settled" }).getByText("3/3").waitFor();
    await page.locator("tr", { hasText: "train" }).filter({ hasText: "Complete" }).waitFor();
    const names = await page.locator("tbody th a").allTextContents();
    expect(names[0]).toBe("doomed");
    expect(new Set(names)).toEqual(new Set(["doomed", "notes", "train", APP.name]));
    await shoot(page, join(SHOTS, "list.png"));
    await page.getByLabel("Kind").selectOption("ccj");
    expect((await page.locator("tbody th a").allTextContents()).toSorted()).toEqual(["doomed", "train"]);
    expect(await violations(page)).toEqual([]);
  });
});

it("axe finds nothing on their pages in the dark", async () => {
  const page = await newPage({ colorScheme: "dark" });
  await signIn(page, OPERATOR_TOKEN);
  for (const [type, name] of [
    ["dapp", "notes"],
    ["ccj", "train"],
    ["ccj", "doomed"],
  ] as const) {
    await page.goto(`${fleet.url}#/${type}/default/${name}`);
    await page.locator("h1", { hasText: name }).waitFor();
    await page.getByRole("heading", { name: "What comes next" }).waitFor();
    expect(await violations(page)).toEqual([]);
  }
});

describe("a DistributedApplication", () => {
  it("shows its clusters and the tree of its objects with their health", async () => {
    const page = await open("notes");
    await phase(page, "Settled");
    await page.locator(".tree-object", { hasText: "notes" }).first().waitFor();
    expect(await page.locator(".tree-object").count()).toBe(3);
    expect(await page.locator(".cluster", { hasText: "up to date" }).count()).toBe(3);
    expect(await violations(page)).toEqual([]);
    await shoot(page, join(SHOTS, "dapp.png"));
  });

  it("is paused in mid-rollout, shows where it stands, and continues; an unhealthy object comes first", async () => {
    const page = await open("notes");
    await phase(page, "Settled");
    await fleet.apply(notes("two", "notes:broken"));
    await page
      .locator(".tree-object")
      .filter({ hasText: /Progressing|Unhealthy/ })
      .first()
      .waitFor();
    await confirm(page, "Pause");
    await page.getByText("is paused: the step in progress completes").waitFor();
    const report = page.locator(".pod-report", { hasText: "notes-0" }).first();
    await report.locator("pre", { hasText: "this image fails on purpose" }).waitFor();
    await page.locator(".evidence", { hasText: "StatefulSet notes" }).waitFor();
    await page.locator(".diff .added", { hasText: "image: notes:broken" }).first().waitFor({ state: "attached" });
    await page
      .getByRole("button", { name: /^Pods and logs of notes in / })
      .first()
      .click();
    await page.getByRole("button", { name: "notes-0: show its log" }).first().click();
    await page
      .getByRole("dialog")
      .getByRole("heading", { name: /^Log of notes-0/ })
      .waitFor();
    await page.keyboard.press("Escape");
    await page.getByLabel(/Only what is not healthy/).check();
    await shoot(page, join(SHOTS, "dapp-broken.png"));
    expect(await violations(page)).toEqual([]);
    await confirm(page, "Resume");
    await fleet.apply(notes("three", "notes:3"));
    await phase(page, "Settled");
    await expect.poll(() => page.locator(".history li").count()).toBeGreaterThanOrEqual(2);
  });
});

describe("a CrossClusterJob", () => {
  it("shows every attempt, what is done, and that complete work never runs again", async () => {
    const page = await open("train");
    await phase(page, "Complete");
    await page.getByText("It never runs again.").waitFor();
    expect(await page.locator(".squares .on").count()).toBe(12);
    await page
      .getByRole("button", { name: /^Pods and logs of / })
      .first()
      .click();
    await page
      .getByRole("button", { name: /: show its log$/ })
      .first()
      .click();
    await page
      .getByRole("dialog")
      .getByRole("heading", { name: /^Log of/ })
      .waitFor();
    expect(await violations(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await shoot(page, join(SHOTS, "job.png"));
  });

  it("that has failed says why, and is tried again from the page", async () => {
    const page = await open("doomed", PHONE);
    await phase(page, "Failed");
    await page.getByText("It needs you").waitFor();
    await page.locator(".pod-report").first().locator("pre", { hasText: "this image fails on purpose" }).waitFor();
    await page.locator(".command", { hasText: "lockstep logs ccj/doomed -n default" }).waitFor();
    const attempts = page.locator("table.list tbody tr");
    const before = await attempts.count();
    await shoot(page, join(SHOTS, "job-phone.png"));
    expect(await violations(page)).toEqual([]);
    const width = await page.evaluate("document.documentElement.scrollWidth");
    expect(width).toBeLessThanOrEqual(PHONE.width);
    await confirm(page, "Retry");
    await page.getByText("is tried again, with what is left").waitFor();
    await expect.poll(() => attempts.count(), { timeout: 30_000 }).toBeGreaterThan(before);
  });
});

describe("the fleet", () => {
  it("drains a cluster and ends its maintenance", async () => {
    const page = await newPage();
    await signIn(page, OPERATOR_TOKEN);
    await page.getByRole("link", { name: "Fleet" }).click();
    await page
      .locator(".cluster", { hasText: "member3" })
      .getByText(/^v1\.\d+/)
      .waitFor();
    await page.getByRole("button", { name: "Drain for maintenance: member3" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
    await page.locator(".cluster", { hasText: "It is drained for maintenance" }).waitFor();
    await shoot(page, join(SHOTS, "fleet.png"));
    expect(await violations(page)).toEqual([]);
    await page.getByRole("button", { name: "End the maintenance: member3" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Undrain", exact: true }).click();
    await page.getByRole("button", { name: "Drain for maintenance: member3" }).waitFor();
  });
});

describe("a finished rollout", () => {
  it("is replayed with the slider, and saved as one file that explains it without any server", async () => {
    const page = await newPage();
    await page.clock.install();
    await signIn(page, OPERATOR_TOKEN);
    await openApp(page);
    await fleet.setImage("example.com/xline:9.0");
    await page.getByRole("heading", { name: "This rollout" }).waitFor();
    await fleet.settled();
    await page.getByRole("heading", { name: "The last rollout" }).waitFor();
    const all = await page.locator("g.bar").count();
    const slider = page.getByRole("slider", { name: "Moment of the rollout" });
    await slider.focus();
    await page.keyboard.press("Home");
    await page.locator(".moment", { hasText: "0 of 3 clusters had finished" }).waitFor();
    expect(await page.locator("g.bar").count()).toBeLessThan(all);
    await page.getByRole("button", { name: "Replay" }).click();
    await page.clock.runFor(REPLAY_MS);
    await page.locator(".moment").waitFor({ state: "detached" });
    expect(await page.locator("g.bar").count()).toBe(all);
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as a file" }).click(),
    ]);
    const folder = mkdtempSync(join(tmpdir(), "lockstep-saved-"));
    try {
      const path = join(folder, download.suggestedFilename());
      await download.saveAs(path);
      expect(readFileSync(path, "utf8")).not.toMatch(/(?:src|href)="https?:/);
      const alone = await newPage({ files: true });
      await alone.goto(`file://${path}`);
      await alone.getByRole("heading", { name: "How it went" }).waitFor();
      expect(await alone.locator("g.bar").count()).toBe(all);
      await alone.getByRole("slider", { name: "Moment of the rollout" }).focus();
      await alone.keyboard.press("Home");
      await alone.locator(".moment").waitFor();
      await shoot(alone, join(SHOTS, "saved.png"));
      expect(await violations(alone)).toEqual([]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it("of an earlier revision is chosen in the history: its steps, what held it, and the file", async () => {
    const page = await newPage();
    await signIn(page, OPERATOR_TOKEN);
    await openApp(page);
    await fleet.setImage("example.com/xline:9.1");
    await page.getByRole("heading", { name: "This rollout" }).waitFor();
    await fleet.settled();
    await fleet.setImage("example.com/xline:9.2");
    await page.getByRole("heading", { name: "This rollout" }).waitFor();
    await fleet.settled();
    // Another page, which has seen none of it; the Events are not asked for either.
    const later = await newPage();
    await signIn(later, OPERATOR_TOKEN);
    await openApp(later);
    await later
      .locator(".history li")
      .nth(1)
      .getByRole("button", { name: /^See its rollout/ })
      .click();
    await later.getByRole("heading", { name: /^The rollout of revision \d+$/ }).waitFor();
    expect(await later.locator("g.bar").count()).toBeGreaterThanOrEqual(3);
    expect(await later.locator("rect.held").count()).toBeGreaterThanOrEqual(1);
    await later.getByText("The same in words").click();
    await later.locator(".spans li", { hasText: "held by" }).first().waitFor();
    await later.getByRole("slider", { name: "Moment of the rollout" }).focus();
    await later.keyboard.press("Home");
    await later.locator(".moment").waitFor();
    await shoot(later, join(SHOTS, "past.png"));
    expect(await violations(later)).toEqual([]);
    const [download] = await Promise.all([
      later.waitForEvent("download"),
      later.getByRole("button", { name: "Save as a file" }).click(),
    ]);
    expect(readFileSync(await download.path(), "utf8")).toContain("It was rolled out after revision");
    await later.getByRole("button", { name: "Back to the present" }).click();
    await later.getByRole("heading", { name: "The last rollout" }).waitFor();
    const earlier = await later.locator(".history li").nth(2).locator("code").first().getAttribute("title");
    await later
      .locator(".history li")
      .nth(2)
      .getByRole("button", { name: /^Return to it/ })
      .click();
    await later.getByRole("dialog").getByRole("button", { name: "Undo", exact: true }).click();
    await fleet.until("it returns", ({ status }) => revisionIn(status) === earlier);
  });

  it.each(["notes", "train"])("of %s is replayed and saved as well", async (name) => {
    const page = await open(name);
    await phase(page, name === "notes" ? "Settled" : "Complete");
    await page.locator("g.bar").first().waitFor();
    await page.getByRole("slider", { name: "Moment of the rollout" }).focus();
    await page.keyboard.press("Home");
    await page.locator(".moment").waitFor();
    const [download] = await Promise.all([
      page.waitForEvent("download"),
      page.getByRole("button", { name: "Save as a file" }).click(),
    ]);
    const alone = await newPage({ files: true });
    const path = join(SHOTS, `${name}.html`);
    await download.saveAs(path);
    await alone.goto(`file://${path}`);
    await alone.getByRole("heading", { name: "How it went" }).waitFor();
    expect(await alone.locator("g.bar").count()).toBeGreaterThanOrEqual(1);
    await shoot(alone, join(SHOTS, `${name}-saved.png`));
    expect(await violations(alone)).toEqual([]);
  });
});
