import { expect, it } from "vitest";
import { KubeClient } from "../../kube/index.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { seededRandom, silentLog } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { Tracking } from "../tracking.ts";
import { Selections } from "./selections.ts";

it("ends if the leader lost its lease while it started: otherwise the process would never lead again", async () => {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  const hub = new KubeClient({ transport: new FakeApi({ clock }), clock, random });
  const tracking = new Tracking(() => {
    throw new Error("no stream is needed");
  });
  const selections = new Selections({ hub, clock, random, log: silentLog }, tracking);
  let hasEnded = false;
  void selections.run(AbortSignal.abort()).then(() => {
    hasEnded = true;
  });
  await clock.settle();
  expect(hasEnded).toBe(true);
});
