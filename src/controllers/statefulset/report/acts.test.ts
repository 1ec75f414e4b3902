import { expect, it } from "vitest";
import { emptyLedger, type LeaderMove, type PlanResult } from "../../../plan/index.ts";
import { statefulset } from "../../testing/objects.ts";
import { ActEvents, leaderTransferOf, promotedText } from "./acts.ts";

const AT = "2030-01-02T03:04:05Z";
const MOVE: LeaderMove = { id: AT, to: "member2", from: null, state: "waiting", message: "", sinceMs: Date.parse(AT) };

function planned(edit: Partial<PlanResult["ledger"]>, waiting: PlanResult["waiting"] = []): PlanResult {
  return { ledger: { ...emptyLedger(), ...edit }, waiting } as unknown as PlanResult;
}

const rollingOut = (to: string) => {
  const rollout = { to, from: "A", kind: "update" as const, sinceMs: 0, wave: 0 };
  return planned({ rollout: { ...rollout, soakSinceMs: null, leaderUnknownSinceMs: null } });
};

it("a promotion is announced once, with its author and what it skips, and only for its own revision", () => {
  const events = new ActEvents();
  const promoted = statefulset({ promote: { revision: "B", wave: 1, window: true, at: AT, by: "ada" } });
  const past = "past the soak of wave 1 and outside the maintenance windows";
  const message = `the rollout to B continues ${past} by ada at ${AT}`;
  expect(events.news("web", promoted, rollingOut("B"))).toEqual([{ type: "Normal", reason: "Promoted", message }]);
  expect(events.news("web", promoted, rollingOut("B"))).toEqual([]);
  expect(events.news("other", promoted, rollingOut("C"))).toEqual([]);
  expect(promotedText(promoted.spec, "C")).toBeUndefined();
});

it("a request to move the leader is shown with its progress, and its end is announced once", () => {
  const events = new ActEvents();
  const asked = statefulset({ transferLeader: { to: "member2", at: AT, by: "ada" } });
  const wait = { code: "LeaderTransfer" as const, message: "first: member1 holds the turn", evidence: [], remedy: "" };
  const waiting = planned({ leaderRequest: MOVE }, [wait]);
  expect(leaderTransferOf(asked.spec, waiting)).toMatchObject({ state: "Waiting", message: wait.message, by: "ada" });
  expect(events.news("web", asked, waiting)).toEqual([]);
  const refused = planned({ leaderRequest: { ...MOVE, state: "refused", message: "no such cluster" } });
  expect(events.news("web", asked, refused)).toEqual([
    {
      type: "Warning",
      reason: "LeaderTransferRefused",
      message: "the leader was asked for at member2 by ada: no such cluster",
    },
  ]);
  expect(events.news("web", asked, refused)).toEqual([]);
});

it("how a request ended before this process began is no news", () => {
  const moved = planned({ leaderRequest: { ...MOVE, state: "moved" } });
  expect(new ActEvents().news("web", statefulset({ transferLeader: { to: "member2", at: AT } }), moved)).toEqual([]);
});
