import { beforeAll, expect, it } from "vitest";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import type { Observer } from "../../src/engine/testing/observer.ts";
import { resource } from "../../src/kube/index.ts";
import { isJsonObject } from "../../src/runtime/index.ts";
import { CCS, MANAGER, podUids, STATEFULSETS, type World } from "./world.ts";

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const SECRETS = resource({ apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true });

/** The workload in spec.template on an engine's real API servers, which fill in the defaults of an object and of none inline. */
export function inlineStory(on: () => World, name: string): void {
  const at = { namespace: "default", name };
  const object = (image: string) => statefulSet(name, 5, image);
  const inline = (image: string) => {
    const { apiVersion, kind, spec } = object(image);
    return { template: { apiVersion, kind, spec: isJsonObject(spec) ? spec : {} } };
  };
  const selector = { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name } };
  const declare = (spec: object) => {
    const clusters = [2, 2, 1].map((replicas, index) => ({ name: `member${index + 1}`, replicas }));
    const { apiVersion, kind } = CCS;
    const whole = { topology: { clusters }, updateStrategy: { type: "RollingUpdate" }, ...spec };
    return on().hub.apply(CCS, { apiVersion, kind, metadata: at, spec: whole }, MANAGER);
  };
  /** Settled on the template of this object. */
  const settledOn = async (uid: string | undefined) => {
    const world = on();
    await world.until("it is settled on that template", async () => {
      const { observedTemplate } = await world.status(name);
      const isSeen = isJsonObject(observedTemplate) && observedTemplate.uid === uid;
      return (isSeen && (await world.settled(name, 5))) || JSON.stringify(observedTemplate);
    });
  };
  let observer: Observer;
  beforeAll(async () => {
    observer = await on().watch(STATEFULSETS);
  });

  it("is deployed without an object, a policy or a hold on the hub", async () => {
    await declare(inline(`${name}:1`));
    await on().until("five instances are ready", () => on().settled(name, 5));
    expect(await on().hub.find(STATEFULSETS, at)).toBeUndefined();
  });

  it("moves to an object on the hub and back, and no pod is restarted", async () => {
    const { hub } = on();
    const before = await podUids(on(), name);
    const applied = await hub.apply(STATEFULSETS, object(`${name}:1`), MANAGER);
    // The API server has completed it: it says more than the inline template.
    expect(JSON.stringify(applied.spec)).toContain("revisionHistoryLimit");
    await declare(selector);
    await settledOn(applied.metadata.uid);
    expect(await podUids(on(), name)).toEqual(before);
    await declare(inline(`${name}:1`));
    await settledOn((await hub.get(CCS, at)).metadata.uid);
    await hub.delete(STATEFULSETS, at);
    await on().until("the object is gone", async () => (await hub.find(STATEFULSETS, at)) === undefined);
    await on().until("it is settled", () => on().settled(name, 5));
    expect(await podUids(on(), name)).toEqual(before);
  });

  it("takes the ConfigMap and the Secret that it names along; an edit of one of them is an update, in turn", async () => {
    const { hub, until, members } = on();
    const envFrom = [{ configMapRef: { name } }, { secretRef: { name } }];
    const settings = (value: string) =>
      hub.apply(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: at, data: { value } }, MANAGER);
    await settings("a");
    const data = { password: "c2VjcmV0" };
    await hub.apply(SECRETS, { apiVersion: "v1", kind: "Secret", metadata: at, data }, MANAGER);
    const { template } = inline(`${name}:1`);
    const containers = [{ name: "app", image: `${name}:1`, envFrom }];
    const pods = { metadata: { labels: { app: name } }, spec: { containers } };
    await declare({ template: { ...template, spec: { ...template.spec, template: pods } } });
    const heldEverywhere = (value: string) =>
      until(`every member has '${value}'`, async () => {
        const found = await Promise.all([...members.values()].map((member) => member.find(CONFIG_MAPS, at)));
        const values = found.map((each) => (isJsonObject(each?.data) ? String(each.data.value) : "none"));
        return values.every((each) => each === value) || values.join();
      });
    await heldEverywhere("a");
    await until("it is settled", () => on().settled(name, 5));
    for (const member of members.values()) expect((await member.get(SECRETS, at)).data).toEqual(data);
    const { updateRevision: first } = await on().status(name);
    await settings("b");
    await until("there is another revision", async () => (await on().status(name)).updateRevision !== first);
    await heldEverywhere("b");
    await until("it is settled", () => on().settled(name, 5));
  });

  it("waits while another application has the same member objects", async () => {
    const { hub, until, stage } = on();
    const twin = `${name}-twin`;
    const { apiVersion, kind } = CCS;
    const { template } = inline(`${name}:evil`);
    const clusters = [{ name: "member1", replicas: 1 }];
    const spec = { template: { ...template, metadata: { name } }, topology: { clusters } };
    await hub.apply(CCS, { apiVersion, kind, metadata: { ...at, name: twin }, spec }, MANAGER);
    await until("it waits", async () => {
      const { reason } = await on().status(twin);
      return reason === "TemplateClaimed" || String(reason);
    });
    const works = await hub.listAll(stage.works, { labelSelector: "lockstep.karmada.io/app" });
    const names = works.items.map(({ metadata }) => metadata.annotations?.["lockstep.karmada.io/app-name"]);
    expect(names).not.toContain(twin);
    await hub.delete(CCS, { ...at, name: twin });
  });

  it("showed no spec in any member that was not granted", () => {
    expect(observer.violations().filter((seen) => seen.name === name)).toEqual([]);
    expect(observer.states).toBeGreaterThan(5);
  });
}
