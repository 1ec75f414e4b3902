/** Replicas over clusters that are lost, return and fall ill at any moment, with pods that start late. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { emptyLedger } from "../ledger.ts";
import { plan } from "../plan.ts";
import { baseShares } from "../replicas.ts";
import type { ClusterSeen, Division, Intent, Ledger, ObjectSeen, Seen } from "../types.ts";
import type { Planner } from "./world.ts";

const CLUSTERS = ["a", "b", "c"];
const KEY = "Deployment/web";
const STAGES = [{ kind: "apply", title: "objects", objects: [KEY] }] as const;
const SECOND_MS = 1000;
const FAILOVER = { afterSeconds: 20, unhealthyAfterSeconds: 50 };
/** More than any deadline, soak or return of this world. */
const LONG_SECONDS = 700;

type Act =
  | {
      readonly kind: "lose" | "return" | "fall ill" | "recover" | "start a pod" | "stop a pod";
      readonly cluster: string;
    }
  | { readonly kind: "wait"; readonly seconds: number }
  | { readonly kind: "total"; readonly total: number }
  /** What another scheduler decides; without shares: it does not say. */
  | { readonly kind: "schedule"; readonly shares?: readonly number[] }
  | { readonly kind: "edit"; readonly revision: string };

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({
    kind: fc.constantFrom("lose", "return", "fall ill", "recover", "start a pod", "start a pod", "stop a pod"),
    cluster: fc.constantFrom(...CLUSTERS),
  }) as fc.Arbitrary<Act>,
  fc.record({ kind: fc.constant("wait"), seconds: fc.constantFrom(1, 19, 20, 50, 600) }) as fc.Arbitrary<Act>,
  fc.record({ kind: fc.constant("total"), total: fc.integer({ min: 0, max: 12 }) }) as fc.Arbitrary<Act>,
  fc.record({
    kind: fc.constant("schedule"),
    shares: fc.option(fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 3, maxLength: 3 }), { nil: undefined }),
  }) as fc.Arbitrary<Act>,
  fc.record({ kind: fc.constant("edit"), revision: fc.constantFrom("A", "B") }) as fc.Arbitrary<Act>,
);

class Fleet {
  readonly #planner: Planner;
  ledger: Ledger = emptyLedger();
  total = 6;
  #division: Division | undefined;
  #revision = "A";
  #nowMs = 0;
  readonly #lostAtMs = new Map<string, number>();
  readonly #ill = new Set<string>();
  /** The grant that each member has received, and how many pods are ready there. */
  readonly #told = new Map<string, { readonly epoch: number; readonly replicas: number }>();
  readonly #ready = new Map<string, number>();

  constructor(planner: Planner) {
    this.#planner = planner;
  }

  do(each: Act): void {
    switch (each.kind) {
      case "wait":
        this.#nowMs += each.seconds * SECOND_MS;
        break;
      case "total":
        this.total = each.total;
        this.#division = undefined;
        break;
      case "schedule":
        this.#schedule(each.shares);
        break;
      case "edit":
        this.#revision = each.revision;
        break;
      case "lose":
        if (!this.#lostAtMs.has(each.cluster)) this.#lostAtMs.set(each.cluster, this.#nowMs);
        break;
      case "return":
        this.#lostAtMs.delete(each.cluster);
        break;
      case "fall ill":
        this.#ill.add(each.cluster);
        this.#ready.set(each.cluster, 0);
        break;
      case "recover":
        this.#ill.delete(each.cluster);
        break;
      default: {
        const { replicas = 0 } = this.#told.get(each.cluster) ?? {};
        const now = this.#ready.get(each.cluster) ?? 0;
        const isUp = each.kind === "start a pod" && !this.#ill.has(each.cluster);
        this.#ready.set(each.cluster, isUp ? Math.min(replicas, now + 1) : Math.max(0, now - 1));
      }
    }
  }

  #schedule(shares: readonly number[] | undefined): void {
    if (!shares) {
      this.#division = { kind: "unknown", message: "it is down" };
      return;
    }
    this.total = shares.reduce((sum, each) => sum + each, 0);
    this.#division = { kind: "known", shares: Object.fromEntries(CLUSTERS.map((each, at) => [each, shares[at] ?? 0])) };
  }

  /** Plans once and tells every cluster that can be reached. Returns what went wrong. */
  plan(): string | undefined {
    const before = this.ledger;
    this.ledger = this.#planner(this.#intent(), before, this.#seen(), this.#nowMs).ledger;
    const shares = (of: Ledger, cluster: string) => of.clusters[cluster]?.grant?.replicas[KEY];
    const serving = (of: Ledger) =>
      CLUSTERS.filter((cluster) => !this.#lostAtMs.has(cluster)).reduce(
        (sum, cluster) =>
          sum + Math.min(this.#ready.get(cluster) ?? 0, shares(of, cluster) ?? Number.POSITIVE_INFINITY),
        0,
      );
    const [had, has] = [serving(before), serving(this.ledger)];
    for (const [cluster, { grant }] of Object.entries(this.ledger.clusters)) {
      if (!grant || this.#lostAtMs.has(cluster)) continue;
      const replicas = grant.replicas[KEY] ?? 0;
      this.#told.set(cluster, { epoch: grant.epoch, replicas });
      this.#ready.set(cluster, Math.min(this.#ready.get(cluster) ?? 0, replicas));
    }
    if (has < had && has < this.total) return `${had} replicas were ready, ${has} are left, ${this.total} are wanted`;
    return undefined;
  }

  /** Everything is well, and nothing happens any more. Returns what went wrong. */
  rest(): string | undefined {
    if (this.#division?.kind === "unknown") this.do({ kind: "schedule", shares: [1, 2, 3] });
    for (const cluster of CLUSTERS) {
      this.do({ kind: "return", cluster });
      this.do({ kind: "recover", cluster });
    }
    for (let turn = 0; turn < 12; turn++) {
      for (let each = 0; each < 40; each++) {
        const wrong = this.plan();
        if (wrong !== undefined) return wrong;
        for (const cluster of CLUSTERS) this.do({ kind: "start a pod", cluster });
      }
      this.do({ kind: "wait", seconds: LONG_SECONDS });
    }
    const found = Object.fromEntries(
      CLUSTERS.map((cluster) => [cluster, this.ledger.clusters[cluster]?.grant?.replicas[KEY]]),
    );
    const wanted =
      this.#division?.kind === "known"
        ? this.#division.shares
        : Object.fromEntries(baseShares(CLUSTERS, { total: this.total }));
    return JSON.stringify(found) === JSON.stringify(wanted)
      ? undefined
      : `it rests with ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`;
  }

  #intent(): Intent {
    return {
      revision: { kind: "known", id: this.#revision },
      clusters: { kind: "known", names: CLUSTERS },
      leave: "Teardown",
      rollout: {
        maxUnavailableClusters: 1,
        waves: [],
        soakSeconds: 0,
        paused: false,
        progressDeadlineSeconds: 100,
        onFailure: "Rollback",
        window: { open: true },
      },
      requests: { approvals: [] },
      divided: [
        {
          key: KEY,
          object: KEY,
          total: this.total,
          failover: FAILOVER,
          ...(this.#division && { division: this.#division }),
        },
      ],
      stages: (_revision, _cluster, mode) =>
        mode === "Delete" ? [{ kind: "remove", title: "removing", tier: 0 }] : STAGES,
    };
  }

  #seen(): Seen {
    const clusters: Record<string, ClusterSeen> = {};
    const fleet: Record<string, Seen["fleet"][string]> = {};
    for (const cluster of CLUSTERS) {
      const sinceMs = this.#lostAtMs.get(cluster);
      fleet[cluster] = sinceMs === undefined ? { state: "Ready" } : { state: "NotReady", sinceMs };
      if (sinceMs === undefined) clusters[cluster] = { left: [0], leftovers: 0, object: () => this.#object(cluster) };
    }
    return { fleet, clusters };
  }

  #object(cluster: string): ObjectSeen {
    const told = this.#told.get(cluster);
    if (!told) return { dispatched: "none", epoch: 0, live: { kind: "unknown" } };
    const ready = this.#ready.get(cluster) ?? 0;
    const health = ready >= told.replicas && !this.#ill.has(cluster) ? "Complete" : "Progressing";
    const { epoch } = told;
    return { dispatched: "wanted", epoch, live: { kind: "present", epoch, observed: true, health, ready } };
  }
}

function walk(planner: Planner, acts: readonly Act[]): string | undefined {
  const fleet = new Fleet(planner);
  for (const each of acts) {
    fleet.do(each);
    const wrong = fleet.plan();
    if (wrong !== undefined) return wrong;
  }
  return fleet.rest();
}

const walks = (planner: Planner) =>
  fc.property(fc.array(act, { maxLength: 60 }), (acts) => {
    expect(walk(planner, acts)).toBeUndefined();
  });

describe("replicas over clusters that are lost, return and fall ill", () => {
  it("[A16] [A17] [A18] [A28] are never fewer by a decision, and rest where they belong when all is well", () => {
    fc.assert(walks(plan), { numRuns: 100, seed: 20 });
  });

  it("are found to be taken away too early by a planner that counts pods that are not ready", () => {
    const hasty: Planner = (intent, ledger, seen, nowMs) => {
      const clusters = Object.entries(seen.clusters).map(([name, cluster]): [string, ClusterSeen] => {
        const object = (key: string): ObjectSeen => {
          const found = cluster.object(key);
          const ready = ledger.clusters[name]?.grant?.replicas[KEY] ?? 0;
          return found.live.kind === "present" ? { ...found, live: { ...found.live, ready } } : found;
        };
        return [name, { ...cluster, object }];
      });
      return plan(intent, ledger, { ...seen, clusters: Object.fromEntries(clusters) }, nowMs);
    };
    expect(fc.check(walks(hasty), { numRuns: 300, seed: 20 }).failed).toBe(true);
  });
});
