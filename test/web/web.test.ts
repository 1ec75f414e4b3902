/** The dashboard in a real browser, on the embedded fleet with a database over three clusters. */
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { seenOf } from "../../src/cli/hub/seen.ts";
import { violations } from "./browser.ts";
import { APP, APPROVER_TOKEN, OPERATOR_TOKEN, VIEWER_TOKEN } from "./fleet.ts";
import { HOSTILE, isOnlyText, openSaved } from "./hostility.ts";
import { confirm, fleet, newPage, openApp, operatorPage, phase, revisionIn, signIn, step } from "./pages.ts";

describe("a rollout", () => {
  it("is watched from start to end: every cluster takes its turn, the quorum meter moves, the leader's cluster is last", async () => {
    const page = await operatorPage();
    await phase(page, "Settled");
    expect(await page.locator(".clusters .crown").count()).toBe(1);
    const leader = (await fleet.status()).leader as { cluster: string };
    const lowest: number[] = [];
    await page.exposeFunction("sawReady", (ready: number) => void lowest.push(ready));
    await page.evaluate(`new MutationObserver(() => {
      sawReady(Number.parseInt(document.querySelector(".quorum .big")?.textContent ?? "", 10));
    }).observe(document.body, { subtree: true, childList: true, characterData: true })`);
    await fleet.setImage("example.com/xline:2.0");
    await phase(page, "Updating");
    await step(page);
    await page.getByRole("heading", { name: "This rollout" }).waitFor();
    await page.locator(".plan li").first().waitFor();
    await page.locator(".diff .added", { hasText: "image: example.com/xline:2.0" }).first().waitFor();
    await page.getByText("It waits", { exact: true }).waitFor();
    await page.locator(".evidence tbody tr").first().waitFor();
    await phase(page, "Settled");
    await page.getByRole("heading", { name: "The last rollout" }).waitFor();
    expect(Math.min(...lowest.filter(Number.isFinite))).toBe(4);
    await page.getByText("The same in words").click();
    const lines = await page.locator(".spans li").allTextContents();
    const updated = lines.filter((line) => line.includes(" updating")).map((line) => line.split(" ")[1]);
    expect(new Set(updated)).toEqual(new Set(["member1", "member2", "member3"]));
    expect(updated.at(-1)).toBe(leader.cluster);
    // Others may have run before this test.
    await expect.poll(() => page.locator(".history li").count()).toBeGreaterThanOrEqual(2);
  });

  it("is paused, resumed and undone from the page", async () => {
    const page = await operatorPage();
    const before = (await fleet.status()).updateRevision;
    await fleet.setImage("example.com/xline:3.0");
    await step(page);
    await confirm(page, "Pause");
    await page.getByText("is paused: the step in progress completes").waitFor();
    await page.getByRole("heading", { name: "It needs you" }).waitFor();
    await page.locator(".command", { hasText: "lockstep resume xline -n default" }).first().waitFor();
    await confirm(page, "Resume");
    await fleet.settled();
    await phase(page, "Settled");
    const after = (await fleet.status()).updateRevision;
    expect(after).not.toBe(before);
    await confirm(page, "Undo");
    await fleet.until("it is back", ({ status }) => revisionIn(status) === before);
    await phase(page, "Settled");
    await page.locator(".history li.current", { hasText: String(before).split("-").at(-1) }).waitFor();
  });

  it("waits for an approval, which a viewer who may do nothing else gives on the page with a comment", async () => {
    await fleet.patchSpec({
      updateStrategy: { rollingUpdate: { waves: [{ clusters: ["member3"], approval: "Manual" }] } },
    });
    const page = await newPage();
    await signIn(page, APPROVER_TOKEN);
    await openApp(page);
    await fleet.setImage("example.com/xline:4.0");
    await page.locator(".reason", { hasText: "AwaitingApproval" }).waitFor();
    const button = (name: string) => page.locator(".actions").getByRole("button", { name });
    expect(await button("Pause").isDisabled()).toBe(true);
    expect(await button("Abort").isDisabled()).toBe(true);
    await page.getByText("You do not have the right to patch crossclusterstatefulsets in namespace default.").waitFor();
    await button("Approve").click();
    await page.getByLabel("Comment (optional)").fill("looks good");
    await page.getByRole("dialog").getByRole("button", { name: "Approve", exact: true }).click();
    await page.getByText(/is approved for revision \S+ by amy/).waitFor();
    await fleet.settled();
    await phase(page, "Settled");
  });

  it("that has changed is not approved by an older dialog: it keeps its words, and says that nothing was done", async () => {
    await fleet.patchSpec({
      updateStrategy: { rollingUpdate: { waves: [{ clusters: ["member3"], approval: "Manual" }] } },
    });
    const page = await operatorPage();
    await fleet.setImage("example.com/xline:4.1");
    await page.locator(".reason", { hasText: "AwaitingApproval" }).waitFor();
    await page.locator(".actions").getByRole("button", { name: "Approve" }).click();
    const dialog = page.getByRole("dialog");
    const shown = await dialog.textContent();
    const { updateRevision } = await fleet.status();
    expect(shown).toContain(`for revision ${updateRevision}`);
    await fleet.setImage("example.com/xline:4.2");
    await fleet.until(
      "another revision waits for its approval",
      ({ status }) =>
        revisionIn(status) !== updateRevision && JSON.stringify(status).includes('"awaitingApproval":true'),
    );
    await page.locator(".reason", { hasText: "AwaitingApproval" }).waitFor();
    expect(await dialog.textContent()).toBe(shown);
    await dialog.getByRole("button", { name: "Approve", exact: true }).click();
    await dialog.getByRole("alert").getByText("Nothing was done. Look again, then decide").waitFor();
    expect(JSON.stringify(await fleet.status())).toContain('"awaitingApproval":true');
    expect(await violations(page)).toEqual([]);
  });
});

it("a rollout is promoted past its soak, and another one is aborted, from the page", async () => {
  await fleet.patchSpec({
    updateStrategy: { rollingUpdate: { waves: [{ clusters: ["member3"], soakSeconds: 3_600 }] } },
  });
  const page = await operatorPage();
  await fleet.setImage("example.com/xline:6.0");
  await page.locator(".reason", { hasText: "Soaking" }).waitFor();
  await page.locator(".plan li", { hasText: "Soaking" }).waitFor();
  await confirm(page, "Promote");
  await page.getByText("continues past the soak of wave 1").waitFor();
  await fleet.settled();
  await phase(page, "Settled");
  const before = (await fleet.status()).updateRevision;
  await fleet.setImage("example.com/xline:7.0");
  await page.locator(".reason", { hasText: "Soaking" }).waitFor();
  await page.locator(".actions").getByRole("button", { name: "Abort" }).click();
  await page.getByRole("dialog").getByText("Back to").waitFor();
  expect(await violations(page)).toEqual([]);
  await page.getByRole("dialog").getByRole("button", { name: "Abort", exact: true }).click();
  await fleet.until("it is back", ({ status }) => revisionIn(status) === before);
  await fleet.settled();
  await phase(page, "Settled");
});

describe("a viewer", () => {
  it("without rights sees everything they may read and cannot act, not even by hand", async () => {
    const page = await newPage();
    await signIn(page, VIEWER_TOKEN);
    await page.getByText("You may not list the clusters of the fleet.").waitFor();
    await openApp(page);
    const pause = page.locator(".actions").getByRole("button", { name: "Pause" });
    await pause.waitFor();
    expect(await pause.isDisabled()).toBe(true);
    await page.getByText("You do not have the right to patch crossclusterstatefulsets in namespace default.").waitFor();
    await page.getByText(/There is no plan: .*forbidden/).waitFor();
    const answer = await page.request.post(`${fleet.url}api/act`, {
      headers: {
        "x-lockstep-dashboard": "1",
        "x-lockstep-key": await page.evaluate<string>('localStorage.getItem("lockstep-key")'),
      },
      data: { action: "pause", ...APP, seen: seenOf(await fleet.object()) },
    });
    expect(answer.status()).toBe(403);
    expect(await answer.text()).toContain('\\"vera\\" cannot patch');
    expect(await violations(page)).toEqual([]);
  });

  it("with a wrong token stays outside, and reads why", async () => {
    const page = await newPage();
    await page.goto(fleet.url);
    await page.getByLabel("Bearer token of the hub").fill("wrong");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("The hub does not accept this token.").waitFor();
    expect(await violations(page)).toEqual([]);
  });

  it("comes in once with the link of 'lockstep dashboard', and leaves with Sign out", async () => {
    const link = fleet.ownLink();
    const page = await newPage();
    await page.goto(link);
    await page.getByText("hub-admin").waitFor();
    expect(page.url()).not.toContain("link=");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Bearer token of the hub").waitFor();
    const second = await newPage();
    await second.goto(link);
    await second.getByRole("alert").getByText("this link was used already").waitFor();
  });
});

it("a lost connection is said, and the page is up to date again as soon as it is back", async () => {
  const page = await operatorPage();
  await page.locator(".live", { hasText: "live" }).waitFor();
  const pause = page.locator(".actions").getByRole("button", { name: "Pause" });
  expect(await pause.isDisabled()).toBe(false);
  fleet.wire.cut();
  await page
    .getByRole("alert")
    .getByText(/Nothing received since/)
    .waitFor();
  expect(await pause.isDisabled()).toBe(true);
  const before = (await fleet.status()).updateRevision;
  await fleet.setImage("example.com/xline:5.0");
  await fleet.until("there is a new revision", ({ status }) => revisionIn(status) !== before);
  await fleet.settled();
  const revision =
    String((await fleet.status()).updateRevision)
      .split("-")
      .at(-1) ?? "";
  expect(await page.locator(".history li.current").textContent()).not.toContain(revision);
  fleet.wire.mend();
  await page.locator(".history li.current", { hasText: revision }).waitFor();
  expect(await page.getByRole("alert").count()).toBe(0);
});

it("everything works with the keyboard alone", async () => {
  const page = await newPage();
  await page.goto(fleet.url);
  await page.getByLabel("Bearer token of the hub").focus();
  await page.keyboard.type(OPERATOR_TOKEN);
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Applications" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("xli");
  await tabTo(page, "xline");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Quorum" }).waitFor();
  await tabTo(page, "Pause");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("dialog").waitFor({ state: "detached" });
  await tabTo(page, "Pause");
  await page.keyboard.press("Enter");
  await page.getByRole("dialog").waitFor();
  await tabTo(page, "Pause");
  await page.keyboard.press("Enter");
  await page.getByText("is paused: the step in progress completes").waitFor();
});

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
    const { saved, end } = await openSaved(page, newPage);
    await saved.locator("ol.spans li", { hasText: "onerror" }).waitFor();
    await isOnlyText(saved);
    end();
    await fleet.setImage("example.com/xline:1.0");
    await page.goto(fleet.url);
    await page.getByRole("heading", { name: "Applications" }).waitFor();
    await isOnlyText(page);
  });
});

async function tabTo(page: Page, text: string): Promise<void> {
  for (let presses = 0; presses < 40; presses++) {
    await page.keyboard.press("Tab");
    if ((await page.evaluate("document.activeElement?.textContent")) === text) return;
  }
  throw new Error(`no element '${text}' was reached with the Tab key`);
}
