import type { Engine } from "../../../engine/index.ts";
import type { ContractFleet } from "../../../engine/testing/contract/index.ts";
import { KubeClient } from "../../../kube/index.ts";
import { SimProcess } from "../../actors/process.ts";
import { Reach } from "../../seed/reach.ts";
import { ListMemory } from "../../world/list-memory.ts";
import { Climate, weatherFor } from "../../world/weather.ts";
import { type Backend, Wire } from "../../world/wire.ts";
import { World } from "../../world/world.ts";
import { type EngineName, HubImage } from "../hub.ts";
import { LeanCluster } from "./cluster.ts";

const MEMBERS = ["member1", "member2", "member3"];
const SEED = 1;
/** Virtual time: far more than any scenario needs, and it costs little. */
const GIVE_UP_MS = 600_000;
/** How far time advances between two checks of the condition. */
const TICK_MS = 20;

/** The hub, the members and the wires of a contract's world, without any engine yet. */
export interface LeanBench {
  readonly world: World;
  readonly server: Awaited<ReturnType<HubImage["boot"]>>;
  readonly clusters: ReadonlyMap<string, LeanCluster>;
  readonly reach: Reach;
  wireTo(process: SimProcess, backend: Backend): Wire;
}

export interface LeanEngine {
  readonly start: () => Promise<void>;
  readonly cut: (cluster: string) => void;
  readonly mend: (cluster: string) => void;
  readonly engine: (process: SimProcess, hub: KubeClient) => Engine;
}

/** A fleet of lean members under a model of an engine, on virtual time that advances by itself. */
export async function startLeanFleet(
  name: EngineName,
  modelOf: (bench: LeanBench) => LeanEngine,
): Promise<ContractFleet> {
  const world = new World(SEED, false);
  const server = await new HubImage().boot(new SimProcess(world, "hub").clock, SEED, MEMBERS, [], name);
  const clusters = new Map(MEMBERS.map((cluster) => [cluster, new LeanCluster(world, cluster)]));
  const reach = new Reach();
  const weather = weatherFor(new Climate(), world.dice.branch("weather"), reach);
  const unexpected = () => {
    throw new Error("the contract's world has no faults");
  };
  const wireTo = (process: SimProcess, backend: Backend) =>
    new Wire({
      ...{ world, process, backend, weather, lists: new ListMemory(reach) },
      ...{ carrying: () => {}, crashed: unexpected, paused: unexpected },
    });
  const model = modelOf({ world, server, clusters, reach, wireTo });
  await world.finish(model.start());
  const clientOf = (process: SimProcess, backend: Backend) =>
    new KubeClient({ transport: wireTo(process, backend), clock: process.clock, random: process.random });
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
    members: new Map([...clusters].map(([cluster, { store }]) => [cluster, clientOf(suite, store)])),
    clock: suite.clock,
    engine: () => {
      const process = new SimProcess(world, `engine-${++engines}`);
      return model.engine(process, clientOf(process, server));
    },
    cut: async (member) => model.cut(member),
    mend: async (member) => model.mend(member),
    async until(what, condition) {
      const deadlineMs = world.nowMs + GIVE_UP_MS;
      let last: boolean | string = false;
      while (world.nowMs < deadlineMs) {
        last = await condition();
        if (last === true) return;
        await suite.clock.sleep(TICK_MS);
      }
      throw new Error(`after ${GIVE_UP_MS} ms of virtual time still not: ${what} ${last === false ? "" : last}`);
    },
    async stop() {
      running = false;
      await ticking;
    },
  };
}
