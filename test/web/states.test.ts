/** What a page shows when there is little to show, something is wrong, or the viewer may do only a part. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Refused } from "../../src/web/index.ts";
import type { ActionName, ActionView, ApplicationRow, FleetCluster } from "../../src/web/types.ts";
import { violations } from "./browser.ts";
import { applicationOf, overviewOf, Stage, signInAt } from "./stage.ts";
import { DESKTOP, PHONE, shoot, type TabOptions, tabs } from "./tabs.ts";

const SHOTS = process.env.LOCKSTEP_SHOTS;
const stage = new Stage();
const { show, act } = stage;
beforeAll(() => stage.start());
afterAll(() => stage.close());
afterEach(() => {
  stage.show = show;
  stage.act = act;
  stage.acts.length = 0;
});
const browser = tabs((url) => url.startsWith(stage.url));

async function open(hash: string, options: TabOptions = {}): Promise<Page> {
  const page = await browser.open(options);
  await signInAt(page, stage.url, "olga");
  await page.goto(`${stage.url}${hash}`);
  return page;
}

/** In both colours and on a phone: axe finds nothing, nothing is wider than the window, and there is a picture. */
async function isMadeWell(page: Page, name: string): Promise<void> {
  for (const [size, viewport, colorScheme] of [
    ["light", DESKTOP, "light"],
    ["dark", DESKTOP, "dark"],
    ["phone", PHONE, "light"],
  ] as const) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    await page.locator(`html[data-theme=${colorScheme}]`).waitFor();
    expect(await violations(page)).toEqual([]);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(viewport.width);
    if (SHOTS !== undefined) await shoot(page, `${SHOTS}/${name}-${size}.png`);
  }
}

function row(name: string, more: Partial<ApplicationRow> = {}): ApplicationRow {
  return {
    type: "ccs",
    namespace: "default",
    name,
    kind: "StatefulSet",
    phase: "Settled",
    needsPerson: false,
    ready: 3,
    desired: 3,
    updated: { done: 3, of: 3 },
    clusters: [{ name: "east", count: 3 }],
    ...more,
  };
}

const waits = (reason: string, needsPerson: boolean) => ({
  phase: needsPerson ? "Halted" : "Updating",
  reason,
  needsPerson,
  message: "1 of 3 instances runs the revision",
  since: new Date().toISOString(),
});

const names = (page: Page) => page.locator("tbody th a").allTextContents();

describe("the list", () => {
  it("that is empty says how an application begins", async () => {
    const page = await open("#/");
    await page.getByRole("heading", { name: "No application yet" }).waitFor();
    await page.locator(".command", { hasText: "kubectl apply -f examples/statefulset" }).waitFor();
    await isMadeWell(page, "empty-list");
    await page.getByRole("link", { name: "Fleet" }).click();
    await page.getByRole("heading", { name: "No cluster has joined" }).waitFor();
    await isMadeWell(page, "empty-fleet");
  });

  it("is searched, and filtered by the reason, by the kind and by who has to act", async () => {
    const applications = [
      row("calm"),
      row("leader", waits("LeaderLast", false)),
      row("approve", { ...waits("AwaitingApproval", true), clusters: [{ name: "west", count: 3 }] }),
      row("budget", { ...waits("BudgetExhausted", false), type: "dapp", kind: "DistributedApplication" }),
    ];
    stage.show = () => ({ event: "overview", data: overviewOf({ applications }) });
    const page = await open("#/");
    await page.locator("tr", { hasText: "A person has to approve the next wave" }).waitFor();
    expect(await names(page)).toEqual(["approve", "budget", "leader", "calm"]);
    await isMadeWell(page, "list-waits");
    await page.getByLabel("Reason").selectOption("LeaderLast");
    expect(await names(page)).toEqual(["leader"]);
    await page.getByLabel("Reason").selectOption("");
    for (const [text, found] of [
      ["west", ["approve"]],
      ["BudgetEx", ["budget"]],
      ["no more may", ["budget"]],
      ["zzz", []],
    ] as const) {
      await page.getByLabel("Search").fill(text);
      expect(await names(page)).toEqual(found);
    }
    await page.getByText("No application matches. Remove a filter to see more.").waitFor();
    await page.getByLabel("Search").fill("");
    const urgent = page.getByRole("button", { name: /waiting for a person/ });
    await urgent.click();
    expect(await names(page)).toEqual(["approve"]);
    expect(await urgent.getAttribute("aria-pressed")).toBe("true");
    await urgent.click();
    expect((await names(page)).length).toBe(4);
  });

  it("of a thousand applications begins with a hundred, and the search finds the others", async () => {
    const applications = Array.from({ length: 1_000 }, (_, index) => row(`db-${String(index).padStart(4, "0")}`));
    stage.show = () => ({ event: "overview", data: overviewOf({ applications }) });
    const page = await open("#/");
    await page.getByText("1000 applications that you may see").waitFor();
    expect((await names(page)).length).toBe(100);
    await page.getByRole("button", { name: "Show 100 more of 900" }).click();
    expect((await names(page)).length).toBe(200);
    await page.getByLabel("Search").fill("db-0999");
    expect(await names(page)).toEqual(["db-0999"]);
  });

  it("follows one application without drawing the others again", async () => {
    const before = overviewOf({ applications: [row("one"), row("two")] });
    stage.show = () => ({ event: "overview", data: before });
    const page = await open("#/");
    await page.locator("tr", { hasText: "two" }).waitFor();
    await page.evaluate(`window.drawn = [];
      new MutationObserver((all) => drawn.push(...all.map(({ target }) => (target.parentElement ?? target).closest("tr")?.textContent)))
        .observe(document.querySelector("tbody"), { subtree: true, childList: true, characterData: true, attributes: true })`);
    const changed = row("two", { ready: 2 });
    stage.say({ event: "overview", data: { ...before, atMs: before.atMs + 1, applications: [row("one"), changed] } });
    await page.locator("tr", { hasText: "two" }).filter({ hasText: "2/3" }).waitFor();
    const drawn = await page.evaluate<string[]>("drawn");
    expect(drawn.length).toBeGreaterThan(0);
    expect(drawn.filter((text) => !text.startsWith("two"))).toEqual([]);
  });
});

describe("the fleet", () => {
  const cluster = (name: string, more: Partial<FleetCluster> = {}): FleetCluster => ({
    name,
    uid: name,
    health: "Ready",
    version: "v1.36.1",
    region: "eu-west",
    nodes: 12,
    load: [
      { resource: "cpu", used: 40.5, of: 96, text: "41 of 96 cores" },
      { resource: "memory", used: 350, of: 384, text: "350 of 384 GiB" },
      { resource: "pods", of: 1_320, text: "1320 pods" },
    ],
    taints: [],
    draining: false,
    ...more,
  });
  const fleet = [
    cluster("east"),
    cluster("west", { health: "NotReady", message: "the kubelet has stopped posting its status", version: "v1.35.4" }),
    cluster("north", { taints: ["dedicated=gpu:NoSchedule"], draining: true }),
  ];

  it("shows health, load, taints, versions and what runs there, and is searched", async () => {
    const applications = [row("shop", waits("Paused", true)), row("news")];
    stage.show = () => ({ event: "overview", data: overviewOf({ clusters: fleet, applications }) });
    const page = await open("#/fleet");
    await page.getByText("3 clusters").waitFor();
    const card = (name: string) => page.locator(".cluster", { hasText: name });
    expect(await page.locator(".fleet h2").allTextContents()).toEqual(["west", "north", "east"]);
    await card("west").getByText("the kubelet has stopped posting its status").waitFor();
    await card("north").getByText("Taints: dedicated=gpu:NoSchedule").waitFor();
    await card("east").getByText("350 of 384 GiB").waitFor();
    await card("east").locator("li", { hasText: "default/shop" }).getByText("needs a person").waitFor();
    await isMadeWell(page, "fleet-load");
    for (const [text, found] of [
      ["1.35", ["west"]],
      ["gpu", ["north"]],
      ["draining", ["north"]],
    ] as const) {
      await page.getByLabel("Search").fill(text);
      expect(await page.locator(".fleet h2").allTextContents()).toEqual(found);
    }
  });

  it("offers no drain to a viewer who may not, and says of a refusal why", async () => {
    stage.show = () => ({ event: "overview", data: overviewOf({ clusters: fleet, mayDrain: false }) });
    const page = await open("#/fleet");
    await page.getByText("3 clusters").waitFor();
    expect(await page.getByRole("button", { name: /Drain|maintenance/ }).count()).toBe(0);
    stage.act = () => {
      throw new Refused(403, 'clusters "east" is forbidden: User "olga" cannot patch it');
    };
    stage.say({ event: "overview", data: overviewOf({ clusters: fleet, mayDrain: true }) });
    await page.getByRole("button", { name: "Drain for maintenance: east" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Drain", exact: true }).click();
    await page.getByRole("alert").getByText('User "olga" cannot patch it').waitFor();
    expect(await violations(page)).toEqual([]);
    expect(stage.acts).toEqual([]);
  });
});

const REASON = "You do not have the right to patch crossclusterstatefulsets in namespace default.";
function action(name: ActionName, allowed: boolean): ActionView {
  const command = `lockstep ${name} shop -n default`;
  return { action: name, consequence: `It will ${name}.`, command, allowed, ...(!allowed && { reason: REASON }) };
}

describe("a viewer", () => {
  it("who may approve and nothing else has only that button, and reads which right is missing", async () => {
    const actions = [action("approve", true), action("pause", false), action("abort", false)];
    stage.show = () => ({ event: "application", data: applicationOf({ actions, phase: "Updating" }) });
    const page = await open("#/ccs/default/shop");
    const button = (name: string) => page.locator(".actions").getByRole("button", { name });
    await button("Approve").waitFor();
    expect(await button("Approve").isEnabled()).toBe(true);
    expect(await button("Pause").isDisabled()).toBe(true);
    expect(await button("Abort").isDisabled()).toBe(true);
    await page.getByText(REASON).waitFor();
    await isMadeWell(page, "mixed-rights");
    await button("Approve").click();
    await page.getByRole("dialog").getByRole("button", { name: "Approve", exact: true }).click();
    await page.locator(".toast", { hasText: "done" }).waitFor();
    expect(stage.acts.map(({ action: what, by }) => `${by} ${what}`)).toEqual(["olga approve"]);
  });

  it("of a read-only dashboard has no button that changes anything, on any page", async () => {
    await stage.restart({ readOnly: true });
    const history = [1, 2].map((number) => ({ revision: `shop-${number}`, number, state: [], hasRecord: false }));
    const clusters = [{ name: "east", uid: "e", health: "Ready", load: [], taints: [], draining: false }];
    stage.show = (topic) =>
      topic.kind === "application"
        ? { event: "application", data: applicationOf({ actions: [action("pause", true)], history }) }
        : { event: "overview", data: overviewOf({ clusters }) };
    const page = await open("#/ccs/default/shop");
    await page.getByText("This dashboard is read-only.").waitFor();
    expect(await page.getByRole("button", { name: /Pause|Return to it/ }).count()).toBe(0);
    await isMadeWell(page, "read-only");
    await page.getByRole("link", { name: "Fleet" }).click();
    await page.getByRole("heading", { name: "east" }).waitFor();
    expect(await page.getByRole("button", { name: /Drain|maintenance/ }).count()).toBe(0);
    await stage.restart();
  });
});

describe("an error", () => {
  it("of an object that does not exist says so, and where to look", async () => {
    const message = "CrossClusterStatefulset default/shop does not exist: it was deleted, or was never there.";
    stage.show = ({ kind }) =>
      kind === "application"
        ? { event: "trouble", data: { message, gone: true } }
        : { event: "trouble", data: { message: "The hub has not answered since 10:00:00 UTC", gone: false } };
    const page = await open("#/ccs/default/shop");
    await page.getByRole("heading", { name: "There is nothing to show" }).waitFor();
    await page.getByText(message).waitFor();
    await isMadeWell(page, "gone");
    await page.locator("main").getByRole("link", { name: "All applications" }).click();
    await page.getByRole("heading", { name: "The hub does not answer" }).waitFor();
    await isMadeWell(page, "silent-hub");
  });

  it("of the hub leaves what was shown, grey, and no button works until the hub answers again", async () => {
    const shown = applicationOf({ actions: [action("pause", true)] });
    stage.show = () => ({ event: "application", data: shown });
    const page = await open("#/ccs/default/shop");
    const pause = page.locator(".actions").getByRole("button", { name: "Pause" });
    await pause.click();
    stage.say({ event: "trouble", data: { message: "The hub has not answered since 10:00:00 UTC", gone: false } });
    await page.getByText("The hub has not answered since 10:00:00 UTC. What you see is old.").waitFor();
    await page.locator(".live.lost", { hasText: "no news" }).waitFor();
    const dialog = page.getByRole("dialog");
    expect(await dialog.getByRole("button", { name: "Pause", exact: true }).isDisabled()).toBe(true);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    expect(await pause.isDisabled()).toBe(true);
    await isMadeWell(page, "old");
    stage.say({ event: "application", data: shown });
    await expect.poll(() => pause.isEnabled()).toBe(true);
  });

  it("of an address that no page has written leads to the list, not to an empty page", async () => {
    for (const hash of ["#/ccs/%/x", "#/ccs/%E0%A4%A/x", "#/nothing/a/b", "#/ccs/a", "#/../../etc/passwd"]) {
      const page = await open(hash);
      await page.reload();
      await page.getByRole("heading", { name: "Applications" }).waitFor();
    }
  });
});

describe("a command", () => {
  const why = {
    reason: "Paused",
    sentence: "default/shop is paused.",
    evidence: [],
    remedy: ["lockstep resume shop -n default"],
    needsPerson: true,
    others: ["west: LeaderLast"],
  };

  it("is copied as it is shown; where the browser forbids that, it is selected", async () => {
    stage.show = () => ({ event: "application", data: applicationOf({ why, phase: "Updating", paused: true }) });
    const page = await open("#/ccs/default/shop", { permissions: ["clipboard-read", "clipboard-write"] });
    const copy = page.getByRole("button", { name: "Copy the command lockstep resume shop -n default" });
    await copy.click();
    await copy.getByText("Copied").waitFor();
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("lockstep resume shop -n default");
    await page.getByText("Also: west has the leader and goes last").waitFor();
    await page.evaluate("navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))");
    await copy.click();
    await copy.getByText("Selected").waitFor();
    expect(await page.evaluate("getSelection().toString()")).toBe("lockstep resume shop -n default");
  });
});

describe("the timeline", () => {
  it("of clusters with long names writes none of them over a bar", async () => {
    const now = Date.now();
    const names = ["prod-eu-west-1-databases-a", "prod-eu-west-1-databases-b", "x"];
    const span = { what: "Updating", why: "", fromMs: now - 60_000, toMs: now - 30_000 };
    const timeline = {
      fromMs: now - 60_000,
      spans: names.map((cluster) => ({ cluster, ...span })),
      holds: [],
      notes: [],
    };
    stage.show = () => ({ event: "application", data: applicationOf({ timeline }) });
    for (const viewport of [DESKTOP, PHONE]) {
      const page = await open("#/ccs/default/shop", { viewport });
      await page.locator("g.bar").first().waitFor();
      const ends = await page.evaluate<number[]>(
        '[...document.querySelectorAll(".lane-name")].map((one) => one.getBoundingClientRect().right)',
      );
      const start = await page.evaluate<number>('document.querySelector("g.bar rect").getBoundingClientRect().left');
      expect(ends.length).toBeGreaterThanOrEqual(3);
      expect(Math.max(...ends)).toBeLessThanOrEqual(start);
      expect(await page.locator(".lane-name", { hasText: "x" }).count()).toBe(1);
    }
  });
});

describe("the quorum", () => {
  it("says which cluster the application can do without now", async () => {
    const [east, west, north] = applicationOf().clusters;
    if (!east || !west || !north) throw new Error("three clusters");
    const clusters = [{ ...east, ready: 1 }, west, north];
    const quorum = { voters: 5, ready: 4, needed: 3, maxUnavailable: 1, spare: 1 };
    stage.show = () => ({ event: "application", data: applicationOf({ clusters, quorum }) });
    const page = await open("#/ccs/default/shop");
    await page.locator(".losses li", { hasText: "west" }).getByText("quorum is lost").waitFor();
    expect(await page.locator(".losses .keeps").count()).toBe(2);
    await isMadeWell(page, "quorum");
  });
});
