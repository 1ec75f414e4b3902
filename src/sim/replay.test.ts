import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { build } from "esbuild";
import { expect, it } from "vitest";
import { HubImage, runSeed, type Tier } from "./index.ts";
import { REQUIRE } from "./testing/seed-pool.ts";

const PROGRAM = `
  import { HubImage, runSeed } from "./index.ts";
  const image = new HubImage();
  const hashes = [];
  for (const [seed, tier] of [[3, "lean"], [11, "lean"], [5, "full"]]) hashes.push((await runSeed(seed, { image, tier })).hash);
  console.log(JSON.stringify(hashes));
`;

it.each<[number, Tier]>([
  [3, "lean"],
  [11, "lean"],
  [5, "full"],
])("seed %i of the %s tier gives the same events every time, with and without a transcript", async (seed, tier) => {
  const image = new HubImage();
  const [first, second, other] = [
    await runSeed(seed, { image, tier }),
    await runSeed(seed, { image: new HubImage(), tier, transcript: true }),
    await runSeed(seed + 1, { image, tier }),
  ];
  expect(second.hash).toBe(first.hash);
  expect(second.events).toBe(first.events);
  expect(second.transcript.length).toBeGreaterThan(50);
  expect(first.transcript).toEqual([]);
  expect(other.hash).not.toBe(first.hash);
});

it("another process sees the same events for the same seeds", async () => {
  const folder = await mkdtemp(join(tmpdir(), "lockstep-replay-"));
  try {
    const outfile = join(folder, "replay.mjs");
    await build({
      stdin: { contents: PROGRAM, resolveDir: import.meta.dirname, loader: "ts" },
      bundle: true,
      outfile,
      format: "esm",
      platform: "node",
      banner: { js: REQUIRE },
      logLevel: "error",
    });
    const { stdout } = await promisify(execFile)(process.execPath, [outfile]);
    expect(JSON.parse(stdout)).toEqual(await ownHashes());
  } finally {
    await rm(folder, { recursive: true });
  }
});

async function ownHashes(): Promise<string[]> {
  const image = new HubImage();
  const own: string[] = [];
  for (const [seed, tier] of [
    [3, "lean"],
    [11, "lean"],
    [5, "full"],
  ] as const) {
    own.push((await runSeed(seed, { image, tier })).hash);
  }
  return own;
}
