/** The terminal pictures of README show what the program shows today. */
import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { draw, shownBy } from "../../scripts/pictures.ts";

it("the pictures of README are drawn from real runs, and are current but for times", async () => {
  const drawn = await draw();
  for (const [name, svg] of Object.entries(drawn)) {
    const committed = readFileSync(new URL(`../../docs/pictures/${name}`, import.meta.url), "utf8");
    expect(shownBy(svg), `docs/pictures/${name}: run npm run pictures`).toBe(shownBy(committed));
  }
});
