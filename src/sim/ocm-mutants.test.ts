/** Mutants that only the dangers of Open Cluster Management reveal: each must be noticed on its lean model. */
import { afterEach, expect, it, vi } from "vitest";
import type { JsonObject } from "../runtime/index.ts";

/** Each mutant must be noticed within this many seeds. */
const SEEDS = 200;
const FIRST = 601;
const MINUTES_MS = 60_000;

const WAIT = "../engine/wait.ts";
const PATHS = ["drops", "reports", "signs-of-life", "values", "works"]
  .map((name) => `../engine/ocm/${name}.ts`)
  .concat(WAIT);

afterEach(() => {
  for (const path of PATHS) vi.doUnmock(path);
  vi.resetModules();
});

type Simulator = typeof import("./index.ts");

/** Some seed fails with the mutation and not without it; `known` did when this was written, and is tried first. */
async function noticed<Module extends object>(
  path: string,
  change: (original: Module) => Partial<Module>,
  known: number,
): Promise<void> {
  vi.resetModules();
  vi.doMock(path, async (importOriginal) => {
    const original = (await importOriginal()) as Module;
    return { ...original, ...change(original) };
  });
  const mutated: Simulator = await import("./index.ts");
  const image = new mutated.HubImage();
  for (const seed of [known, ...Array.from({ length: SEEDS }, (_, index) => FIRST + index)]) {
    if (!(await mutated.runSeed(seed, { image, engine: "ocm" })).failure) continue;
    vi.doUnmock(path);
    vi.resetModules();
    const sane: Simulator = await import("./index.ts");
    if ((await sane.runSeed(seed, { image: new sane.HubImage(), engine: "ocm" })).failure) continue;
    if (seed !== known)
      process.stdout.write(`seed ${known} does not notice it any more, seed ${seed} does: name that\n`);
    return;
  }
  expect.fail(`no seed up to ${FIRST + SEEDS - 1} noticed`);
}

type WaitUntil = (...args: unknown[]) => Promise<boolean>;

it("a foreign ManifestWork that is switched to Orphan and deleted at once is noticed", {
  timeout: 10 * MINUTES_MS,
}, async () => {
  await noticed<{ waitUntil: WaitUntil }>(WAIT, () => ({ waitUntil: async () => true }), 682);
});

interface Seen {
  readonly kind: string;
  readonly object?: { readonly metadata: JsonObject; readonly spec?: JsonObject; readonly status?: JsonObject };
}
type ByValues = (...args: unknown[]) => Seen;

it("a gate that believes Applied, and not the values, is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  await noticed<{ snapshotByValues: ByValues }>(
    "../engine/ocm/values.ts",
    ({ snapshotByValues }) => ({
      snapshotByValues: (...args) => {
        const seen = snapshotByValues(...args);
        if (!seen.object) return seen;
        const work = args[1] as {
          spec: { text?: string; workload: { manifests: { metadata: { annotations?: JsonObject } }[] } };
          metadata: { generation?: number };
        };
        const sent = work.spec.workload.manifests[0]?.metadata.annotations ?? {};
        const spec: JsonObject = JSON.parse(work.spec.text ?? "{}");
        const replicas = spec.replicas ?? 0;
        const counts = { replicas, readyReplicas: replicas, availableReplicas: replicas, updatedReplicas: replicas };
        const generation = seen.object.metadata.generation ?? 0;
        const status = { ...seen.object.status, ...counts, observedGeneration: generation };
        const { pods: _unread, ...rest } = seen as Seen & { pods?: unknown };
        return {
          ...rest,
          object: { ...seen.object, spec, status, metadata: { ...seen.object.metadata, annotations: sent } },
        };
      },
    }),
    601,
  );
});

it("values of an earlier write that count as the current one's are noticed", {
  timeout: 10 * MINUTES_MS,
}, async () => {
  await noticed<{ snapshotByValues: ByValues }>(
    "../engine/ocm/values.ts",
    ({ snapshotByValues }) => ({
      snapshotByValues: (...args) => {
        const seen = snapshotByValues(...args);
        if (!seen.object) return seen;
        const work = args[1] as { spec: { workload: { manifests: { metadata: { annotations?: JsonObject } }[] } } };
        const sent = work.spec.workload.manifests[0]?.metadata.annotations ?? {};
        return { ...seen, object: { ...seen.object, metadata: { ...seen.object.metadata, annotations: sent } } };
      },
    }),
    606,
  );
});

type IsThere = (report: JsonObject | undefined) => boolean | undefined;

it("values that stay after their object is gone, and count as fresh, are noticed", {
  timeout: 10 * MINUTES_MS,
}, async () => {
  await noticed<{ isThere: IsThere }>(
    "../engine/ocm/reports.ts",
    ({ isThere }) => ({
      isThere: (report) => (JSON.stringify(report ?? {}).includes("/metadata/uid") ? true : isThere(report)),
    }),
    601,
  );
});

interface Written {
  readonly spec: JsonObject;
}
type WorkFor = (...args: unknown[]) => Written;

it("a ManifestWork that takes its object with it when it goes is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  await noticed<{ workFor: WorkFor }>(
    "../engine/ocm/works.ts",
    ({ workFor }) => ({
      workFor: (...args) => {
        const work = workFor(...args);
        return { ...work, spec: { ...work.spec, deleteOption: { propagationPolicy: "Foreground" } } };
      },
    }),
    602,
  );
});

type IsApplied = (...args: unknown[]) => boolean | undefined;

it("what no agent has applied, and counts as applied, is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  await noticed<{ isApplied: IsApplied }>("../engine/ocm/reports.ts", () => ({ isApplied: () => true }), 622);
});

type SignsOfLife = new (
  ...args: never[]
) => {
  isFresh(work: unknown): boolean;
  provenMs(work: unknown): number | undefined;
};

it("the last report of a dead agent that counts forever is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  await noticed<{ SignsOfLife: SignsOfLife }>(
    "../engine/ocm/signs-of-life.ts",
    ({ SignsOfLife }) => ({
      SignsOfLife: class extends SignsOfLife {
        override isFresh(work: unknown): boolean {
          return super.isFresh(work) || this.provenMs(work) !== undefined;
        }
      },
    }),
    664,
  );
});

interface Kept {
  readonly message: string;
}
type Drops = new (...args: never[]) => { kept(...args: unknown[]): Kept | undefined };

/** A drop that counts in spite of doubts with these words. */
const despite = (words: readonly string[]) => ({
  path: "../engine/ocm/drops.ts",
  change: ({ Drops }: { Drops: Drops }) => ({
    Drops: class extends Drops {
      override kept(...args: unknown[]): Kept | undefined {
        const kept = super.kept(...args);
        return kept && words.some((each) => kept.message.includes(each)) ? undefined : kept;
      }
    },
  }),
});

it("[S19] a Placement's drop that counts as soon as its cluster is back is noticed", {
  timeout: 10 * MINUTES_MS,
}, async () => {
  const { path, change } = despite(["the hub is read again", "decided before"]);
  await noticed<{ Drops: Drops }>(path, change, 625);
});

it("[S19] a Placement's drop that counts after a settling time alone is noticed", {
  timeout: 10 * MINUTES_MS,
}, async () => {
  const { path, change } = despite(["decided before"]);
  await noticed<{ Drops: Drops }>(path, change, 656);
});
