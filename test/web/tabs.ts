/** Pages of a real browser, which report what they should not do. */
import type { Browser, BrowserContext, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import { launch } from "./browser.ts";

export const DESKTOP = { width: 1280, height: 900 };
export const PHONE = { width: 390, height: 844 };
const PATIENCE_MS = 30_000;

export interface TabOptions {
  readonly colorScheme?: "light" | "dark";
  readonly viewport?: typeof PHONE;
  readonly files?: boolean;
  readonly permissions?: string[];
  /** Pages of an attacker: what they ask for and what the browser forbids them is what a test is about. */
  readonly isAttacker?: boolean;
}

/** For one test file. `isOurs`: which requests a page may send. */
export function tabs(isOurs: (url: string) => boolean): { open(options?: TabOptions): Promise<Page> } {
  const contexts: BrowserContext[] = [];
  /** Requests to anywhere else, and what the browser complained about. */
  const strangers: string[] = [];
  const complaints: string[] = [];
  let browser: Browser;

  beforeAll(async () => {
    browser = await launch();
  });
  afterAll(() => browser?.close());
  afterEach(async () => {
    await Promise.all(contexts.splice(0).map((context) => context.close()));
    expect(strangers.splice(0)).toEqual([]);
    expect(complaints.splice(0)).toEqual([]);
  });

  const watch = (page: Page, files: boolean) => {
    page.setDefaultTimeout(PATIENCE_MS);
    page.on("request", (request) => {
      const url = request.url();
      if (!isOurs(url) && !url.startsWith("blob:") && !(files && url.startsWith("file:"))) strangers.push(url);
    });
    page.on("pageerror", (error) => complaints.push(error.message));
    page.on("console", (message) => {
      // A refused or cut request is logged by the browser itself; the page says it in its own words.
      const isOfBrowser = /Failed to load resource|net::ERR_/.test(message.text());
      if (message.type() === "error" && !isOfBrowser) complaints.push(message.text());
    });
  };

  return {
    open: async ({ files = false, isAttacker = false, ...options } = {}) => {
      const context = await browser.newContext({
        viewport: DESKTOP,
        colorScheme: "light",
        reducedMotion: "reduce",
        ...options,
      });
      contexts.push(context);
      if (!isAttacker) context.on("page", (page) => watch(page, files));
      return context.newPage();
    },
  };
}

/** The whole page, as it is when a person has just come to it. */
export async function shoot(page: Page, path: string): Promise<void> {
  await page.evaluate("scrollTo(0, 0)");
  await page.screenshot({ path, fullPage: true });
}
