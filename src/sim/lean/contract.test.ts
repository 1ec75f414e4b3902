import { afterAll, beforeAll, describe } from "vitest";
import { KarmadaEngine, OcmEngine } from "../../engine/index.ts";
import { ContractBench } from "../../engine/testing/contract/bench.ts";
import { dispatchContract } from "../../engine/testing/contract/dispatch.ts";
import { engineContract, OCM_HUB } from "../../engine/testing/contract/index.ts";
import { rivalsContract } from "../../engine/testing/contract/rivals.ts";
import { KarmadaModel } from "./karmada.ts";
import { type Joined, OcmModel } from "./ocm/model.ts";
import { type LeanBench, type LeanEngine, startLeanFleet } from "./testing/fleet.ts";

engineContract("the simulator's lean model of Karmada", () =>
  startLeanFleet("karmada", ({ world, server, clusters }) => {
    const karmada = new KarmadaModel({ world, server, members: clusters, templates: new Set(["apps/statefulsets"]) });
    return {
      start: () => karmada.start(),
      cut: (cluster) => karmada.cut(cluster),
      mend: (cluster) => karmada.mend(cluster),
      engine: ({ clock, random }, hub) => new KarmadaEngine({ hub, clock, random }),
    };
  }),
);

engineContract(
  "the simulator's lean model of OCM, members read directly",
  () => startLeanFleet("ocm", (bench) => ocmOn(bench, { access: true, polls: false })),
  OCM_HUB,
);

describe.each([
  ["watch", false],
  ["poll", true],
])("the simulator's lean model of OCM, members seen through agents that %s", (_how, polls) => {
  const bench = new ContractBench(OCM_HUB);
  beforeAll(() => bench.start(() => startLeanFleet("ocm", (lean) => ocmOn(lean, { access: false, polls }))));
  afterAll(() => bench.stop());

  dispatchContract(bench);
  rivalsContract(bench);
});

function ocmOn({ world, server, clusters, reach, wireTo }: LeanBench, joined: Joined): LeanEngine {
  const joinedAs = () => joined;
  const ocm = new OcmModel({ world, server, members: clusters, reach, joinedAs, reportsParts: false });
  return {
    start: () => ocm.start(),
    cut: (cluster) => ocm.cut(cluster),
    mend: (cluster) => ocm.mend(cluster),
    engine: (process, hub) =>
      new OcmEngine({
        hub,
        clock: process.clock,
        random: process.random,
        openMember: async ({ server: address }) => ({
          transport: wireTo(process, ocm.door(new URL(address).hostname)),
          close: async () => {},
        }),
      }),
  };
}
