/** What a tenant can and cannot do with an application, on an embedded hub with RBAC. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import type { JsonObject } from "../runtime/index.ts";
import { application, configMap, DISTRIBUTED_APPLICATIONS, inline, settle, statusOf } from "./testing/application.ts";
import { World } from "./testing/world.ts";

const MEMBERS = ["member1", "member2"];
const schemas = new SchemaCache();
const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const RBAC = "rbac.authorization.k8s.io";
const ROLE_BINDINGS = resource({
  apiVersion: `${RBAC}/v1`,
  kind: "RoleBinding",
  plural: "rolebindings",
  namespaced: true,
});

describe("an application of a tenant who may distribute ConfigMaps and anything of RBAC in its own namespace", () => {
  let world: World;
  beforeEach(async () => {
    world = new World(73, { schemas, members: MEMBERS, authorizer: "RBAC" });
    await world.start();
    const metadata = { name: "deployer", namespace: "default" };
    const rules = [
      { apiGroups: [""], resources: ["configmaps"], verbs: ["distribute"] },
      { apiGroups: [RBAC], resources: ["*"], verbs: ["distribute"] },
    ];
    await world.apply({ apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules });
    await world.apply({
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name: "deployer" },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
    });
  });
  afterEach(() => world.stop());

  const declare = (name: string, objects: JsonObject[], more: JsonObject = {}) =>
    world.apply(
      application(name, {
        source: inline(...objects),
        clusters: { names: MEMBERS },
        revisionSettleSeconds: 0,
        ...more,
      }) satisfies KubeObject,
    );
  const forbidden = async (name: string, missing: string) => {
    await world.until("it is forbidden", () => statusOf(world, name).reason === "Forbidden");
    expect(String(statusOf(world, name).message)).toContain(missing);
  };
  const data = async (name: string, namespace = "default") =>
    (await world.ask(world.fleet.client("member1").find(CONFIG_MAPS, { namespace, name })))?.data;

  it("puts nothing into another namespace", async () => {
    const elsewhere = { ...configMap("a", { x: "1" }), metadata: { name: "a", namespace: "other" } };
    await declare("shop", [elsewhere]);
    await forbidden("shop", "may not distribute configmaps in namespace other");
    expect(await data("a", "other")).toBeUndefined();
  });

  it("puts nothing into kube-system by targetNamespace", async () => {
    await declare("shop", [configMap("a", { x: "1" })], { targetNamespace: "kube-system" });
    await forbidden("shop", "distribute namespaces, distribute configmaps in namespace kube-system");
    expect(await data("a", "kube-system")).toBeUndefined();
  });

  it("uses the one other namespace that a role names, and cannot touch another one", async () => {
    const metadata = { name: "kitchen" };
    const namespaces = {
      apiGroups: [""],
      resources: ["namespaces"],
      resourceNames: ["kitchen"],
      verbs: ["distribute"],
    };
    const configMaps = { apiGroups: [""], resources: ["configmaps"], verbs: ["distribute"] };
    const subjects = [{ kind: "ServiceAccount", name: "default", namespace: "default" }];
    const bound = { metadata, subjects, roleRef: { apiGroup: RBAC, kind: "ClusterRole", name: "kitchen" } };
    await world.apply({ apiVersion: `${RBAC}/v1`, kind: "ClusterRole", metadata, rules: [namespaces, configMaps] });
    await world.apply({ apiVersion: `${RBAC}/v1`, kind: "ClusterRoleBinding", ...bound });
    await declare("shop", [configMap("a", { x: "1" })], { targetNamespace: "kitchen" });
    await settle(world, "shop");
    expect(await data("a", "kitchen")).toEqual({ x: "1" });
    const labels = { "pod-security.kubernetes.io/enforce": "privileged" };
    const system = { apiVersion: "v1", kind: "Namespace", metadata: { name: "kube-system", labels } };
    await declare("shop", [configMap("a", { x: "1" }), system], { targetNamespace: "kitchen", adopt: true });
    await forbidden("shop", "may not distribute namespaces kube-system; nothing moves");
  });

  it("gives no rights away without bind and escalate, and not by a hook either", async () => {
    const metadata = { name: "all" };
    const role = { apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules: [] };
    const roleRef = { apiGroup: RBAC, kind: "ClusterRole", name: "cluster-admin" };
    const binding = { apiVersion: `${RBAC}/v1`, kind: "RoleBinding", metadata, roleRef, subjects: [] };
    await declare("shop", [role, binding]);
    await forbidden("shop", `escalate roles.${RBAC} all in namespace default, bind clusterroles.${RBAC} cluster-admin`);
    const annotations = { "helm.sh/hook": "pre-install" };
    await declare("hooked", [{ ...binding, metadata: { ...metadata, annotations } }]);
    await forbidden("hooked", `bind clusterroles.${RBAC} cluster-admin in namespace default`);
    const wide = { ...binding, kind: "ClusterRoleBinding" };
    await declare("wide", [wide]);
    await forbidden("wide", `distribute clusterrolebindings.${RBAC}`);
  });

  it("[A27] gives no right away by an override: what each cluster gets is asked for", async () => {
    const metadata = { name: "readers", namespace: "default" };
    const bindable = { apiGroups: [RBAC], resources: ["clusterroles"], resourceNames: ["view"], verbs: ["bind"] };
    await world.apply({ apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules: [bindable] });
    await world.apply({
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name: "readers" },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
    });
    const binding = (name: string) => ({
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata: { name: "all" },
      roleRef: { apiGroup: RBAC, kind: "ClusterRole", name },
      subjects: [],
    });
    const target = { kind: "RoleBinding", name: "all" };
    const patched = (value: string) => ({
      overrides: [
        {
          clusters: { names: ["member2"] },
          patches: [{ target, patch: [{ op: "replace", path: "/roleRef/name", value }] }],
        },
      ],
    });
    for (const [inOne, inTwo] of [
      ["cluster-admin", "view"],
      ["view", "cluster-admin"],
    ] as const) {
      await declare("shop", [binding(inOne)], patched(inTwo));
      await forbidden("shop", `bind clusterroles.${RBAC} cluster-admin`);
      expect(
        await world.ask(world.fleet.client("member1").find(ROLE_BINDINGS, { namespace: "default", name: "all" })),
      ).toBe(undefined);
      await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, { namespace: "default", name: "shop" }));
      await world.clock.advance(60_000);
    }
  });

  it("takes no object of another application, not even with a forged mark and adopt", async () => {
    await declare("first", [configMap("shared", { of: "first" })]);
    await settle(world, "first");
    const marks = { labels: { "lockstep.karmada.io/owner": "first" } };
    await declare("second", [{ ...configMap("shared", { of: "second" }), metadata: { name: "shared", ...marks } }], {
      adopt: true,
    });
    await world.until("it has stopped", () => statusOf(world, "second").phase === "Halted");
    expect(String(statusOf(world, "second").message)).toContain("it belongs to another application of Lockstep");
    expect(await data("shared")).toEqual({ of: "first" });
  });

  it("[A27] moves nothing once a right is taken away, and runs on as before", async () => {
    await declare("shop", [configMap("a", { x: "1" })]);
    await settle(world, "shop");
    await world.ask(world.hub.delete(ROLE_BINDINGS, { namespace: "default", name: "deployer" }));
    await world.clock.advance(60_000);
    await declare("shop", [configMap("a", { x: "2" })]);
    await forbidden("shop", "may not distribute configmaps in namespace default");
    expect(await data("a")).toEqual({ x: "1" });
  });

  it("[A27] undoes to no revision that has more than the account may distribute now", async () => {
    const metadata = { name: "services", namespace: "default" };
    const rules = [{ apiGroups: [""], resources: ["services"], verbs: ["distribute"] }];
    await world.apply({ apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules });
    await world.apply({
      apiVersion: `${RBAC}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: RBAC, kind: "Role", name: "services" },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
    });
    const service = { apiVersion: "v1", kind: "Service", metadata: { name: "s" }, spec: { ports: [{ port: 80 }] } };
    await declare("shop", [configMap("a", { x: "1" }), service]);
    await settle(world, "shop");
    const first = String(statusOf(world, "shop").revision);
    await declare("shop", [configMap("a", { x: "2" })]);
    await settle(world, "shop");
    await world.ask(world.hub.delete(ROLE_BINDINGS, { namespace: "default", name: "services" }));
    await world.clock.advance(60_000);
    await declare("shop", [configMap("a", { x: "2" })], { undo: { to: first, at: "2030-01-01T00:00:00Z" } });
    await forbidden("shop", "may not distribute services in namespace default");
    expect(await data("a")).toEqual({ x: "2" });
  });
});
