import { expect, it } from "vitest";
import { SITUATIONS } from "./reach.ts";
import { reachSummary, reachTable } from "./reach-summary.ts";

const REACH = { "a grant arrives": 7, "ordinals are unique": 2, "leader paused": 3, undo: 1, "something new": 4 };

it("the counts of a campaign are summed up by group", () => {
  expect(reachSummary(REACH)).toEqual([
    expect.stringMatching(/^Checks: 13, of 3 of \d+ kinds \(how often each promise was at risk/),
    expect.stringMatching(/^Faults: 3, of 1 of \d+ kinds \(how often each fault was injected\)$/),
    expect.stringMatching(/^Changes: 1, of 1 of \d+ kinds \(how often users, or the engine, did each meanwhile\)$/),
  ]);
});

it("the table has every situation once, under its group", () => {
  const table = reachTable(REACH);
  for (const name of [...SITUATIONS, "something new"]) {
    expect(table.filter((line) => new RegExp(`^  ${name} +\\d+$`).test(line))).toHaveLength(1);
  }
  expect(table.findIndex((line) => line.includes("leader paused"))).toBeGreaterThan(
    table.findIndex((line) => line.startsWith("Faults: ")),
  );
});
