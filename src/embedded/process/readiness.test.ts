import { describe, expect, it } from "vitest";
import { Readiness } from "./readiness.ts";

const answersOf = (readiness: Readiness, answers: readonly boolean[]) => answers.map((each) => readiness.note(each));

describe("the readiness of a container", () => {
  it("begins with the first success of its probe", () => {
    expect(answersOf(new Readiness(), [false, true])).toEqual([false, true]);
  });

  it("outlasts two failures of its probe in a row, and ends with the third, as in Kubernetes", () => {
    expect(answersOf(new Readiness(), [true, false, false, true, false, false, false])).toEqual([
      true,
      true,
      true,
      true,
      true,
      true,
      false,
    ]);
  });

  it("ends with the first failure if the probe's failureThreshold is 1", () => {
    expect(answersOf(new Readiness(1), [true, false, true])).toEqual([true, false, true]);
  });
});
