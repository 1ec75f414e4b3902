/** Who a page is, in a browser with several pages, several users and other programs on the same machine. */
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { applicationOf, overviewOf, Stage, signInAt } from "./stage.ts";
import { tabs } from "./tabs.ts";

const stage = new Stage();
const { show } = stage;
const AT = "#/ccs/default/shop";
const PAUSE = { action: "pause", consequence: "It pauses.", command: "lockstep pause shop", allowed: true } as const;
/** More than a server lets one viewer have. */
const MANY_STREAMS = 13;

beforeAll(() => stage.start());
afterAll(() => stage.close());
afterEach(() => {
  stage.show = show;
  stage.acts.length = 0;
});
const browser = tabs((url) => url.startsWith(stage.url));

const told = (user: string) =>
  applicationOf({
    why: { sentence: `${user} sees this.`, evidence: [], remedy: [], needsPerson: false, others: [] },
    actions: [PAUSE],
  });

async function openApp(page: Page, user: string): Promise<void> {
  stage.show = (topic, who) =>
    topic.kind === "application"
      ? { event: "application", data: told(who) }
      : { event: "overview", data: overviewOf() };
  await signInAt(page, stage.url, user);
  await page.goto(`${stage.url}${AT}`);
  await page.getByText(`${user} sees this.`).waitFor();
}

const keyOf = (page: Page) => page.evaluate<string>('localStorage.getItem("lockstep-key")');

async function cookieOf(page: Page): Promise<string> {
  const [cookie] = await page.context().cookies();
  return `${cookie?.name}=${cookie?.value}`;
}

describe("another user in the same browser", () => {
  it("takes all pages with them: nothing that the one before saw or began to do is left", async () => {
    const first = await browser.open();
    await openApp(first, "olga");
    await first.locator(".actions").getByRole("button", { name: "Pause" }).click();
    await first.getByRole("dialog").waitFor();
    const second = await first.context().newPage();
    await second.goto(stage.url);
    await second.getByRole("button", { name: "Sign out" }).click();
    await first.getByLabel("Bearer token of the hub").waitFor();
    expect(await first.getByText("olga").count()).toBe(0);
    await signInAt(second, stage.url, "vera");
    await first.getByText("vera sees this.").waitFor();
    expect(await first.getByRole("dialog").count()).toBe(0);
    expect(await first.locator(".who").textContent()).toBe("vera");
    await first.locator(".actions").getByRole("button", { name: "Pause" }).click();
    await first.getByRole("dialog").getByRole("button", { name: "Pause", exact: true }).click();
    await first.locator(".toast", { hasText: "done" }).waitFor();
    expect(stage.acts.map(({ by }) => by)).toEqual(["vera"]);
  });

  it("does not become whom a page shows that has not heard of it", async () => {
    const first = await browser.open();
    // It learns nothing of the other page, and nothing of the server.
    await first.addInitScript('addEventListener("storage", (event) => event.stopImmediatePropagation())');
    await openApp(first, "olga");
    await first.route("**/api/live/**", (route) => route.abort());
    stage.wire.cut();
    await first
      .getByRole("alert")
      .getByText(/Nothing received since/)
      .waitFor();
    stage.wire.mend();
    const second = await first.context().newPage();
    await signInAt(await signedOut(second), stage.url, "vera");
    expect(await first.locator(".who").textContent()).toBe("olga");
    await first.unroute("**/api/live/**");
    await first.getByRole("alert").getByText("Your session has ended. Sign in again.").waitFor();
    expect(await first.getByText("vera sees this.").count()).toBe(0);
    await second.goto(`${stage.url}${AT}`);
    await second.getByText("vera sees this.").waitFor();
  });
});

async function signedOut(page: Page): Promise<Page> {
  await page.goto(stage.url);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("Bearer token of the hub").waitFor();
  return page;
}

describe("the server", () => {
  it("that is started again asks every page to sign in, and the page continues where it was", async () => {
    const page = await browser.open();
    await openApp(page, "olga");
    await stage.restart();
    await page.getByRole("alert").getByText("Your session has ended. Sign in again.").waitFor();
    await page.getByLabel("Bearer token of the hub").fill("olga");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByText("olga sees this.").waitFor();
    expect(page.url()).toContain(AT);
  });

  it("that refuses another live page says why, and serves it as soon as there is room", async () => {
    const page = await browser.open();
    await openApp(page, "olga");
    const headers = { cookie: await cookieOf(page), "x-lockstep-key": await keyOf(page) };
    const stop = new AbortController();
    await page.goto("about:blank");
    await expect.poll(() => stage.watching.size).toBe(0);
    const streams = Array.from({ length: MANY_STREAMS }, () =>
      fetch(new URL("/api/live/overview", stage.url), { headers, signal: stop.signal }),
    );
    const statuses = (await Promise.all(streams)).map(({ status }) => status);
    expect(statuses.filter((status) => status === 429)).toHaveLength(1);
    await page.goto(`${stage.url}${AT}`);
    await page.getByRole("alert").getByText("The server says: too many pages are open; close one.").waitFor();
    stop.abort();
    await page.getByText("olga sees this.").waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
  });
});

it("a page in the background gives its connection back, and is up to date when a person looks again", async () => {
  const page = await browser.open();
  await page.clock.install();
  await openApp(page, "olga");
  await expect.poll(() => stage.watching.size).toBe(1);
  const look = (hidden: boolean) =>
    page.evaluate(`Object.defineProperty(document, "hidden", { configurable: true, value: ${hidden} });
      document.dispatchEvent(new Event("visibilitychange"))`);
  await look(true);
  await page.clock.fastForward(29_000);
  await expect.poll(() => stage.watching.size).toBe(1);
  await page.clock.fastForward(3_000);
  await expect.poll(() => stage.watching.size).toBe(0);
  stage.show = () => ({ event: "application", data: { ...told("olga"), phase: "Updating" } });
  await look(false);
  await page.locator("h1 .pill", { hasText: "Updating" }).waitFor();
  expect(await page.locator("main.stale").count()).toBe(0);
});

it("no address that a page asks for has a secret in it", async () => {
  const page = await browser.open();
  const urls: string[] = [];
  page.on("request", (request) => urls.push(request.url()));
  await openApp(page, "olga-s-token");
  await page.getByRole("link", { name: "Fleet" }).click();
  await page.getByRole("heading", { name: "No cluster has joined" }).waitFor();
  const cookie = (await cookieOf(page)).split("=")[1] ?? "";
  const secrets = [cookie, await keyOf(page), "olga-s-token"];
  expect(secrets.every((secret) => secret.length > 10)).toBe(true);
  expect(urls.some((url) => url.includes("/api/live/"))).toBe(true);
  expect(urls.filter((url) => secrets.some((secret) => url.includes(secret)))).toEqual([]);
});

describe("a page of another program on this machine", () => {
  it("which the browser gives the cookie can neither act, read, nor show the dashboard in a frame", async () => {
    const attacker = new Attacker(() => stage.url);
    await attacker.start();
    const page = await browser.open({ isAttacker: true });
    await openApp(page, "olga");
    await page.goto(attacker.url);
    await page.getByText("all tried").waitFor();
    const tried = await page.evaluate<Record<string, string>>("tried");
    expect(tried).toEqual({
      "act without cors": "TypeError",
      "act with our header": "TypeError",
      "read the session": "TypeError",
      "read a stream": "closed",
      "run the session as a script": "error",
    });
    expect(page.frames().map((frame) => frame.url())).toEqual([
      attacker.url,
      expect.stringMatching(/^chrome-error:/),
      expect.stringMatching(/^chrome-error:/),
    ]);
    const stolen = attacker.cookies.find((cookie) => cookie.includes("lockstep-session=")) ?? "";
    expect(stolen).not.toBe("");
    const replayed = await fetch(new URL("/api/session", stage.url), { headers: { cookie: stolen } });
    expect(replayed.status).toBe(401);
    expect(stage.acts).toEqual([]);
    await attacker.close();
  });
});

/** Listens on another port of 127.0.0.1, which is the same site for a browser. */
class Attacker {
  readonly cookies: string[] = [];
  readonly #target: () => string;
  readonly #server = createServer((request, response) => {
    this.cookies.push(String(request.headers.cookie ?? ""));
    response.setHeader("content-type", "text/html");
    response.end(this.#page());
  });

  constructor(target: () => string) {
    this.#target = target;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/`;
  }

  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }

  #page(): string {
    const at = this.#target();
    const act = JSON.stringify({ action: "pause", namespace: "default", name: "shop", seen: { uid: "1", past: [] } });
    return `<!doctype html><title>x</title><p id="end"></p>
<iframe src="${at}"></iframe><iframe name="form"></iframe>
<form method="post" action="${at}api/act" enctype="text/plain" target="form"><input name='${act.slice(0, -1)},"x":"' value='"}'></form>
<script>
window.tried = {};
const name = (promise) => promise.then((answer) => answer.type, (error) => error.name);
(async () => {
  document.forms[0].submit();
  const body = ${JSON.stringify(act)};
  const credentials = "include";
  tried["act without cors"] = await name(fetch("${at}api/act", { method: "POST", mode: "no-cors", credentials, body }));
  const headers = { "x-lockstep-dashboard": "1", "content-type": "application/json" };
  tried["act with our header"] = await name(fetch("${at}api/act", { method: "POST", credentials, headers, body }));
  tried["read the session"] = await name(fetch("${at}api/session", { credentials }));
  tried["read a stream"] = await new Promise((resolve) => {
    const stream = new EventSource("${at}api/live/overview", { withCredentials: true });
    stream.onerror = () => resolve(stream.readyState === EventSource.CLOSED ? "closed" : "open");
  });
  tried["run the session as a script"] = await new Promise((resolve) => {
    const script = document.createElement("script");
    script.onload = () => resolve("loaded");
    script.onerror = () => resolve("error");
    script.src = "${at}api/session";
    document.body.append(script);
  });
  document.getElementById("end").textContent = "all tried";
})();
</script>`;
  }
}
