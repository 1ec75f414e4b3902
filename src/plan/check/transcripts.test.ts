import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { REASONS } from "../../rollout/index.ts";
import { replay, Transcript } from "./testing/transcript.ts";

/**
 * Each file is documentation that is checked: UPDATE=1 writes what the planner says now; read the difference before you
 * keep it.
 */
const folder = new URL("./transcripts/", import.meta.url);
const files = readdirSync(folder)
  .filter((file) => file.endsWith(".txt"))
  .sort();
const texts = new Map(files.map((file) => [file, readFileSync(new URL(file, folder), "utf8")]));

describe("a transcript says what the planner does", () => {
  it.each(files)("%s", (file) => {
    const text = texts.get(file) ?? "";
    const transcript = new Transcript();
    const played = replay(text, transcript);
    // [R1] Each with evidence and a remedy.
    const bare = transcript.bench.reasons.filter(({ evidence, remedy }) => evidence.length === 0 || remedy === "");
    expect(bare).toEqual([]);
    if (process.env.UPDATE) writeFileSync(new URL(file, folder), played);
    else expect(played).toBe(text);
  });
});

const others = new URL("../../applications/check/transcripts/", import.meta.url);
for (const file of readdirSync(others)) texts.set(`applications/${file}`, readFileSync(new URL(file, others), "utf8"));

describe("every reason is shown", () => {
  it.each(Object.keys(REASONS))("the reason %s is given in one", (reason) => {
    const given = [...texts.values()].some((text) => new RegExp(`^\\S+ waits ${reason}: `, "m").test(text));
    expect(given, `no transcript prints 'waits ${reason}'`).toBe(true);
  });
});
