import { afterEach, expect, test, vi } from "vitest";
import type { WindowState } from "../api/index.ts";
import type { Dispatched, DispatchOrder, EngineApp, KarmadaEngineOptions } from "../engine/index.ts";
import type { KubeObject } from "../kube/index.ts";
import type { Intent, Ledger, Observation } from "../plan/index.ts";

/** Each mutant must be noticed within so many seeds. */
const SEEDS = 500;
const MINUTES_MS = 60_000;

afterEach(() => {
  for (const path of MOCKED) vi.doUnmock(path);
  vi.resetModules();
});

type Simulator = typeof import("./index.ts");

/**
 * Some seed fails with the mutation, and not without it. `known` noticed it when this was written and is tried first; when
 * code has moved on and it does not any more, the others are.
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
    if (!(await sane.runSeed(seed, { image: images[1] })).failure) return;
  }
  expect.fail(`no seed up to ${SEEDS} noticed`);
}

type EngineClass = typeof import("../engine/index.ts").KarmadaEngine;
type MutantEngine = (base: EngineClass) => (options: KarmadaEngineOptions) => InstanceType<EngineClass>;

const MOCKED = [
  "../plan/budget.ts",
  "../plan/quorum.ts",
  "../plan/desired.ts",
  "../plan/leader.ts",
  "../api/windows.ts",
  "../controllers/statefulset/observe.ts",
  "../controllers/statefulset/ledger-store.ts",
];

function mutate<Module extends object>(path: string, change: (original: Module) => Partial<Module>): void {
  vi.resetModules();
  vi.doMock(path, async (importOriginal) => {
    const original = (await importOriginal()) as Module;
    return { ...original, ...change(original) };
  });
}

type Observe = (...args: unknown[]) => Observation;

test("a budget that lets everything pass is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ fitsBudget: () => boolean }>("../plan/budget.ts", () => ({ fitsBudget: () => true }));
  await noticed(4);
});

interface DraftSeen {
  readonly order: readonly string[];
  readonly views: ReadonlyMap<string, { readonly reach: string; readonly unavailable: number }>;
  entry(cluster: string): { readonly turn: string };
}
type TallyClass = new (draft: DraftSeen, maxUnavailable: number) => { unavailable: number };

test("a budget that forgets what is down by accident is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ Tally: TallyClass }>("../plan/quorum.ts", ({ Tally }) => ({
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

test("a majority of one is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ majorityOf: () => number }>("../plan/quorum.ts", () => ({ majorityOf: () => 1 }));
  mutate<{ fitsBudget: () => boolean }>("../plan/budget.ts", () => ({ fitsBudget: () => true }));
  await noticed(4);
});

test("a gate that takes an old status for a new one is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ observe: Observe }>("../controllers/statefulset/observe.ts", ({ observe }) => ({
    observe: (...args) => {
      const seen = observe(...args);
      return seen.kind === "present" ? { ...seen, observedGeneration: seen.generation } : seen;
    },
  }));
  await noticed(8);
});

test("a gate that reads what the hub asked for is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ observe: Observe }>("../controllers/statefulset/observe.ts", ({ observe }) => ({
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

test("a pod that is going away and counts as ready is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ observe: Observe }>("../controllers/statefulset/observe.ts", ({ observe }) => ({
    observe: (...args) => {
      const seen = observe(...args);
      if (seen.kind !== "present" || !seen.instances) return seen;
      return { ...seen, instances: seen.instances.map((instance) => ({ ...instance, terminating: false })) };
    },
  }));
  await noticed(401);
});

test("a cluster that cannot be read and is taken for empty is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ observe: Observe }>("../controllers/statefulset/observe.ts", ({ observe }) => ({
    observe: (...args) => {
      const seen = observe(...args);
      return seen.kind === "unreachable" ? { kind: "absent" } : seen;
    },
  }));
  await noticed(4);
});

test("a lost cluster that is drained like any other is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ desiredOf: (draft: { readonly intent: Intent }) => ReadonlyMap<string, number> | undefined }>(
    "../plan/desired.ts",
    () => ({
      desiredOf: ({ intent: { schedule } }) => {
        if (schedule.kind === "unknown") return undefined;
        return new Map(schedule.clusters.map(({ cluster, replicas }) => [cluster, replicas]));
      },
    }),
  );
  await noticed(47);
});

test("a leader whose cluster does not go last is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ leaderOf: () => { readonly kind: "none" } }>("../plan/leader.ts", () => ({
    leaderOf: () => ({ kind: "none" }),
  }));
  await noticed(46);
});

test("a window that is always open is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ windowState: () => WindowState }>("../api/windows.ts", () => ({ windowState: () => ({ open: true }) }));
  await noticed(79);
});

test("a leader that makes what it has not reserved is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  vi.resetModules();
  await noticed(690, (KarmadaEngine) => (options) => {
    class Hasty extends KarmadaEngine {
      override async reserve(): Promise<readonly Dispatched[]> {
        return [];
      }
    }
    return new Hasty(options);
  });
});

interface Stored {
  ledger: Ledger;
  term: number;
  object: KubeObject;
}

interface Store {
  write(stored: Stored, ledger: Ledger): Promise<Stored>;
}

type StoreClass = new (...args: never[]) => Store;

test("a ledger that is written after what it decided is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ LedgerStore: StoreClass }>("../controllers/statefulset/ledger-store.ts", ({ LedgerStore }) => {
    class Late extends LedgerStore {
      override async write(stored: Stored, ledger: Ledger): Promise<Stored> {
        // One write behind: what was decided now is stored with the next decision.
        if (JSON.stringify(stored.object.spec).includes(JSON.stringify(stored.ledger))) return { ...stored, ledger };
        return { ...(await super.write(stored, stored.ledger)), ledger };
      }
    }
    return { LedgerStore: Late };
  });
  await noticed(7);
});

test("a leader of an earlier term that writes on is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  mutate<{ LedgerStore: StoreClass }>("../controllers/statefulset/ledger-store.ts", ({ LedgerStore }) => {
    class Stale extends LedgerStore {
      override async write(stored: Stored, ledger: Ledger): Promise<Stored> {
        try {
          return await super.write(stored, ledger);
        } catch (error) {
          if (!(error instanceof Error) || error.name !== "SupersededError") throw error;
          return { ...stored, ledger };
        }
      }
    }
    return { LedgerStore: Stale };
  });
  await noticed(87, withoutSwap);
});

/** Whatever is there is what was expected, whoever wrote it. */
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

test("a hold that is given up is noticed", { timeout: 10 * MINUTES_MS }, async () => {
  vi.resetModules();
  await noticed(3, (KarmadaEngine) => (options) => {
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

test("a grant that is written again without a new epoch is noticed", { timeout: 10 * MINUTES_MS }, async () => {
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
