import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { seededRandom, silentLog, systemClock } from "../../runtime/index.ts";
import { openLocalRenderer, openRenderer } from "./renderer.ts";

const folder = mkdtempSync(join(tmpdir(), "lockstep-programs-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const parts = { clock: systemClock, random: seededRandom(1), log: silentLog };

function program(path: string, version: string): void {
  mkdirSync(join(folder, path), { recursive: true });
  writeFileSync(join(folder, path, "helm"), `#!/bin/sh\necho ${version}\n`, { mode: 0o755 });
}

it("the fleet on this machine renders with what a checkout has built, unless PATH has a program", async () => {
  program("cache/programs", "v3.22.0");
  const env = { PATH: join(folder, "bin"), LOCKSTEP_CACHE: join(folder, "cache") };
  const built = await openLocalRenderer({ env }, parts).programs();
  expect(built.helm).toMatchObject({ kind: "found", path: join(folder, "cache/programs/helm"), version: "v3.22.0" });
  expect(built.kustomize).toMatchObject({ kind: "missing" });
  // A controller in a cluster takes nothing from a user's folder.
  expect((await openRenderer({ env }, parts).programs()).helm).toMatchObject({ kind: "missing" });
  program("bin", "v4.0.1");
  expect((await openLocalRenderer({ env }, parts).programs()).helm).toMatchObject({ version: "v4.0.1" });
});
