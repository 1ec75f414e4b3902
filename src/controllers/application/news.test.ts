import { describe, expect, it } from "vitest";
import { type ClusterEntry, emptyLedger, type Ledger } from "../../applications/index.ts";
import { newsOf } from "./news.ts";

const entry = (more: Partial<ClusterEntry> = {}): ClusterEntry => ({
  grant: { revision: "B", epoch: 2, step: 2, mode: "Upgrade", stage: 0, replicas: {} },
  deployed: "A",
  done: false,
  healthySinceMs: null,
  progress: null,
  failed: null,
  short: {},
  out: {},
  ...more,
});
const ledger = (more: Partial<Ledger>): Ledger => ({ ...emptyLedger(), ...more });
const rollout = { to: "B", from: "A", kind: "update" as const, sinceMs: 0, wave: 0, soakSinceMs: null };
const told = (before: Ledger, after: Ledger, waves = 0) =>
  newsOf(before, after, waves).map(({ type, reason, message }) => `${type} ${reason}: ${message}`);

describe("Events of a rollout", () => {
  it("say that it started, and from which revision", () => {
    expect(told(ledger({ currentRevision: "A" }), ledger({ currentRevision: "A", rollout }))).toEqual([
      "Normal RolloutStarted: revision B is rolled out instead of A",
    ]);
  });

  it("say that a wave is finished, once, and only of waves that the spec names", () => {
    const at = (wave: number) => ledger({ currentRevision: "A", rollout: { ...rollout, wave } });
    expect(told(at(0), at(1), 2)).toEqual(["Normal WaveFinished: wave 1 of 2 has revision B"]);
    expect(told(at(1), at(1), 2)).toEqual([]);
    expect(told(at(0), at(1), 0)).toEqual([]);
    expect(told(at(2), at(3), 2)).toEqual([]);
  });

  it("say that it finished, and in how many clusters", () => {
    const clusters = { a: entry({ deployed: "B", done: true }), b: entry({ deployed: "A" }) };
    const before = ledger({ currentRevision: "A", rollout, clusters });
    expect(told(before, { ...before, currentRevision: "B", rollout: null })).toEqual([
      "Normal RolloutFinished: revision B runs in 1 cluster, healthy",
    ]);
  });

  it("say that a step failed, and that the clusters return", () => {
    const before = ledger({ currentRevision: "A", rollout, clusters: { a: entry() } });
    const override = { to: "A", instead: "B", cause: "failure" as const, why: "a: hook: it failed" };
    const after = ledger({ ...before, override, clusters: { a: entry({ failed: "hook: it failed" }) } });
    expect(told(before, after)).toEqual([
      "Warning RolledBack: revision B failed; the clusters return to A. a: hook: it failed",
      "Warning StepFailed: a: the step to B failed: hook: it failed",
    ]);
    expect(told(after, after)).toEqual([]);
  });

  it("say that others carry a cluster's replicas, and that they are back", () => {
    const out = { "Deployment/web": { missing: 2, healthySinceMs: null } };
    const [well, ill] = [ledger({ clusters: { a: entry() } }), ledger({ clusters: { a: entry({ out }) } })];
    expect(told(well, ill)).toEqual([
      "Warning FailedOver: 2 replicas of Deployment/web run elsewhere, because a does not serve them",
    ]);
    expect(told(ill, well)).toEqual(["Normal FailedBack: a serves its replicas of Deployment/web again"]);
  });

  it("are none when a cluster joins the revision that all others run", () => {
    const before = ledger({ currentRevision: "B" });
    expect(told(before, { ...before, rollout: { ...rollout, from: "B" } })).toEqual([]);
  });
});
