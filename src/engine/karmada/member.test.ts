import { beforeEach, describe, expect, it } from "vitest";
import { KubeClient, type KubeObject, resource } from "../../kube/index.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { seededRandom } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { claimOrdinal } from "../members/live-member.ts";
import { PODS } from "../members/streams.ts";
import { KarmadaMember } from "./member.ts";

describe("the claims of a StatefulSet", () => {
  const web = { workload: "web", templates: ["data", "my-logs"] };

  it.each([
    ["data-web-0", 0],
    ["my-logs-web-12", 12],
  ])("%s belongs to ordinal %i", (claim, ordinal) => {
    expect(claimOrdinal(claim, web)).toBe(ordinal);
  });

  it.each(["data-my-web-0", "logs-web-0", "web-0", "data-web", "data-web-0-old", "data-website-0"])(
    "%s belongs to another workload",
    (claim) => {
      expect(claimOrdinal(claim, web)).toBeUndefined();
    },
  );
});

describe("the claims of an operator's instances, whose naming is not declared", () => {
  it("are those that can belong to no other workload", () => {
    expect(claimOrdinal("data-xline-3", { workload: "xline" })).toBe(3);
    expect(claimOrdinal("data-my-xline-3", { workload: "xline" })).toBeUndefined();
  });
});

describe("what Lockstep deletes in a member", () => {
  const CLAIMS = resource({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    plural: "persistentvolumeclaims",
    namespaced: true,
  });
  const WEB = { workload: "web", templates: ["data"] };
  let clock: VirtualClock;
  let api: FakeApi;
  let member: KarmadaMember;
  let confirmed: number;
  const confirm = async () => void confirmed++;
  const left = () => api.list(CLAIMS).map(({ metadata }) => metadata.name);
  const deletes = () => api.requests.filter(({ method }) => method === "DELETE");

  beforeEach(() => {
    clock = new VirtualClock();
    api = new FakeApi({ clock });
    const client = new KubeClient({ transport: api, clock, random: seededRandom(1) });
    member = new KarmadaMember(client, "east", (_cluster, apiVersion, kind) =>
      client.discovery.resource(apiVersion, kind),
    );
    confirmed = 0;
    for (const name of ["data-web-0", "data-web-1", "data-other-0"]) api.put(CLAIMS, claim(name));
  });

  const claim = (name: string, labels = {}): KubeObject => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default", labels },
  });

  it("is the workload's own claims, each in the version that was read after leadership was confirmed", async () => {
    const own = api.list(CLAIMS).filter(({ metadata }) => metadata.name.startsWith("data-web-"));
    const versions = own.map(({ metadata: { uid, resourceVersion } }) => ({ uid, resourceVersion }));
    await clock.run(member.deleteVolumes("default", WEB, confirm));
    expect(left()).toEqual(["data-other-0"]);
    expect(confirmed).toBe(1);
    const asked = deletes().map(({ body }) => (body as { preconditions: object }).preconditions);
    expect(asked).toEqual(versions);
  });

  it("is nothing if the process no longer leads: it does not even read the claims", async () => {
    const deposed = async () => {
      throw new Error("another leader has taken over");
    };
    await expect(clock.run(member.deleteVolumes("default", WEB, deposed))).rejects.toThrow("another leader");
    expect(api.requests).toEqual([]);
  });

  it("is not a claim that changed meanwhile: a process that still leads reads it again", async () => {
    let changes = 1;
    api.fault = ({ method }) => {
      if (method === "DELETE" && changes-- > 0) api.put(CLAIMS, claim("data-web-0", { changed: "yes" }));
      return undefined;
    };
    await clock.run(member.deleteVolumes("default", WEB, confirm));
    expect(left()).toEqual(["data-other-0"]);
    expect(confirmed).toBe(2);
  });

  it("is not a claim that was recreated under the same name before leadership was lost", async () => {
    api.fault = ({ method }) => {
      if (method !== "DELETE") return undefined;
      api.remove(CLAIMS, { namespace: "default", name: "data-web-0" });
      api.put(CLAIMS, claim("data-web-0", { successors: "yes" }));
      return undefined;
    };
    const once = async () => {
      if (confirmed++ > 0) throw new Error("another leader has taken over");
    };
    await expect(clock.run(member.deleteVolumes("default", WEB, once))).rejects.toThrow("another leader");
    expect(left()).toContain("data-web-0");
  });

  it("is not retried forever: claims that keep changing are an error, and are retried later", async () => {
    let version = 0;
    api.fault = ({ method }) => {
      if (method === "DELETE") api.put(CLAIMS, claim("data-web-0", { version: String(++version) }));
      return undefined;
    };
    await expect(clock.run(member.deleteVolumes("default", WEB, confirm))).rejects.toThrow(/data-web-0 .*east/);
  });

  it("is a pod only in the version that was seen", async () => {
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "web-0", namespace: "default" } };
    const { uid = "", resourceVersion = "" } = api.put(PODS, pod).metadata;
    const seen = { name: "web-0", uid, version: resourceVersion };
    api.put(PODS, { ...pod, metadata: { ...pod.metadata, labels: { ready: "by now" } } });
    await clock.run(member.deletePod("default", seen));
    expect(api.list(PODS)).toHaveLength(1);
    const version = api.list(PODS)[0]?.metadata.resourceVersion ?? "";
    await clock.run(member.deletePod("default", { ...seen, version }));
    expect(api.list(PODS)).toEqual([]);
  });
});
