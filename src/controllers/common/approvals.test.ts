import { describe, expect, it } from "vitest";
import type { RolloutApproval } from "../../api/index.ts";
import { emptyLedger, type PlanResult } from "../../plan/index.ts";
import { approvalStatus } from "./approvals.ts";

const NOW = Date.parse("2030-01-02T03:04:05Z");

function approval(wave: number, revision: string, status?: RolloutApproval["status"]): RolloutApproval {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "RolloutApproval",
    metadata: { name: "go", namespace: "default", creationTimestamp: "2030-01-01T00:00:00Z" },
    spec: { kind: "CrossClusterStatefulset", name: "web", revision, wave },
    ...(status && { status }),
  };
}

/** Web is being rolled out to B, and `wave` is the first that has not passed. */
function rollingOut(wave: number): PlanResult {
  const rollout = { to: "B", from: "A", kind: "update" as const, sinceMs: 0, wave, soakSinceMs: null };
  return {
    ledger: { ...emptyLedger(), rollout: { ...rollout, leaderUnknownSinceMs: null } },
    figures: { targetRevision: "B", currentRevision: "A" },
  } as unknown as PlanResult;
}

describe("an approval", () => {
  it("is accepted when it names a wave and the revision that is being rolled out", () => {
    const status = approvalStatus(approval(1, "B"), rollingOut(0), 2, NOW);
    expect(status).toMatchObject({
      approvedAt: "2030-01-01T00:00:00Z",
      conditions: [{ type: "Accepted", status: "True" }],
    });
    expect(status).not.toHaveProperty("usedAt");
  });

  it("gets a condition that says why, when it names a wave that does not exist, or another revision", () => {
    expect(approvalStatus(approval(3, "B"), rollingOut(0), 2, NOW)).toMatchObject({
      conditions: [{ status: "False", message: "there is no wave 3: the strategy has 2, counted from 1" }],
    });
    expect(approvalStatus(approval(1, "C"), rollingOut(0), 2, NOW)).toMatchObject({
      conditions: [{ status: "False", message: expect.stringContaining("C is not being rolled out") }],
    });
  });

  it("is used from the moment its wave has passed, and keeps that time", () => {
    const used = approvalStatus(approval(1, "B"), rollingOut(1), 2, NOW);
    expect(used).toMatchObject({ usedAt: "2030-01-02T03:04:05Z" });
    const later = approvalStatus(approval(1, "B", used as RolloutApproval["status"]), rollingOut(1), 2, NOW + 60_000);
    expect(later).toEqual(used);
  });

  it("[W8] shows the user that it names, and none where it names none", () => {
    const named = approval(1, "B");
    const status = approvalStatus({ ...named, spec: { ...named.spec, approvedBy: "ada" } }, rollingOut(0), 2, NOW);
    expect(status).toMatchObject({ approvedBy: "ada" });
    expect(approvalStatus(named, rollingOut(0), 2, NOW)).not.toHaveProperty("approvedBy");
  });
});
