/** The documentation's pictures of the dashboard. A fleet of its own: the controller writes few Events for one object. */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { violations } from "./browser.ts";
import { APP, OPERATOR_TOKEN } from "./fleet.ts";
import { fleet, newPage, operatorPage, signIn } from "./pages.ts";
import { DESKTOP, PHONE, shoot } from "./tabs.ts";

const PICTURES =
  process.env.LOCKSTEP_PICTURES === undefined
    ? mkdtempSync(join(tmpdir(), "lockstep-pictures-"))
    : new URL("../../docs/pictures", import.meta.url).pathname;
const SHOTS = process.env.LOCKSTEP_SHOTS ?? mkdtempSync(join(tmpdir(), "lockstep-lists-"));
/** Without pictures, any moment of the rollout will do. */
const MOMENT = [
  "document.querySelector('g.bar')",
  ...(process.env.LOCKSTEP_PICTURES === undefined
    ? []
    : [
        "document.querySelector('g.bar.done')",
        "document.querySelector('g.bar.running')",
        "document.querySelector('.cluster.active')",
        "document.querySelector('.plan li')",
        "document.querySelector('.quorum .big').textContent === '4 / 5'",
      ]),
].join(" && ");

const LOOKS = [
  ["dashboard-dark", { colorScheme: "dark", viewport: DESKTOP }],
  ["dashboard-light", { colorScheme: "light", viewport: DESKTOP }],
  ["dashboard-phone", { colorScheme: "light", viewport: PHONE }],
] as const;

describe("pictures, in which axe finds nothing", () => {
  it("in the middle of a rollout: in light and dark, and on a phone", async () => {
    const shown = await Promise.all(
      LOOKS.map(async ([name, options]) => [name, options, await operatorPage(options)] as const),
    );
    await fleet.setImage("example.com/xline:1.1");
    await Promise.all(
      shown.map(async ([name, , page]) => {
        await page.getByRole("heading", { name: "This rollout" }).waitFor();
        // All at one moment: a step is over, another one runs, and what comes next is known.
        await expect.poll(() => page.evaluate(`Boolean(${MOMENT})`), { timeout: 60_000, interval: 100 }).toBe(true);
        await shoot(page, join(PICTURES, `${name}.png`));
      }),
    );
    for (const [, { viewport }, page] of shown) {
      expect(await violations(page)).toEqual([]);
      expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(viewport.width);
    }
  });

  it("the list and the fleet, in light and dark, and on a phone", async () => {
    for (const [size, viewport, colorScheme] of [
      ["desktop", DESKTOP, "light"],
      ["dark", DESKTOP, "dark"],
      ["phone", PHONE, "light"],
    ] as const) {
      const page = await newPage({ viewport, colorScheme });
      await signIn(page, OPERATOR_TOKEN);
      await page.getByRole("link", { name: APP.name, exact: true }).waitFor();
      await page.screenshot({ path: join(SHOTS, `list-${size}.png`) });
      expect(await violations(page)).toEqual([]);
      await page.getByRole("link", { name: "Fleet" }).click();
      await page.getByRole("heading", { name: "member3" }).waitFor();
      await page.screenshot({ path: join(SHOTS, `fleet-${size}.png`) });
      expect(await violations(page)).toEqual([]);
    }
  });
});
