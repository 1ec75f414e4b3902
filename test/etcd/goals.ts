/** What every scenario must show, whatever happens in it. */
import { expect } from "vitest";
import { recordScenario } from "../availability/figures.ts";
import type { Figures } from "../availability/record.ts";
import { ELECTION_MS, type Stage } from "../availability/stage.ts";
import { GIVE_UP_MS } from "../availability/world.ts";

/**
 * While the leader moves, members learn of the new one a moment apart; for that long no majority agrees on one. A loss of
 * the quorum lasts as long as a member's restart, which is longer.
 */
const MAX_HANDOVER_MS = 1_000;

/** Longer than what one scenario waits for, so that the wait says what it waited for. */
export const SCENARIO_MS = 4 * GIVE_UP_MS;

/** etcd waits up to twice the timeout before it elects, and clients need a timeout and a retry to notice. */
export const MAX_ELECTION_MS = 2 * ELECTION_MS + 3_000;

/** What each stage showed last. */
const shown = new WeakMap<Stage, string>();

function show(stage: Stage, what: string, figures: Figures): void {
  shown.set(stage, what);
  recordScenario({ scenario: what, before: stage.before(), figures });
  console.log(`${what}: ${JSON.stringify(figures)} ${stage.probe.errors().join("; ")}`);
}

/** A fault takes no more of the quorum than its own election, if the leader is hit, and else nothing. */
export function expectQuorum(stage: Stage, what: string, figures: Figures, mostMs = MAX_HANDOVER_MS): void {
  show(stage, what, figures);
  expect(figures.withoutQuorumMs, stage.story.join("\n")).toBeLessThan(mostMs);
}

/** Planned work: no request fails after one retry, the quorum stays, and the leader moves at most once. */
export function expectUnnoticed(stage: Stage, what: string, figures: Figures): void {
  expectQuorum(stage, what, figures);
  expect(figures.failed, stage.story.join("\n")).toBe(0);
  expect(figures.leaderChanges).toBeLessThanOrEqual(1);
}

/** Ends the clients. */
export async function expectNothingLost(stage: Stage): Promise<void> {
  const verdict = await stage.finish();
  recordScenario({ scenario: shown.get(stage) ?? "", verdict });
  expect(verdict.acknowledged).toBeGreaterThan(100);
  expect(verdict.missing).toEqual([]);
  expect(verdict.linearizable).toBe("yes");
  // The history has something to prove.
  expect(verdict.readsOfOthers).toBeGreaterThan(50);
  expect(verdict.overlappingWrites).toBeGreaterThan(20);
}

export async function voters(stage: Stage): Promise<string[]> {
  const members = await stage.world.memberList();
  return members.filter(({ isLearner }) => !isLearner).map(({ host }) => host);
}
