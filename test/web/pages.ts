/** What the tests of the dashboard share: a fleet, a browser, and pages that report what they should not do. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { isJsonObject } from "../../src/runtime/index.ts";
import { launch } from "./browser.ts";
import { APP, OPERATOR_TOKEN, WebFleet } from "./fleet.ts";

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };
const PATIENCE_MS = 30_000;

export const fleet = new WebFleet();
let browser: Browser;
const contexts: BrowserContext[] = [];
/** Requests to anywhere else, and what the browser complained about. */
const strangers: string[] = [];
const complaints: string[] = [];

beforeAll(async () => {
  [browser] = await Promise.all([launch(), fleet.start()]);
});

afterAll(async () => {
  await browser?.close();
  await fleet.close();
});

afterEach(async () => {
  fleet.wire.mend();
  await Promise.all(contexts.splice(0).map((context) => context.close()));
  await fleet.patchSpec({ updateStrategy: { rollingUpdate: { paused: false, waves: null } } });
  await fleet.settled();
  expect(strangers.splice(0)).toEqual([]);
  expect(complaints.splice(0)).toEqual([]);
});

export async function newPage({
  files = false,
  ...options
}: {
  colorScheme?: "light" | "dark";
  viewport?: typeof PHONE;
  files?: boolean;
} = {}): Promise<Page> {
  const context = await browser.newContext({
    viewport: DESKTOP,
    colorScheme: "light",
    reducedMotion: "reduce",
    ...options,
  });
  contexts.push(context);
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  page.on("request", (request) => {
    const isOurs = request.url().startsWith(fleet.url) || request.url().startsWith("blob:");
    if (!isOurs && !(files && request.url().startsWith("file:"))) strangers.push(request.url());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  page.on("console", (message) => {
    // A refused or cut request is logged by the browser itself; the page says it in its own words.
    if (message.type() === "error" && !message.text().includes("Failed to load resource"))
      complaints.push(message.text());
  });
  return page;
}

export async function signIn(page: Page, token: string): Promise<void> {
  await page.goto(fleet.url);
  await page.getByLabel("Bearer token of the hub").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Applications" }).waitFor();
}

export async function openApp(page: Page): Promise<void> {
  await page.getByRole("link", { name: APP.name, exact: true }).click();
  await page.getByRole("heading", { name: "Quorum" }).waitFor();
}

export async function operatorPage(options: Parameters<typeof newPage>[0] = {}): Promise<Page> {
  const page = await newPage(options);
  await signIn(page, OPERATOR_TOKEN);
  await openApp(page);
  return page;
}

export const revisionIn = (status: unknown) => (isJsonObject(status) ? status.updateRevision : undefined);
export const phase = (page: Page, word: string) => page.locator("h1 .pill", { hasText: word }).waitFor();
export const step = (page: Page) => page.locator(".cluster.active").first().waitFor();

export async function confirm(page: Page, action: string): Promise<void> {
  await page.locator(".actions").getByRole("button", { name: action, exact: true }).click();
  await page.getByRole("dialog").getByRole("button", { name: action, exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "detached" });
}
