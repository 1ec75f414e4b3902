import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ANNOTATIONS, parseTopologyRef, TOPOLOGY_ELSEWHERE } from "../../src/contract/index.ts";
import { type KubeObject, resource } from "../../src/kube/index.ts";
import { MEMBERS } from "../stack/commands.ts";
import { SharedDatabase, startContractOperator } from "../stories/contract-operator.ts";
import { installXline, SEED_MANIFEST, XLINES, xline } from "../stories/xline.ts";
import { CCS, MANAGER, startWorld, type World } from "./world.ts";

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
/** As long as a DNS name may be: with 900 instances twice as much text as Kubernetes allows in annotations. */
const LONG_ADDRESS = `{instance}.{cluster}.${["a", "b", "c", "d"].map((letter) => letter.repeat(55)).join(".")}`;

/** All instances at once, and no quorum: this test is about what the members receive, not about the order. */
function manifest(each: number): KubeObject {
  return {
    ...SEED_MANIFEST,
    spec: {
      ...SEED_MANIFEST.spec,
      completion: { protocol: "Contract" },
      podManagementPolicy: "Parallel",
      quorum: "None",
      identity: { addressTemplate: LONG_ADDRESS },
      topology: { clusters: MEMBERS.map((name) => ({ name, replicas: each })) },
    },
  };
}

describe("[I11] an application that is too large for annotations, over three real clusters", () => {
  let world: World;
  let operators: { stop(): Promise<void> }[] = [];

  beforeAll(async () => {
    world = await startWorld();
    await installXline(world);
    const database = new SharedDatabase();
    operators = [...world.stack.members].map(([name, api]) =>
      startContractOperator(name, api, database, { workMs: 1 }),
    );
  });
  afterAll(async () => {
    await Promise.all(operators.map((operator) => operator.stop()));
    await world?.stop();
  });

  const settled = async (total: number) => {
    const { phase, readyReplicas, observedGeneration, reason, message } = await world.status("xline");
    const object = await world.hub.find(CCS, { namespace: "default", name: "xline" });
    const isNow = observedGeneration === object?.metadata.generation;
    return (
      (phase === "Settled" && readyReplicas === total && isNow) || `${phase} ${readyReplicas} ${reason} ${message}`
    );
  };
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
    await world.hub.apply(CCS, manifest(300), MANAGER);
    await world.until("the hold is in place", async () => (await world.status("xline")).reason === "TemplateMissing");
    await world.hub.apply(XLINES, xline("xline:1"), MANAGER);
    await world.until("900 instances are ready", () => settled(900));
    for (const member of MEMBERS) {
      expect((await annotations(member))[ANNOTATIONS.topology]?.slice(0, 40)).toBe(TOPOLOGY_ELSEWHERE);
      expect(await refersTo(member)).toHaveLength(2);
      await world.until(`${member} holds nothing else`, async () => {
        return (await parts(member)).join() === (await refersTo(member)).join();
      });
    }
  });

  it("is scaled back into annotations, and leaves no ConfigMap behind", async () => {
    await world.hub.apply(CCS, manifest(20), MANAGER);
    await world.until("60 instances are ready", () => settled(60));
    for (const member of MEMBERS) {
      const { [ANNOTATIONS.topology]: topology, [ANNOTATIONS.topologyRef]: ref } = await annotations(member);
      expect(ref).toBe("");
      expect(JSON.parse(topology ?? "")).toHaveLength(3);
      await world.until(`${member} holds no part any more`, async () => (await parts(member)).length === 0);
    }
  });
});
