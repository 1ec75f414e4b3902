import { describe, expect, it } from "vitest";
import type { RolloutApproval } from "../../api/index.ts";
import { emptyLedger, type PlanResult } from "../../plan/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { approvalStatus, creatorOf } from "./approvals.ts";

const NOW = Date.parse("2030-01-02T03:04:05Z");

function approval(wave: number, revision: string, status?: RolloutApproval["status"]): RolloutApproval {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "RolloutApproval",
    metadata: { name: "go", namespace: "default", creationTimestamp: "2030-01-01T00:00:00Z" },
    spec: { name: "web", revision, wave },
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
    const status = approvalStatus(approval(0, "B"), "kubectl-create", rollingOut(0), 2, NOW);
    expect(status).toMatchObject({
      approvedBy: "kubectl-create",
      approvedAt: "2030-01-01T00:00:00Z",
      conditions: [{ type: "Accepted", status: "True" }],
    });
    expect(status).not.toHaveProperty("usedAt");
  });

  it("is told when it names a wave that does not exist, or another revision", () => {
    expect(approvalStatus(approval(2, "B"), "kubectl-create", rollingOut(0), 2, NOW)).toMatchObject({
      conditions: [{ status: "False", message: "there is no wave 2: the strategy has 2, counted from 0" }],
    });
    expect(approvalStatus(approval(0, "C"), "kubectl-create", rollingOut(0), 2, NOW)).toMatchObject({
      conditions: [{ status: "False", message: expect.stringContaining("C is not being rolled out") }],
    });
  });

  it("is used from the moment its wave has passed, and keeps that time", () => {
    const used = approvalStatus(approval(0, "B"), "kubectl-create", rollingOut(1), 2, NOW);
    expect(used).toMatchObject({ usedAt: "2030-01-02T03:04:05Z" });
    const later = approvalStatus(
      approval(0, "B", used as RolloutApproval["status"]),
      "kubectl-create",
      rollingOut(1),
      2,
      NOW + 60_000,
    );
    expect(later).toEqual(used);
  });

  it("keeps the name of who created it when somebody comments on it later, and says nothing where nothing is known", () => {
    const before = { approvedBy: "kubectl-create", conditions: [] };
    expect(approvalStatus(approval(0, "B", before), "kubectl-edit", rollingOut(0), 2, NOW)).toMatchObject({
      approvedBy: "kubectl-create",
    });
    expect(approvalStatus(approval(0, "B"), undefined, rollingOut(0), 2, NOW)).not.toHaveProperty("approvedBy");
  });
});

describe("the program that created an approval", () => {
  const created = (...managedFields: JsonObject[]) =>
    creatorOf({ apiVersion: "v1", kind: "X", metadata: { name: "go", managedFields } });

  it("is the first that wrote it, not who wrote its status", () => {
    expect(
      created(
        { manager: "kubectl-edit", operation: "Update", time: "2030-01-01T00:00:02Z" },
        { manager: "lockstep-status", operation: "Apply", time: "2030-01-01T00:00:00Z", subresource: "status" },
        { manager: "kubectl-create", operation: "Update", time: "2030-01-01T00:00:01Z" },
      ),
    ).toBe("kubectl-create");
  });

  it("is not known where the server keeps no account", () => {
    expect(created()).toBeUndefined();
  });
});
