/** Mistakes in the controller of CrossClusterJob: each must be noticed in the whole system. */
import { afterEach, describe, expect, it, vi } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import { FIRST_FORGETFUL_SEED, FIRST_SHAPED_SEED } from "./shape.ts";

const SEEDS = 300;
const MINUTES_MS = 60_000;
const JOB_CONTROLLER = "../../controllers/job";
const KARMADA_ENGINE = "../../engine/karmada";

type Simulator = typeof import("../index.ts");

/** What a plan in the making has for a rule. */
interface Draft {
  readonly attempts: readonly { readonly outcome: unknown }[];
  update(attempt: { readonly outcome: unknown }, change: JsonObject): void;
}

interface Mutant {
  readonly path: string;
  readonly change: (original: Record<string, unknown>) => Record<string, unknown>;
  /** A seed that noticed it when this was written; it is tried first. */
  readonly known: number;
}

type Plain = (...args: unknown[]) => JsonObject;

/** Replaces what a function returns. */
function returning(name: string, change: (result: JsonObject) => unknown): Mutant["change"] {
  return (original) => ({ [name]: (...args: unknown[]) => change((original[name] as Plain)(...args)) });
}

const MUTANTS: Readonly<Record<string, Mutant>> = {
  "does not wait for clocks and grace periods": {
    path: `${JOB_CONTROLLER}/observe/intent.ts`,
    change: returning("jobIntentOf", (intent) => ({ ...intent, graceMs: 0, allowanceMs: 0 })),
    known: 1,
  },
  "treats the work of a lost cluster as over": {
    path: `${JOB_CONTROLLER}/observe/intent.ts`,
    change: returning("jobIntentOf", (intent) => ({ ...intent, guarantee: "AtLeastOnce" })),
    known: 15,
  },
  "does not look for pods that are going away": {
    path: `${JOB_CONTROLLER}/observe/observe.ts`,
    change: returning("takeJobMoment", (moment) => {
      const seen = moment.seen as JsonObject & { attempts: Record<string, JsonObject> };
      const blind = (each: JsonObject) => ({ ...each, active: 0, terminating: 0 });
      const attempts = Object.fromEntries(Object.entries(seen.attempts).map(([key, each]) => [key, blind(each)]));
      return { ...moment, seen: { ...seen, attempts } };
    }),
    known: 118,
  },
  "lets a Job run before its uid was read": {
    path: `${JOB_CONTROLLER}/act/render.ts`,
    change: returning("renderAttempt", (manifest) => {
      const spec = manifest.spec as JsonObject;
      return { ...manifest, spec: { ...spec, parallelism: spec.activeDeadlineSeconds === 1 ? 0 : 1 } };
    }),
    known: 3,
  },
  "believes that every order to stop stands": {
    path: `${JOB_CONTROLLER}/observe/observe.ts`,
    change: returning("takeJobMoment", (moment) => {
      const seen = moment.seen as JsonObject;
      const attempts = Object.entries(seen.attempts as Record<string, JsonObject>);
      const orderedStop = new Set(attempts.map(([number]) => Number(number)));
      const stopped = attempts.map(([key, each]) => [key, { ...each, deadlineSeconds: 1 }]);
      return { ...moment, seen: { ...seen, orderedStop, attempts: Object.fromEntries(stopped) } };
    }),
    known: 125,
  },
  "counts a deadline from the first moment, whenever the Job starts": {
    path: `${JOB_CONTROLLER}/observe/observe.ts`,
    change: returning("takeJobMoment", (moment) => {
      const seen = moment.seen as JsonObject & { attempts: Record<string, JsonObject> };
      const timeless = ({ isSuspended: _unread, ...each }: JsonObject) => ({ ...each, startTime: "always" });
      const attempts = Object.fromEntries(Object.entries(seen.attempts).map(([key, each]) => [key, timeless(each)]));
      return { ...moment, seen: { ...seen, attempts } };
    }),
    known: 172,
  },
  "pins a Job by nothing that Karmada delivers": {
    path: `${KARMADA_ENGINE}/works.ts`,
    change: returning("workFor", (work) => {
      const spec = work.spec as JsonObject & { workload: { manifests: JsonObject[] } };
      const manifests = spec.workload.manifests.map((manifest) => ({
        ...manifest,
        spec: { ...(manifest.spec as JsonObject), selector: undefined },
      }));
      return { ...work, spec: { ...spec, workload: { manifests } } };
    }),
    known: 89,
  },
  "gives an attempt what others have done or hold": {
    path: "../../jobs/work.ts",
    change: (original) => ({
      nextShare: (...args: unknown[]) => {
        const share = (original.nextShare as (...args: unknown[]) => JsonObject | undefined)(...args);
        const { total } = args[0] as { total: number };
        if (share?.kind === "indexes") return { ...share, indexes: `0-${total - 1}` };
        return share?.kind === "count" ? { ...share, count: total } : share;
      },
    }),
    known: 100_013,
  },
  "forgets what an attempt had done when it is over": {
    path: "../../jobs/evidence.ts",
    change: (original) => ({
      readAttempts: (draft: Draft) => {
        (original.readAttempts as (draft: Draft) => void)(draft);
        const done = { succeeded: 0, failed: 0, indexes: "" };
        for (const attempt of draft.attempts) if (attempt.outcome) draft.update(attempt, { done });
      },
    }),
    known: 100_013,
  },
  "rebuilds a lost ledger without the status": {
    path: `${JOB_CONTROLLER}/recover.ts`,
    change: (original) => ({ ...original, recovered: (ledger: unknown) => ledger }),
    known: 200_005,
  },
  "does not note on the hub that a Job is suspended in its cluster": {
    path: `${JOB_CONTROLLER}/ledger.ts`,
    change: (original) => ({
      grantText: (attempt: JsonObject) => {
        const { isHeld: _unsaid, ...rest } = attempt;
        return (original.grantText as (attempt: JsonObject) => string)(rest);
      },
    }),
    known: 200_087,
  },
  "never sends the order to stop": {
    path: `${JOB_CONTROLLER}/act/render.ts`,
    change: returning("renderAttempt", (manifest) => {
      const spec = manifest.spec as JsonObject;
      return spec.activeDeadlineSeconds === 1
        ? { ...manifest, spec: { ...spec, parallelism: 1, activeDeadlineSeconds: 9_999 } }
        : manifest;
    }),
    known: 26,
  },
};

afterEach(() => {
  for (const { path } of Object.values(MUTANTS)) vi.doUnmock(path);
  vi.resetModules();
});

describe.each(Object.entries(MUTANTS))("a controller that %s", (_, { path, change, known }) => {
  it("is noticed in the whole system", { timeout: 10 * MINUTES_MS }, async () => {
    vi.resetModules();
    vi.doMock(path, async (importOriginal) => {
      const original = (await importOriginal()) as Record<string, unknown>;
      return { ...original, ...change(original) };
    });
    const mutated: Simulator = await import("../index.ts");
    const image = new mutated.HubImage();
    const first = [FIRST_FORGETFUL_SEED, FIRST_SHAPED_SEED].find((each) => known >= each) ?? 1;
    for (const seed of [known, ...Array.from({ length: SEEDS }, (_unused, index) => first + index)]) {
      const { failure } = await mutated.runJobSeed(seed, { image });
      if (!failure || !/alive|again/.test(failure.property)) continue;
      if (seed !== known)
        process.stdout.write(`seed ${known} does not notice it, seed ${seed} does: name that. ${failure.message}\n`);
      vi.doUnmock(path);
      vi.resetModules();
      const sane: Simulator = await import("../index.ts");
      expect((await sane.runJobSeed(seed, { image: new sane.HubImage() })).failure).toBeUndefined();
      return;
    }
    expect.fail(`no seed up to ${SEEDS} noticed`);
  });
});
