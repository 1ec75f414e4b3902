import { afterAll, beforeAll, expect, it } from "vitest";
import { ANNOTATIONS, parseTopologyRef, TOPOLOGY_ELSEWHERE } from "../../src/contract/index.ts";
import { resource } from "../../src/kube/index.ts";
import { MEMBERS } from "../stack/commands.ts";
import { SharedDatabase, startContractOperator } from "./contract-operator.ts";
import { CCS, type World } from "./world.ts";
import { XLINES } from "./xline.ts";

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
/** As long as a DNS name may be: with 900 instances twice as much text as Kubernetes allows in annotations. */
const LONG_ADDRESS = `{instance}.{cluster}.${["a", "b", "c", "d"].map((letter) => letter.repeat(55)).join(".")}`;
const SETTLED_MS = 110_000;

/** All instances at once, and no quorum: this story is about what the members receive, not about the order. */
export function largeSpec(each: number) {
  return {
    completion: { protocol: "Contract" },
    podManagementPolicy: "Parallel",
    quorum: "None",
    identity: { addressTemplate: LONG_ADDRESS },
    topology: { clusters: MEMBERS.map((name) => ({ name, replicas: each })) },
  };
}

/** An XlineCluster named xline whose topology is too large for annotations, in a world that has the kind. */
export function largeStory(on: () => World, declare: (world: World, each: number) => Promise<void>): void {
  let world: World;
  let operators: { stop(): Promise<void> }[] = [];

  beforeAll(() => {
    world = on();
    const database = new SharedDatabase();
    operators = [...world.stack.members].map(([name, api]) =>
      startContractOperator(name, api, database, { workMs: 1 }),
    );
  });
  afterAll(() => Promise.all(operators.map((operator) => operator.stop())));

  const settled = (total: number) =>
    world.until(
      `${total} instances are ready`,
      async () => {
        const { phase, readyReplicas, observedGeneration, reason, message } = await world.status("xline");
        const object = await world.hub.find(CCS, { namespace: "default", name: "xline" });
        const isNow = observedGeneration === object?.metadata.generation;
        return (
          (phase === "Settled" && readyReplicas === total && isNow) || `${phase} ${readyReplicas} ${reason} ${message}`
        );
      },
      SETTLED_MS,
    );
  const annotations = async (member: string) => {
    const { metadata } = await world.member(member).get(XLINES, { namespace: "default", name: "xline" });
    return metadata.annotations ?? {};
  };
  const refersTo = async (member: string) => {
    const names = parseTopologyRef((await annotations(member))[ANNOTATIONS.topologyRef] ?? "")?.configMaps ?? [];
    return [...names].sort();
  };
  const parts = async (member: string) => {
    const { items } = await world.member(member).listAll(CONFIG_MAPS, { namespace: "default" });
    return items
      .map(({ metadata }) => metadata.name)
      .filter((name) => name.startsWith("xline-topology-"))
      .sort();
  };

  it("is deployed with 900 instances; every member holds exactly what its object refers to", async () => {
    await declare(world, 300);
    await settled(900);
    for (const member of MEMBERS) {
      expect((await annotations(member))[ANNOTATIONS.topology]?.slice(0, 40)).toBe(TOPOLOGY_ELSEWHERE);
      expect(await refersTo(member)).toHaveLength(2);
      await world.until(`${member} holds nothing else`, async () => {
        return (await parts(member)).join() === (await refersTo(member)).join();
      });
    }
  });

  it("is scaled back into annotations, and leaves no ConfigMap behind", async () => {
    await declare(world, 20);
    await settled(60);
    for (const member of MEMBERS) {
      const { [ANNOTATIONS.topology]: topology, [ANNOTATIONS.topologyRef]: ref } = await annotations(member);
      expect(ref).toBe("");
      expect(JSON.parse(topology ?? "")).toHaveLength(3);
      await world.until(`${member} holds no part any more`, async () => (await parts(member)).length === 0);
    }
  });
}
