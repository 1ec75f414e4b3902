import { beforeEach, describe, expect, it } from "vitest";
import type { Engine, NamespaceLimits, Snapshot } from "../../../engine/index.ts";
import { emptyLedger, type Ledger, type PlanResult } from "../../../plan/index.ts";
import { VirtualClock } from "../../../runtime/testing/virtual-clock.ts";
import type { Subject } from "../subject.ts";
import { Quotas } from "./quotas.ts";

const FULL: NamespaceLimits = {
  quotas: [{ apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "full" } }],
  limitRanges: [],
};

let clock: VirtualClock;
let limits: NamespaceLimits | undefined;
let reads: string[];
let quotas: Quotas;
beforeEach(() => {
  clock = new VirtualClock();
  limits = FULL;
  reads = [];
  const member = (cluster: string) => ({
    limits: async (namespace: string) => {
      reads.push(`${cluster}/${namespace}`);
      return limits;
    },
  });
  quotas = new Quotas({ member } as unknown as Engine, clock);
});

function subject(key = "shop/db"): Subject {
  return { key, app: { template: { namespace: "shop" } } } as unknown as Subject;
}

function ledgerWith(replicas: number): Ledger {
  return { ...emptyLedger(), clusters: { a: { grant: { replicas } } } } as unknown as Ledger;
}

function planned(replicas: number, ...waiting: string[]): PlanResult {
  return {
    ledger: ledgerWith(replicas),
    waiting: waiting.map((code) => ({ code, cluster: "a" })),
  } as unknown as PlanResult;
}

const absent: Snapshot = { kind: "absent", atMs: 0 };
const moment = (snapshot: Snapshot = absent) => ({ members: new Map([["a", snapshot]]) });
const ask = (before: number, result: PlanResult, of = subject()) =>
  quotas.ask(of, moment(), ledgerWith(before), result);

describe("quotas in members", () => {
  it("are read before instances are added, and for nothing else: an update waits for no quota", async () => {
    expect(await ask(2, planned(2))).toBe(false);
    expect(await ask(2, planned(1))).toBe(false);
    expect(reads).toEqual([]);
    expect(await ask(2, planned(3))).toBe(true);
    expect(reads).toEqual(["a/shop"]);
    expect(quotas.known("shop/db")).toEqual(new Map([["a", FULL]]));
    expect(await ask(2, planned(3))).toBe(false);
  });

  it("let instances be added once: the next growth reads again", async () => {
    await ask(2, planned(3));
    quotas.used("shop/db", planned(3));
    expect(quotas.known("shop/db").size).toBe(0);
    expect(await ask(3, planned(4))).toBe(true);
  });

  it("that were read too long ago are read again", async () => {
    await ask(2, planned(3));
    await clock.advance(15_001);
    expect(quotas.known("shop/db").size).toBe(0);
    expect(await ask(2, planned(3))).toBe(true);
  });

  it("that refuse are kept for ten seconds, so that an application that waits does not read all the time", async () => {
    await ask(2, planned(3));
    quotas.used("shop/db", planned(2, "NoRoom"));
    expect(quotas.known("shop/db").size).toBe(1);
    await clock.advance(10_001);
    quotas.used("shop/db", planned(2, "NoRoom"));
    expect(quotas.known("shop/db").size).toBe(0);
  });

  it("that cannot be read are not waited for, and asked for again with the next growth", async () => {
    limits = undefined;
    expect(await ask(2, planned(3))).toBe(true);
    expect(quotas.known("shop/db").size).toBe(0);
    expect(await ask(2, planned(3))).toBe(false);
    quotas.used("shop/db", planned(3));
    expect(await ask(3, planned(4))).toBe(true);
  });

  it("of a cluster that cannot be reached are not asked for", async () => {
    const away = moment({ kind: "unreachable", message: "away" });
    expect(await quotas.ask(subject(), away, ledgerWith(1), planned(2))).toBe(false);
  });
});
