/** Pods that fail: the wait shows what they say, to viewers who may read them. */
import { beforeAll, describe, expect, it } from "vitest";
import { applyHold, applyTemplate, STATEFULSET_EXAMPLE } from "../../src/cli/commands/up/example.ts";
import { violations } from "./browser.ts";
import { MEMBERS, OPERATOR_TOKEN, VIEWER_TOKEN } from "./fleet.ts";
import { confirm, fleet, newPage, phase, signIn } from "./pages.ts";

const { name } = STATEFULSET_EXAMPLE.at;

beforeAll(async () => {
  await applyHold(fleet.hub, STATEFULSET_EXAMPLE, MEMBERS);
  await applyTemplate(fleet.hub, STATEFULSET_EXAMPLE);
});

async function open(token: string) {
  const page = await newPage();
  await signIn(page, token);
  await page.getByRole("link", { name, exact: true }).click();
  await page.locator("h1", { hasText: name }).waitFor();
  return page;
}

describe("an image that crashes", () => {
  it("is explained by the wait: the pod, its reason, how it ended and its last lines; and the abort repairs it", async () => {
    const page = await open(OPERATOR_TOKEN);
    await phase(page, "Settled");
    const containers = [{ name: "web", image: "example.com/web:broken" }];
    const patch = { type: "merge", body: { spec: { template: { spec: { containers } } } } } as const;
    await fleet.hub.patch(STATEFULSET_EXAMPLE.templates, STATEFULSET_EXAMPLE.at, patch, { fieldManager: "web-suite" });
    const report = page.locator(".pod-report", { hasText: "CrashLoopBackOff" });
    await report.getByText(/It last ended with exit code 1/).waitFor();
    await report.locator("pre", { hasText: "this image fails on purpose" }).waitFor();
    await page.getByText("is not ready yet").waitFor();
    await page.getByText("If it does not recover by itself, look closer:").waitFor();
    expect(await violations(page)).toEqual([]);
    await report.getByRole("button", { name: /^The whole log of / }).click();
    await page.getByRole("dialog").locator("pre", { hasText: "this image fails on purpose" }).waitFor();
    await page.keyboard.press("Escape");

    const vera = await open(VIEWER_TOKEN);
    await vera.getByText(/cannot be read \(you may not read them\)/).waitFor();
    expect(await vera.locator(".pod-report").count()).toBe(0);
    await vera
      .getByRole("button", { name: /^Log of / })
      .first()
      .click();
    await vera
      .getByRole("dialog")
      .getByRole("alert")
      .getByText(/"vera" cannot/)
      .waitFor();

    await confirm(page, "Abort");
    await phase(page, "Settled");
    expect(await page.locator(".pod-report").count()).toBe(0);
  });
});
