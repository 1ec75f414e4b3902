import { createHash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { ANNOTATIONS, TOPOLOGY_ELSEWHERE } from "../contract/index.ts";
import { type ConfigMap, readGrant, readWholeGrant } from "./index.ts";

const topology = [
  { cluster: "east", replicas: 1, ordinals: [0], instances: ["xline-0"], addresses: ["a:1"], states: ["member"] },
];
const document = JSON.stringify({ topology, initialCluster: "xline-0=a:1" });
const sha256 = createHash("sha256").update(document).digest("hex");
const configMaps = ["xline-topology-1", "xline-topology-2"];
const parts = new Map<string, ConfigMap>([
  ["xline-topology-1", { data: { part: document.slice(0, 20) } }],
  ["xline-topology-2", { data: { part: document.slice(20) } }],
]);

function objectWith(ref: string) {
  const annotations = {
    [ANNOTATIONS.cluster]: "east",
    [ANNOTATIONS.epoch]: "12",
    [ANNOTATIONS.revision]: "r3",
    [ANNOTATIONS.processor]: "true",
    [ANNOTATIONS.topology]: TOPOLOGY_ELSEWHERE,
    [ANNOTATIONS.topologyRef]: ref,
    [ANNOTATIONS.initialCluster]: TOPOLOGY_ELSEWHERE,
    [ANNOTATIONS.topologyVersion]: "4",
  };
  return { metadata: { annotations } };
}
const object = objectWith(JSON.stringify({ sha256, configMaps }));
const whole = { cluster: "east", epoch: 12, topology, initialCluster: "xline-0=a:1", topologyVersion: 4 };

describe("[I11] a grant whose topology is in ConfigMaps", () => {
  it("is read from them, in the order of the reference", () => {
    expect(readGrant(object, (name) => parts.get(name))).toMatchObject({ state: "granted", grant: whole });
  });

  it("is not a grant while one of them has not been read, and names those that are needed", () => {
    expect(readGrant(object)).toEqual({ state: "referenced", configMaps });
    const lacksOne = (name: string) => (name === "xline-topology-2" ? undefined : parts.get(name));
    expect(readGrant(object, lacksOne)).toEqual({ state: "referenced", configMaps });
    expect(readGrant(object, () => ({ data: {} }))).toEqual({ state: "referenced", configMaps });
  });

  it("is not acted on when a ConfigMap differs from the granted content", () => {
    const forged = (name: string) => (name === "xline-topology-2" ? { data: { part: "]" } } : parts.get(name));
    const reading = readGrant(object, forged);
    expect(reading).toMatchObject({ state: "malformed" });
    expect(reading.state === "malformed" && reading.problems[0]).toContain(`${sha256} was granted`);
  });

  it("is not acted on when the hash matches and the content is not a topology", () => {
    const text = '{"topology":"none"}';
    const ref = { sha256: createHash("sha256").update(text).digest("hex"), configMaps: ["x"] };
    const reading = readGrant(objectWith(JSON.stringify(ref)), () => ({ data: { part: text } }));
    expect(reading).toEqual({
      state: "malformed",
      problems: [`${ANNOTATIONS.topologyRef} is not a list of clusters with their instances`],
    });
  });

  it.each([
    ["no JSON", "xline-topology-1"],
    ["no hash", JSON.stringify({ configMaps })],
    ["a short hash", JSON.stringify({ sha256: "abc", configMaps })],
    ["no ConfigMaps", JSON.stringify({ sha256, configMaps: [] })],
    ["a ConfigMap without a name", JSON.stringify({ sha256, configMaps: [""] })],
    ["more ConfigMaps than any application has", JSON.stringify({ sha256, configMaps: Array(101).fill("x") })],
  ])("is malformed when the reference has %s", (_what, ref) => {
    expect(readGrant(objectWith(ref), (name) => parts.get(name))).toMatchObject({ state: "malformed" });
  });

  it("is read completely by a function that fetches the referenced ConfigMaps", async () => {
    const asked: string[] = [];
    const read = async (name: string) => {
      asked.push(name);
      return parts.get(name);
    };
    expect(await readWholeGrant(object, read)).toMatchObject({ state: "granted", grant: whole });
    expect(asked).toEqual(configMaps);
    expect(await readWholeGrant(object, async () => undefined)).toEqual({ state: "referenced", configMaps });
  });

  it("is malformed, and so not acted on, for an operator that reads only the annotation", () => {
    expect(readGrant(objectWith(""))).toMatchObject({ state: "malformed" });
  });
});

it("a grant in annotations needs no ConfigMap", async () => {
  const { annotations } = objectWith("").metadata;
  const inline = { metadata: { annotations: { ...annotations, [ANNOTATIONS.topology]: JSON.stringify(topology) } } };
  const read = async () => {
    throw new Error("nothing has to be read");
  };
  expect(await readWholeGrant(inline, read)).toMatchObject({ state: "granted" });
});
