import { expect, it } from "vitest";
import type { KubeObject } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { settingsOf } from "./settings.ts";
import type { Pace } from "./signs-of-life.ts";
import { APP, orderFor, reported, written } from "./testing/agent.ts";

const QUICK = { paceOf: (): Pace => "prompt" };
/** As the work agent of OCM 1.2 words it. */
const WITHHELD =
  "Sync status feedback failed with error [the type map[string]interface {} of the value for /status is not found]";

function reporting(values: Readonly<Record<string, string | number>>, synced: JsonObject): KubeObject {
  const work = reported(written(orderFor(1)), { values });
  const { resourceStatus } = work.status as { resourceStatus: { manifests: { conditions: JsonObject[] }[] } };
  resourceStatus.manifests[0]?.conditions.push({ type: "StatusFeedbackSynced", ...synced });
  return work;
}

it("a status that the agent may not report as a whole is named, with the gate; of an operator on the contract, too", () => {
  const withheld = { status: "False", message: WITHHELD };
  const [setting, ...others] = settingsOf(APP.template, [reporting({}, withheld)], QUICK);
  expect(setting?.message).toContain("the agent of cluster east does not report the status of StatefulSet web");
  expect(setting?.remedy).toContain("RawFeedbackJsonString");
  expect(others).toEqual([]);
  const onContract = reporting({ "/status/crossCluster/epoch": 3 }, withheld);
  // Its health may be read from fields of its own.
  expect(settingsOf(APP.template, [onContract], QUICK)).toHaveLength(1);
  expect(settingsOf(APP.template, [reporting({}, { status: "True", message: "" })], QUICK)).toEqual([]);
});

it("an agent that answers late, and one that polls, are named once each, with what to do", () => {
  const works = [written(orderFor(1)), written(orderFor(2))];
  const at = (pace: Pace) =>
    settingsOf(APP.template, works, { paceOf: (cluster) => (cluster === "east" ? pace : "prompt") });
  const [slow, late] = [at("slow"), at("late")];
  expect(slow.map(({ message }) => message)).toEqual([
    expect.stringMatching(/^the agent of cluster east takes seconds/),
  ]);
  expect(slow[0]?.remedy).toContain("lacks processor time");
  expect(late.map(({ message }) => message)).toEqual([expect.stringMatching(/cluster east .* as one that polls does/)]);
  expect(late[0]?.remedy).toContain("--max-feedback-watch");
});
