import { describe, expect, it } from "vitest";
import { findings, isChecked } from "./check-words.mjs";

describe("the check of words", () => {
  it("names the line, the words and what to write instead", () => {
    expect(findings("a.md", "A title\n\nNobody retries.")).toEqual([
      expect.stringMatching(/^a\.md:3: "Nobody": name the actor: the controller, a user, /),
    ]);
    expect(findings("a.ts", "// It is listed anew.")).toEqual([
      'a.ts:1: "anew": again; or retry, recreate, list again',
    ]);
  });

  it("reads comments and strings of code, in the order of the text", () => {
    const text = 'throw new Error("the update goes on"); // whoever asked\n';
    expect(findings("a.ts", text).map((line) => line.split(": ")[1])).toEqual(['"goes on"', '"whoever"']);
  });

  it("finds a phrase that is wrapped over two lines of a comment", () => {
    const wrapped = ["/**\n * The rollout goes\n * on.\n */", "// goes\n  // on", "> goes\n> on"];
    expect(wrapped.map((text) => findings("a.ts", text).length)).toEqual([1, 1, 1]);
  });

  it("does not find a word inside another one", () => {
    expect(findings("a.md", "A renewal of the dearth; cargoes only; nobodyElse; somebody-else.")).toEqual([]);
  });

  it("leaves out what a program wrote and what records another project's behaviour", () => {
    expect(isChecked("src/plan/plan.ts")).toBe(true);
    expect(isChecked("docs/guides/operator.md")).toBe(true);
    expect(isChecked("src/plan/check/transcripts/C1-lost.txt")).toBe(true);
    expect(isChecked("docs/reference.md")).toBe(false);
    expect(isChecked("src/interpret/bundled/a/B/testdata/case.yaml")).toBe(false);
    expect(isChecked("src/interpret/bundled.generated.ts")).toBe(false);
  });
});
