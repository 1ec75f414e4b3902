import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../src/kube/index.ts";
import { resource } from "../../src/kube/index.ts";
import { type RealFleet, startFleet } from "../stack/fleet.ts";
import { startStack } from "./stack/stack.ts";

const MANAGED_CLUSTERS = resource({
  apiVersion: "cluster.open-cluster-management.io/v1",
  kind: "ManagedCluster",
  plural: "managedclusters",
  namespaced: false,
});
const MANIFEST_WORKS = resource({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "ManifestWork",
  plural: "manifestworks",
  namespaced: true,
});
const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });

describe("the stack: a real OCM on loopback", () => {
  let fleet: RealFleet;
  beforeAll(async () => {
    fleet = await startFleet("ocm", startStack);
  });
  afterAll(() => fleet?.stop());

  it("registers three clusters", async () => {
    const { items } = await fleet.hub.listAll(MANAGED_CLUSTERS);
    expect(items.map(({ metadata }) => metadata.name).sort()).toEqual(["member1", "member2", "member3"]);
  });

  it("applies a ManifestWork to one member only, and brings its values back", async () => {
    const configMap = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "hello", namespace: "default" } };
    const resourceIdentifier = { group: "", resource: "configmaps", name: "hello", namespace: "default" };
    const jsonPaths = [
      { name: "word", path: ".data.word" },
      { name: "uid", path: ".metadata.uid" },
    ];
    const work: KubeObject = {
      apiVersion: MANIFEST_WORKS.apiVersion,
      kind: MANIFEST_WORKS.kind,
      metadata: { name: "hello", namespace: "member2" },
      spec: {
        workload: { manifests: [{ ...configMap, data: { word: "hi" } }] },
        manifestConfigs: [
          { resourceIdentifier, feedbackScrapeType: "Watch", feedbackRules: [{ type: "JSONPaths", jsonPaths }] },
        ],
      },
    };
    await fleet.hub.create(MANIFEST_WORKS, work);
    const inMember = (name: string) => fleet.members.get(name)?.find(CONFIG_MAPS, configMap.metadata);
    await fleet.until("member2 has it", async () => (await inMember("member2")) !== undefined);
    const uid = (await inMember("member2"))?.metadata.uid;
    await fleet.until("the hub sees its values", async () => {
      const { status } = await fleet.hub.get(MANIFEST_WORKS, work.metadata);
      const text = JSON.stringify(status ?? {});
      return (text.includes('"string":"hi"') && text.includes(`"string":"${uid}"`)) || text;
    });
    expect(await inMember("member1")).toBeUndefined();
    expect(await inMember("member3")).toBeUndefined();
  });
});
