import { KarmadaEngine } from "../../engine/index.ts";
import { engineContract } from "../../engine/testing/contract/index.ts";
import { KubeClient } from "../../kube/index.ts";
import { SimProcess } from "../actors/process.ts";
import { Reach } from "../seed/reach.ts";
import { ListMemory } from "../world/list-memory.ts";
import { Climate, weatherFor } from "../world/weather.ts";
import { type Backend, Wire } from "../world/wire.ts";
import { World } from "../world/world.ts";
import { HubImage } from "./hub.ts";
import { KarmadaModel } from "./karmada.ts";
import { LeanCluster } from "./testing/cluster.ts";

const MEMBERS = ["member1", "member2", "member3"];
const SEED = 1;
/** Virtual time: far more than any scenario needs, and it costs little. */
const GIVE_UP_MS = 600_000;
/** How far time advances between two checks of the condition. */
const TICK_MS = 20;

engineContract("the simulator's lean model", async () => {
  const world = new World(SEED, false);
  const server = await new HubImage().boot(new SimProcess(world, "hub").clock, SEED, MEMBERS, []);
  const clusters = new Map(MEMBERS.map((name) => [name, new LeanCluster(world, name)]));
  const karmada = new KarmadaModel({ world, server, members: clusters, templates: new Set(["apps/statefulsets"]) });
  await world.finish(karmada.start());

  const reach = new Reach();
  const weather = weatherFor(new Climate(), world.dice.branch("weather"), reach);
  const unexpected = () => {
    throw new Error("the contract's world has no faults");
  };
  const clientOf = (process: SimProcess, backend: Backend): KubeClient => {
    const lists = new ListMemory(reach);
    const transport = new Wire({
      ...{ world, process, backend, weather, lists },
      ...{ carrying: () => {}, crashed: unexpected, paused: unexpected },
    });
    return new KubeClient({ transport, clock: process.clock, random: process.random });
  };
  const suite = new SimProcess(world, "suite");
  let engines = 0;
  let running = true;
  const ticking = (async () => {
    while (running) {
      await world.run(world.nowMs + TICK_MS, () => false);
      if (world.failure) throw world.failure;
    }
  })();
  return {
    hub: clientOf(suite, server),
    members: new Map([...clusters].map(([name, { store }]) => [name, clientOf(suite, store)])),
    clock: suite.clock,
    engine: () => {
      const process = new SimProcess(world, `engine-${++engines}`);
      const { clock, random } = process;
      return new KarmadaEngine({ hub: clientOf(process, server), clock, random });
    },
    cut: async (member) => karmada.cut(member),
    mend: async (member) => karmada.mend(member),
    async until(what, condition) {
      const deadlineMs = world.nowMs + GIVE_UP_MS;
      while (world.nowMs < deadlineMs) {
        const outcome = await condition();
        if (outcome === true) return;
        await suite.clock.sleep(TICK_MS);
      }
      throw new Error(`after ${GIVE_UP_MS} ms of virtual time still not: ${what}`);
    },
    async stop() {
      running = false;
      await ticking;
    },
  };
});
