/** What every scenario must show, whatever happens in it. */
import { expect } from "vitest";
import type { Figures } from "../availability/record.ts";
import { ELECTION_MS, type Stage } from "../availability/stage.ts";

/**
 * While the leader moves, members learn of the new one a moment apart; for that long no majority agrees on one. A loss of
 * the quorum lasts as long as a member's restart, which is longer.
 */
const MAX_HANDOVER_MS = 1_000;

export const SCENARIO_MS = 300_000;

/** etcd waits up to twice the timeout before it elects, and clients need a timeout and a retry to notice. */
export const MAX_ELECTION_MS = 2 * ELECTION_MS + 3_000;

export function show(stage: Stage, what: string, figures: Figures): void {
  console.log(`${what}: ${JSON.stringify(figures)} ${stage.probe.errors().join("; ")}`);
}

/** Planned work: no request fails after one retry, the quorum stays, and the leader moves at most once. */
export function expectUnnoticed(stage: Stage, what: string, figures: Figures): void {
  show(stage, what, figures);
  expect(figures.failed, stage.story.join("\n")).toBe(0);
  expect(figures.leaderChanges).toBeLessThanOrEqual(1);
  expect(figures.withoutQuorumMs).toBeLessThan(MAX_HANDOVER_MS);
}

/** Ends the clients. */
export async function expectNothingLost(stage: Stage): Promise<void> {
  const verdict = await stage.finish();
  expect(verdict.acknowledged).toBeGreaterThan(100);
  expect(verdict.missing).toEqual([]);
  expect(verdict.linearizable).toBe("yes");
}

export async function voters(stage: Stage): Promise<string[]> {
  const members = await stage.world.memberList();
  return members.filter(({ isLearner }) => !isLearner).map(({ host }) => host);
}
