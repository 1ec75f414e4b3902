/** What the tests of the dashboard share: a fleet, a browser, and pages that report what they should not do. */
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll } from "vitest";
import { isJsonObject } from "../../src/runtime/index.ts";
import { APP, OPERATOR_TOKEN, WebFleet } from "./fleet.ts";
import { type TabOptions, tabs } from "./tabs.ts";

export const fleet = new WebFleet();

beforeAll(() => fleet.start());
afterAll(() => fleet.close());

// Hooks run from the last to the first: pages are closed before the fleet is put back.
afterEach(async () => {
  fleet.wire.mend();
  await fleet.patchSpec({ updateStrategy: { rollingUpdate: { paused: false, waves: null } } });
  await fleet.settled();
});

const browser = tabs((url) => url.startsWith(fleet.url));

export function newPage(options?: TabOptions): Promise<Page> {
  return browser.open(options);
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

export async function operatorPage(options?: TabOptions): Promise<Page> {
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
