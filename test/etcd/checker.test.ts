/** The check of a history of clients refuses one that is broken. */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { judge } from "../availability/probe.ts";

describe("the check of what clients saw", () => {
  const folder = mkdtempSync(join(tmpdir(), "lockstep-check-"));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const key = "register/0/0";
  const done = (kind: "write" | "read", client: number, value: string, start: number) => ({
    kind,
    client,
    key,
    value,
    start,
    end: start + 1,
    try: 1,
  });
  const good = [done("write", 1, "a", 0), done("write", 2, "b", 2), done("read", 3, "b", 4)];

  async function judged(history: readonly object[]) {
    const file = join(folder, "record");
    writeFileSync(file, history.map((each) => `${JSON.stringify(each)}\n`).join(""));
    return judge(file);
  }

  it("accepts a history in which every read returns the last write", async () => {
    expect(await judged(good)).toMatchObject({ linearizable: "yes", operations: 3, readsOfOthers: 1 });
  });

  it.each([
    ["a value that was overwritten", done("read", 3, "a", 6)],
    ["nothing, though a write was acknowledged", done("read", 3, "", 6)],
    ["a value that was never written", done("read", 3, "z", 6)],
  ])("refuses a history in which a read returns %s", async (_, read) => {
    expect(await judged([...good, read])).toMatchObject({ linearizable: "no" });
  });

  it("has own tests that pass", () => {
    const cwd = new URL("../tools/probe/", import.meta.url).pathname;
    const env = { ...process.env, CGO_ENABLED: "0", GOFLAGS: "-buildvcs=false -mod=readonly" };
    const { status, stdout, stderr } = spawnSync("go", ["test", "./..."], { cwd, env, encoding: "utf8" });
    expect({ status, said: status === 0 ? "" : stdout + stderr }).toEqual({ status: 0, said: "" });
  }, 600_000);
});
