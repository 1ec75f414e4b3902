import { afterEach, expect, it, vi } from "vitest";
import type { Dispatched, DispatchOrder, EngineApp, KarmadaEngineOptions, MemberAccess } from "../engine/index.ts";
import type { KubeObject } from "../kube/index.ts";
import type { Intent, Ledger, Observation } from "../plan/index.ts";
import type { WindowState } from "../rollout/index.ts";

/** Each mutant must be noticed within this many seeds. */
const SEEDS = 500;
const MINUTES_MS = 60_000;
/** Seeds that pass topologies by reference. */
const REFERENCES_SEED = 104;
const REFERENCES_TIDIED_SEED = 55;

afterEach(() => {
  for (const path of MOCKED) vi.doUnmock(path);
  vi.resetModules();
});

type Simulator = typeof import("./index.ts");

/**
 * Some seed fails with the mutation, and not without it. `known` noticed it when this was written and is tried first;
 * if the code has changed and it does not any more, the others are tried.
 */
async function noticed(known: number, engineOf?: MutantEngine): Promise<void> {
  const mutated: Simulator = await import("./index.ts");
  const { KarmadaEngine } = await import("../engine/index.ts");
  const seams = engineOf ? { engine: engineOf(KarmadaEngine) } : {};
  for (const path of MOCKED) vi.doUnmock(path);
  vi.resetModules();
  const sane: Simulator = await import("./index.ts");
  const images = [new mutated.HubImage(), new sane.HubImage()] as const;
  for (const seed of [known, ...Array.from({ length: SEEDS }, (_, index) => index + 1)]) {
    if (!(await mutated.runSeed(seed, { image: images[0], seams })).failure) continue;
    if ((await sane.runSeed(seed, { image: images[1] })).failure) continue;
    if (seed !== known)
      process.stdout.write(`seed ${known} does not notice it any more, seed ${seed} does: name that\n`);
    return;
  }
  expect.fail(`no seed up to ${SEEDS} noticed`);
}

type EngineClass = typeof import("../engine/index.ts").KarmadaEngine;
type MutantEngine = (base: EngineClass) => (options: KarmadaEngineOptions) => InstanceType<EngineClass>;

const MOCKED = [
  "../plan/limits/budget.ts",
  "../plan/limits/quorum.ts",
  "../plan/membership/desired.ts",
  "../plan/evidence/leader.ts",
  "../rollout/windows.ts",
  "../controllers/statefulset/observe/observe.ts",
  "../controllers/statefulset/ledger/ledger-store.ts",
  "../controllers/statefulset/act/tidy.ts",
];

function mutate<Module extends object>(path: string, change: (original: Module) => Partial<Module>): void {
  vi.resetModules();
  vi.doMock(path, async (importOriginal) => {
    const original = (await importOriginal()) as Module;
    return { ...original, ...change(original) };
  });
}

type Observe = (...args: unknown[]) => Observation;

it("a budget that allows everything is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ fitsBudget: () => boolean }>("../plan/limits/budget.ts", () => ({ fitsBudget: () => true }));
  await noticed(4);
});

interface DraftSeen {
  readonly order: readonly string[];
  readonly views: ReadonlyMap<string, { readonly reach: string; readonly unavailable: number }>;
  entry(cluster: string): { readonly turn: string };
}
type TallyClass = new (draft: DraftSeen, maxUnavailable: number) => { unavailable: number };

it("a budget that ignores unplanned failures is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ Tally: TallyClass }>("../plan/limits/quorum.ts", ({ Tally }) => ({
    Tally: class extends Tally {
      constructor(draft: DraftSeen, maxUnavailable: number) {
        super(draft, maxUnavailable);
        for (const cluster of draft.order) {
          const view = draft.views.get(cluster);
          if (draft.entry(cluster).turn === "none" && view?.reach === "ready") this.unavailable -= view.unavailable;
        }
      }
    },
  }));
  await noticed(184);
});

it("a majority of one is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ majorityOf: () => number }>("../plan/limits/quorum.ts", () => ({ majorityOf: () => 1 }));
  mutate<{ fitsBudget: () => boolean }>("../plan/limits/budget.ts", () => ({ fitsBudget: () => true }));
  await noticed(4);
});

it("a gate that accepts an old status as a new one is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ observe: Observe }>("../controllers/statefulset/observe/observe.ts", ({ observe }) => ({
    observe: (...args) => {
      const seen = observe(...args);
      return seen.kind === "present" ? { ...seen, observedGeneration: seen.generation } : seen;
    },
  }));
  await noticed(107);
});

it("a gate that reads the hub's request instead of the member's state is noticed", {
  timeout: 10 * MINUTES_MS,
}, async () => {
  mutate<{ observe: Observe }>("../controllers/statefulset/observe/observe.ts", ({ observe }) => ({
    observe: (...args) => {
      const seen = observe(...args);
      if (seen.kind !== "present") return seen;
      const replicas = seen.live.replicas ?? 0;
      const counts = { replicas, ready: replicas, available: replicas, updated: replicas, terminating: 0 };
      const report = seen.report && { ...seen.report, desired: replicas, ready: replicas, updated: replicas };
      return { ...seen, counts, health: "healthy", ...(report && { report: { ...report, phase: "Done" as const } }) };
    },
  }));
  await noticed(2);
});

it("a terminating pod that counts as ready is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ observe: Observe }>("../controllers/statefulset/observe/observe.ts", ({ observe }) => ({
    observe: (...args) => {
      const seen = observe(...args);
      if (seen.kind !== "present" || !seen.instances) return seen;
      return { ...seen, instances: seen.instances.map((instance) => ({ ...instance, terminating: false })) };
    },
  }));
  await noticed(401);
});

it("an unreadable cluster that counts as empty is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ observe: Observe }>("../controllers/statefulset/observe/observe.ts", ({ observe }) => ({
    observe: (...args) => {
      const seen = observe(...args);
      return seen.kind === "unreachable" ? { kind: "absent" } : seen;
    },
  }));
  await noticed(4);
});

it("a lost cluster that is drained like any other is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ desiredOf: (draft: { readonly intent: Intent }) => ReadonlyMap<string, number> | undefined }>(
    "../plan/membership/desired.ts",
    () => ({
      desiredOf: ({ intent: { schedule } }) => {
        if (schedule.kind === "unknown") return undefined;
        return new Map(schedule.clusters.map(({ cluster, replicas }) => [cluster, replicas]));
      },
    }),
  );
  await noticed(47);
});

it("a leader whose cluster does not go last is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ leaderOf: () => { readonly kind: "none" } }>("../plan/evidence/leader.ts", () => ({
    leaderOf: () => ({ kind: "none" }),
  }));
  await noticed(46);
});

it("a window that is always open is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ windowState: () => WindowState }>("../rollout/windows.ts", () => ({ windowState: () => ({ open: true }) }));
  await noticed(79);
});

it("a leader that creates what it has not reserved is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  vi.resetModules();
  await noticed(1, (KarmadaEngine) => (options) => {
    class Hasty extends KarmadaEngine {
      override async reserve(): Promise<readonly Dispatched[]> {
        return [];
      }
    }
    return new Hasty(options);
  });
});

interface State {
  readonly ledger: Ledger;
  readonly revisions: readonly unknown[];
}

interface Stored extends State {
  readonly term: number;
  readonly object: KubeObject;
}

interface Store {
  write(stored: Stored, state: State): Promise<Stored>;
}

type StoreClass = new (...args: never[]) => Store;

it("a ledger that is written after the dispatch is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ LedgerStore: StoreClass }>("../controllers/statefulset/ledger/ledger-store.ts", ({ LedgerStore }) => {
    class Late extends LedgerStore {
      override async write(stored: Stored, state: State): Promise<Stored> {
        // One write behind: the current decision is stored with the next one.
        if (JSON.stringify(stored.object.spec).includes(JSON.stringify(stored.ledger))) return { ...stored, ...state };
        return { ...(await super.write(stored, stored)), ...state };
      }
    }
    return { LedgerStore: Late };
  });
  await noticed(7);
});

it("a leader of an earlier term that continues to write is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ LedgerStore: StoreClass }>("../controllers/statefulset/ledger/ledger-store.ts", ({ LedgerStore }) => {
    class Stale extends LedgerStore {
      override async write(stored: Stored, state: State): Promise<Stored> {
        try {
          return await super.write(stored, state);
        } catch (error) {
          if (!(error instanceof Error) || error.name !== "SupersededError") throw error;
          return { ...stored, ...state };
        }
      }
    }
    return { LedgerStore: Stale };
  });
  await noticed(69, withoutSwap);
});

/** The existing state counts as expected, regardless of its writer. */
const withoutSwap: MutantEngine = (KarmadaEngine) => (options) => {
  class Careless extends KarmadaEngine {
    override async dispatch(app: EngineApp, order: DispatchOrder): Promise<Dispatched> {
      const { kind, metadata } = order.manifest;
      const found = (await this.readDispatched(app)).find(
        ({ cluster, ref }) => cluster === order.cluster && ref.kind === kind && ref.name === metadata.name,
      );
      const term = Math.max(order.term, found?.term ?? 0);
      return super.dispatch(app, { ...order, term, expected: found ?? null });
    }

    override async stamp(app: EngineApp): Promise<readonly Dispatched[]> {
      return this.readDispatched(app);
    }
  }
  return new Careless(options);
};

it("a hold that is given up is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  vi.resetModules();
  await noticed(7, (KarmadaEngine) => (options) => {
    class Loose extends KarmadaEngine {
      override async hold(app: EngineApp): ReturnType<InstanceType<EngineClass>["hold"]> {
        const state = await super.hold(app);
        await super.unhold(app);
        return state;
      }
    }
    return new Loose(options);
  });
});

it("a grant that is written again without a new epoch is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  vi.resetModules();
  await noticed(3, (KarmadaEngine) => (options) => {
    class Repeating extends KarmadaEngine {
      override async dispatch(app: EngineApp, order: DispatchOrder): Promise<Dispatched> {
        const key = "crossclusterstatefulset.karmada.io/epoch";
        const { metadata } = order.manifest;
        const annotations = { ...metadata.annotations, [key]: "1" };
        return super.dispatch(app, {
          ...order,
          manifest: { ...order.manifest, metadata: { ...metadata, annotations } },
        });
      }
    }
    return new Repeating(options);
  });
});

it("[I21] a grant that refers to something dispatched but not seen is noticed", {
  timeout: 10 * MINUTES_MS,
}, async () => {
  vi.resetModules();
  await noticed(REFERENCES_SEED, (KarmadaEngine) => (options) => {
    class Trusting extends KarmadaEngine {
      override member(cluster: string): MemberAccess {
        const member = super.member(cluster);
        member.holds = async () => ({ kind: "held" });
        return member;
      }
    }
    return new Trusting(options);
  });
});

type Tidy = (object: unknown, session: unknown, result: { ledger: Ledger }, ...rest: unknown[]) => Promise<void>;

it("[I22] the early removal of what the previous grant refers to is noticed", {
  timeout: 10 * MINUTES_MS,
}, async () => {
  mutate<{ tidy: Tidy }>("../controllers/statefulset/act/tidy.ts", ({ tidy }) => ({
    tidy: (object, session, result, ...rest) => {
      const entries = Object.entries(result.ledger.clusters).map(([name, entry]) => {
        return [name, { ...entry, done: true, ackedAtMs: 0, baseRevision: null }] as const;
      });
      const ledger = { ...result.ledger, clusters: Object.fromEntries(entries) };
      return tidy(object, session, { ...result, ledger }, ...rest);
    },
  }));
  await noticed(REFERENCES_TIDIED_SEED);
});
