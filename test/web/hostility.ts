/** What a tenant may write where a page shows it, and how to see that it stays text. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";
import type { TabOptions } from "./tabs.ts";

/** Ends elements, begins scripts, and has characters that turn the direction of text. */
export const HOSTILE =
  '</script></style></title><script>window.pwned = 1</script><img src=x onerror="window.pwned = 1"><a href="javascript:window.pwned=1">{{7*7}}\u202e';

export async function isOnlyText(page: Page): Promise<void> {
  expect(await page.evaluate("window.pwned")).toBeUndefined();
  expect(await page.locator("img[src=x]").count()).toBe(0);
  expect(await page.locator('a[href^="javascript:"]').count()).toBe(0);
}

/** Saves the rollout from the page, and opens the file. */
export async function openSaved(
  page: Page,
  newPage: (options: TabOptions) => Promise<Page>,
): Promise<{ saved: Page; end: () => void }> {
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
