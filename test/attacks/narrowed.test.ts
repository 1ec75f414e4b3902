/** The narrower rights of docs/security.md, as the page has them: enough for the namespace and clusters they name. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defaultRoles } from "../../src/apiserver/testing/roles.ts";
import { World } from "../../src/embedded/testing/world.ts";
import { isJsonObject, type JsonObject } from "../../src/runtime/index.ts";
import { type Ask, askThrough, installed, MERGE, PEOPLE, surroundings } from "./ground.ts";
import { crossCluster, isSettled, secret, statefulSet } from "./objects.ts";
import { saved } from "./page.ts";

const APPS = "/apis/apps.karmada.io/v1alpha1/namespaces";

function idOf({ kind, metadata }: JsonObject): string {
  const { namespace = "", name } = isJsonObject(metadata) ? metadata : {};
  return `${kind} ${namespace}/${name}`;
}

describe("a controller with the narrower rights of docs/security.md", () => {
  const narrow = saved("docs/security.md", "narrow.yaml");
  const replaced = new Set(narrow.map(idOf));
  const shipped = installed().filter((object) => !replaced.has(idOf(object)));
  const world = new World(13, {
    authorizer: "RBAC",
    installed: [...defaultRoles(), ...shipped, ...surroundings(), ...narrow],
  });
  const admin: Ask = (...request) => world.clock.run(askThrough(world.fleet.hub.transport())(...request));

  async function deploy(namespace: string, spec: JsonObject = {}): Promise<void> {
    await admin("POST", `/api/v1/namespaces/${namespace}/secrets`, secret("web", namespace));
    await admin("POST", `${APPS}/${namespace}/crossclusterstatefulsets`, crossCluster("web", spec, namespace));
    await admin("POST", `/apis/apps/v1/namespaces/${namespace}/statefulsets`, withVolumes(namespace));
  }

  const object = (namespace: string) =>
    world.fleet.hubObject("apps.karmada.io/crossclusterstatefulsets", namespace, "web");
  const inMember = (resource: string) => world.fleet.member("member1").api.list(resource, "shop").length;

  beforeAll(async () => {
    expect(replaced).toContain("ClusterRole /lockstep-controller");
    await world.clock.run(world.fleet.start());
    world.startController(PEOPLE.controller);
  });

  afterAll(() => world.stop());

  it("deploys, updates and tears down an application in that namespace, volumes included", async () => {
    const settled = () => isSettled(object("shop"));
    await deploy("shop", { deletionPolicy: "Teardown", retentionPolicy: { whenDeleted: "Delete" } });
    await world.until("the application runs", settled);
    const sets = "/apis/apps/v1/namespaces/shop/statefulsets/web";
    const containers = [{ name: "web", image: "web:2" }];
    await admin("PATCH", sets, { spec: { template: { spec: { containers } } } }, MERGE);
    await world.until("it is updated", () => settled() && images().every((image) => image === "web:2"));
    expect(inMember("/persistentvolumeclaims")).toBe(1);
    await admin("DELETE", `${APPS}/shop/crossclusterstatefulsets/web`);
    await world.until("it is gone", () => object("shop") === undefined);
    expect([inMember("apps/statefulsets"), inMember("/persistentvolumeclaims")]).toEqual([0, 0]);
  });

  it("does nothing in another namespace", async () => {
    await deploy("vault");
    await world.clock.run(world.clock.sleep(60_000));
    expect(object("vault")?.metadata.finalizers).toBeUndefined();
    expect(world.fleet.member("member1").api.list("apps/statefulsets", "vault")).toEqual([]);
  });

  function images(): string[] {
    const pods = ["member1", "member2"].flatMap((name) => world.fleet.member(name).api.list("/pods", "shop"));
    return pods.map((pod) => /"image":"([^"]+)"/.exec(JSON.stringify(pod.spec))?.[1] ?? "");
  }
});

function withVolumes(namespace: string): JsonObject {
  const set = statefulSet("web", "web:1", namespace);
  const claim = { metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } };
  return { ...set, spec: { ...(set.spec as JsonObject), volumeClaimTemplates: [claim] } };
}
