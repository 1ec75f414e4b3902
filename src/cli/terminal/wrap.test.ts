import { describe, expect, it } from "vitest";
import { widthOf, wrapped } from "./wrap.ts";

describe("a line that is wider than the screen", () => {
  it("continues below the start of its text, and the tree stays intact", () => {
    expect(wrapped("│  WaitingForReady (5s): one of the instances is not ready", 30)).toEqual([
      "│  WaitingForReady (5s): one",
      "│    of the instances is not",
      "│    ready",
    ]);
    expect(wrapped("├─ member1  Updating  2/2 ready  web-1", 24)).toEqual([
      "├─ member1  Updating",
      "│    2/2 ready  web-1",
    ]);
    expect(wrapped("└─ member1  Updating  2/2 ready", 24)).toEqual(["└─ member1  Updating", "     2/2 ready"]);
  });

  it("is not changed if it fits", () => {
    expect(wrapped("x".repeat(80), 80)).toEqual(["x".repeat(80)]);
  });

  it("breaks a word that is wider than the screen", () => {
    expect(wrapped("y".repeat(50), 24)).toEqual(["y".repeat(24), `  ${"y".repeat(22)}`, "  yyyy"]);
  });

  it("keeps its colour on every line, and colours take no room", () => {
    const red = (text: string) => `\u001b[31m${text}\u001b[39m`;
    const lines = wrapped(red("one two three four five six seven"), 20);
    expect(lines).toEqual(["\u001b[31mone two three four\u001b[0m", "  \u001b[31mfive six seven\u001b[39m"]);
    expect(lines.map(widthOf)).toEqual([18, 16]);
  });
});
