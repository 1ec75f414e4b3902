import { expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import { isReportedOtherwise, isWrittenOtherwise } from "./news.ts";
import { orderFor, reported, SENT_AT_MS, written } from "./testing/agent.ts";

const values = (ready: number, resourceVersion: string) => ({
  values: { "/status/readyReplicas": ready, "/metadata/resourceVersion": resourceVersion },
  podValues: {},
});

/** The same write, asked about again. */
function asked(work: KubeObject): KubeObject {
  const spec = JSON.parse(JSON.stringify(work.spec).replaceAll(`.${SENT_AT_MS}`, `.${SENT_AT_MS + 5}`));
  return { ...work, metadata: { ...work.metadata, generation: 2 }, spec };
}

it("a question is no news, and neither is an answer that says the same", () => {
  const work = reported(written(orderFor(1)), values(1, "10"));
  const question = asked(work);
  const answer = reported(question, values(1, "11"));
  expect(isWrittenOtherwise(question, work)).toBe(false);
  expect(isReportedOtherwise(question, work)).toBe(false);
  expect(isWrittenOtherwise(answer, question)).toBe(false);
  expect(isReportedOtherwise(answer, work)).toBe(false);
});

it("another count, an object that has gone and a write that has arrived are news", () => {
  const work = reported(written(orderFor(1)), values(1, "10"));
  expect(isReportedOtherwise(reported(work, values(0, "11")), work)).toBe(true);
  expect(isReportedOtherwise(reported(work, { there: false }), work)).toBe(true);
  const next = written(orderFor(1), work);
  expect(isReportedOtherwise(reported(next, values(1, "11")), next)).toBe(true);
});

it("a refusal, another term and another writer's edit are news", () => {
  const work = reported(written(orderFor(1)));
  expect(isWrittenOtherwise(reported(work, { applied: false, message: "no" }), work)).toBe(true);
  expect(isWrittenOtherwise(written(orderFor(1, { term: 2 }), work), work)).toBe(true);
  expect(isWrittenOtherwise({ ...work, spec: {} }, work)).toBe(true);
});
