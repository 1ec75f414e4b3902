import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { expect, test } from "vitest";
import { replay } from "./testing/transcript.ts";

/** Each file is documentation that is checked: UPDATE=1 writes what the planner says now; read the difference before you keep it. */
const folder = new URL("./transcripts/", import.meta.url);

for (const file of readdirSync(folder).sort()) {
  const url = new URL(file, folder);
  test(`transcript ${file}`, () => {
    const text = readFileSync(url, "utf8");
    const played = replay(text);
    if (process.env.UPDATE) writeFileSync(url, played);
    else expect(played).toBe(text);
  });
}
