import { describe, expect, it } from "vitest";
import { eventAround, hookEpoch, hooksOver, type Placed, stagesOf } from "./stages.ts";
import type { Grant, Stage } from "./types.ts";

const hook = (key: string, events: string, weight = 0): Placed => {
  const [kind = "", name = ""] = key.split("/");
  return { key, kind, name, hook: { events: events.split("+"), weight } };
};
const own = (key: string): Placed => ({ key, kind: key.split("/")[0] ?? "", name: key.split("/")[1] ?? "" });

const STAGES = stagesOf(
  [
    hook("ServiceAccount/mover", "pre-upgrade", -5),
    hook("Job/move", "pre-upgrade"),
    hook("Job/late", "pre-upgrade", 5),
    own("Deployment/web"),
    hook("Job/move", "post-upgrade"),
  ],
  "Upgrade",
  false,
);
const at = (stage: number, step = 7): Grant => ({
  revision: "A",
  epoch: 9,
  step,
  mode: "Upgrade",
  stage,
  replicas: {},
});
const over = (...request: Parameters<typeof hooksOver>) => Object.fromEntries(hooksOver(...request));

describe("hooks that are over", () => {
  it("are none while a hook of the same event runs: it may need the earlier ones", () => {
    expect(over(STAGES, at(0), undefined)).toEqual({});
    expect(over(STAGES, at(2), undefined)).toEqual({});
  });

  it("are all of an event when the last of it has succeeded", () => {
    expect(over(STAGES, at(3), undefined)).toEqual({
      "ServiceAccount/mover": "succeeded",
      "Job/move": "succeeded",
      "Job/late": "succeeded",
    });
  });

  it("are the failed one and those before it when one has failed", () => {
    const failure = { step: 7, stage: 1, message: "no" };
    expect(over(STAGES, at(1), failure)).toEqual({ "ServiceAccount/mover": "succeeded", "Job/move": "failed" });
    expect(over(STAGES, at(1, 8), failure)).toEqual({});
  });

  it("leave out one that runs again for a later event", () => {
    expect(over(STAGES, at(4), undefined)).toEqual({ "ServiceAccount/mover": "succeeded", "Job/late": "succeeded" });
    expect(over(STAGES, at(5), undefined)["Job/move"]).toBe("succeeded");
  });
});

it("one object that is a hook of two events has another epoch in each", () => {
  const epochs = STAGES.filter((stage): stage is Extract<Stage, { kind: "hook" }> => stage.kind === "hook")
    .filter(({ object }) => object === "Job/move")
    .map((stage) => hookEpoch(stage, at(0)));
  expect(new Set(epochs).size).toBe(2);
  expect(epochs[0]).toBe(7);
});

it("an event is the hooks of one title, and any other stage is alone", () => {
  expect(eventAround(STAGES, 1)).toEqual([0, 3]);
  expect(eventAround(STAGES, 3)).toEqual([3, 4]);
});
