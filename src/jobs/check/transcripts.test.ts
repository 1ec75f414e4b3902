import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test as it } from "vitest";
import { Transcript } from "./transcript.ts";

/** Documentation that is checked: UPDATE=1 writes what the planner says now; read the difference before you keep it. */
const folder = new URL("./transcripts/", import.meta.url);
const files = readdirSync(folder)
  .filter((file) => file.endsWith(".txt"))
  .sort();

describe("a transcript says what the planner of jobs does", () => {
  it.each(files)("%s", (file) => {
    const text = readFileSync(new URL(file, folder), "utf8");
    const played = new Transcript().play(text);
    if (process.env.UPDATE) writeFileSync(new URL(file, folder), played);
    else expect(played).toBe(text);
  });
});
