import { expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { feedbackPaths } from "./feedback.ts";
import { LATE_MS, LATE_REPORTS, Lateness, REPORTS } from "./lateness.ts";
import { isReportedOtherwise } from "./news.ts";
import { APP, orderFor, SENT_AT_MS, withTimes, written } from "./testing/agent.ts";

/** The member's clock is far off; only its own times are compared. */
const OFF_MS = -7 * 3_600_000;
/** Any time that is not right after a write of ours. */
const QUIET_MS = 10_000;

const WORK = written(orderFor(1));
const changedAt = (ms: number, work: KubeObject = WORK) =>
  withTimes(work, { appliedMs: SENT_AT_MS + OFF_MS, changedMs: ms + OFF_MS });

const late = Array<number>(LATE_REPORTS).fill(2 * LATE_MS);

/** One change after the other, each reported so long after it happened; the agent has taken `answerMs` to apply a write. */
function after(lateMs: readonly number[], answerMs = 100): Lateness {
  const lateness = new Lateness();
  const first = SENT_AT_MS + QUIET_MS;
  lateness.reported(changedAt(SENT_AT_MS), SENT_AT_MS + answerMs);
  lateMs.forEach((each, at) => {
    const changedMs = first + (at + 1) * 10_000;
    lateness.reported(changedAt(changedMs), changedMs + each);
  });
  return lateness;
}

it("an agent is late if half of its last reports were, by the cluster's own clock, and prompt after as many prompt ones", () => {
  const prompt = Array(REPORTS).fill(100);
  expect(after(late).isLate("east")).toBe(true);
  expect(after([100, 9_000, 200, 8_000, 300, 7_000]).isLate("east")).toBe(true);
  expect(after([...late.slice(1), ...prompt]).isLate("east")).toBe(false);
  expect(after([...late, ...prompt.slice(1)]).isLate("east")).toBe(true);
  expect(after([...late, ...prompt]).isLate("east")).toBe(false);
  expect(after(late).isLate("west")).toBe(false);
});

it("the same report counts once, and what was away for minutes did not poll", () => {
  const lateness = new Lateness();
  for (let at = 0; at < 2 * REPORTS; at++) lateness.reported(changedAt(SENT_AT_MS), SENT_AT_MS + at * 10_000);
  expect(lateness.isLate("east")).toBe(false);
  expect(after(Array(REPORTS).fill(600_000)).isLate("east")).toBe(false);
});

it("an agent that took long to apply a write is not taken for late, only for what is certain", () => {
  const slow = 3 * LATE_MS;
  expect(after(Array(REPORTS).fill(2 * LATE_MS), slow).isLate("east")).toBe(false);
  expect(after(Array(REPORTS).fill(5 * LATE_MS), slow).isLate("east")).toBe(true);
});

it("a prompt report right after a write of ours proves nothing, because the agent then looks anyway", () => {
  const lateness = after(late);
  for (let at = 0; at < 2 * REPORTS; at++) {
    const askedMs = SENT_AT_MS + 1_000_000 + at * 15_000;
    const asked = written(orderFor(1), undefined, askedMs);
    const times = { appliedMs: askedMs + OFF_MS, changedMs: askedMs - 500 + OFF_MS };
    lateness.reported(withTimes(asked, times), askedMs + 300);
  }
  expect(lateness.isLate("east")).toBe(true);
});

it("the times are asked for where the agent applies under a name of ours, and are no news", () => {
  const paths = feedbackPaths(APP.template, "work-agent-lockstep-u").map(({ path }) => path);
  expect(paths).toContain('.metadata.managedFields[?(@.manager=="work-agent-lockstep-u")].time');
  expect(feedbackPaths(APP.template).some(({ path }) => path.includes("managedFields"))).toBe(false);
  expect(JSON.stringify(WORK.spec)).toContain('@.subresource==\\"status\\"');
  expect(isReportedOtherwise(changedAt(SENT_AT_MS + 5_000), changedAt(SENT_AT_MS))).toBe(false);
});
