import {
  AppsV1Api,
  CoreV1Api,
  CustomObjectsApi,
  KubeConfig,
  KubernetesObjectApi,
  PatchStrategy,
  setHeaderOptions,
  Watch,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cluster } from "./cluster.ts";
import { GADGET_CRD } from "./manifests.ts";

/** A second client, written by other people in another language than kubectl. */
let cluster: Cluster;
let config: KubeConfig;
let core: CoreV1Api;
beforeAll(async () => {
  cluster = await Cluster.start();
  config = new KubeConfig();
  config.loadFromFile(cluster.kubeconfig);
  core = config.makeApiClient(CoreV1Api);
  await core.createNamespace({ body: { metadata: { name: "node" } } });
});
afterAll(() => cluster.close());

const namespace = "node";
const CRD = GADGET_CRD.replaceAll("gadget", "device").replaceAll("Gadget", "Device").replace("[gd]", "[dv]");

describe("@kubernetes/client-node", () => {
  it("creates, reads, lists in pages and deletes", async () => {
    for (const name of ["a", "b", "c"]) {
      await core.createNamespacedConfigMap({
        namespace,
        body: { metadata: { name, labels: { list: "yes" } }, data: { name } },
      });
    }
    expect((await core.readNamespacedConfigMap({ name: "a", namespace })).data).toEqual({ name: "a" });
    const first = await core.listNamespacedConfigMap({ namespace, labelSelector: "list=yes", limit: 2 });
    expect(first.items.map((each) => each.metadata?.name)).toEqual(["a", "b"]);
    const second = await core.listNamespacedConfigMap({
      namespace,
      labelSelector: "list=yes",
      limit: 2,
      _continue: first.metadata?._continue,
    });
    expect(second.items.map((each) => each.metadata?.name)).toEqual(["c"]);
    await core.deleteNamespacedConfigMap({ name: "a", namespace });
    await expect(core.readNamespacedConfigMap({ name: "a", namespace })).rejects.toMatchObject({ code: 404 });
  });

  it("patches in each way", async () => {
    const apps = config.makeApiClient(AppsV1Api);
    const labels = { app: "patched" };
    const containers = [
      { name: "main", image: "registry.example/main:1" },
      { name: "side", image: "registry.example/side:1" },
    ];
    await apps.createNamespacedStatefulSet({
      namespace,
      body: {
        metadata: { name: "patched" },
        spec: {
          serviceName: "patched",
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: { containers } },
        },
      },
    });
    const patch = (body: unknown, strategy: (typeof PatchStrategy)[keyof typeof PatchStrategy]) =>
      apps.patchNamespacedStatefulSet({ name: "patched", namespace, body }, setHeaderOptions("Content-Type", strategy));
    const strategic = await patch(
      { spec: { template: { spec: { containers: [{ name: "side", image: "registry.example/side:2" }] } } } },
      PatchStrategy.StrategicMergePatch,
    );
    expect(strategic.spec?.template.spec?.containers.map((each) => each.image)).toEqual([
      "registry.example/main:1",
      "registry.example/side:2",
    ]);
    expect(
      (await patch([{ op: "replace", path: "/spec/replicas", value: 4 }], PatchStrategy.JsonPatch)).spec?.replicas,
    ).toBe(4);
    expect((await patch({ spec: { replicas: 2 } }, PatchStrategy.MergePatch)).spec?.replicas).toBe(2);
  });

  it("applies on the server, with conflicts and force", async () => {
    const objects = KubernetesObjectApi.makeApiClient(config);
    const apply = (manager: string, value: string, force?: boolean) =>
      objects.patch(
        {
          apiVersion: "v1",
          kind: "ConfigMap",
          metadata: { name: "applied", namespace },
          data: { key: value },
        } as never,
        undefined,
        undefined,
        manager,
        force,
        PatchStrategy.ServerSideApply,
      );
    await apply("one", "1");
    await expect(apply("two", "2")).rejects.toMatchObject({
      code: 409,
      body: expect.stringContaining('conflict with \\"one\\"'),
    });
    await apply("two", "2", true);
    expect((await core.readNamespacedConfigMap({ name: "applied", namespace })).data).toEqual({ key: "2" });
  });

  it("watches from a list's version: what comes after it, in order, and bookmarks if asked", async () => {
    const list = await core.listNamespacedConfigMap({ namespace });
    const seen: string[] = [];
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const abort = await new Watch(config).watch(
      `/api/v1/namespaces/${namespace}/configmaps`,
      { resourceVersion: list.metadata?.resourceVersion, allowWatchBookmarks: true },
      (type, object) => {
        if (type === "BOOKMARK") return;
        seen.push(`${type} ${object.metadata.name} ${object.data?.step ?? ""}`);
        if (type === "DELETED") finish();
      },
      () => finish(),
    );
    const body = { metadata: { name: "watched" }, data: { step: "1" } };
    await core.createNamespacedConfigMap({ namespace, body });
    await core.replaceNamespacedConfigMap({ name: "watched", namespace, body: { ...body, data: { step: "2" } } });
    await core.deleteNamespacedConfigMap({ name: "watched", namespace });
    await finished;
    abort.abort();
    expect(seen).toEqual(["ADDED watched 1", "MODIFIED watched 2", "DELETED watched 2"]);
  });

  it("works with custom kinds", async () => {
    await cluster.kubectl("apply -f -", CRD);
    await cluster.kubectl("wait --for=condition=Established crd/devices.example.lockstep.dev --timeout=20s");
    const custom = config.makeApiClient(CustomObjectsApi);
    const kind = { group: "example.lockstep.dev", version: "v1alpha1", plural: "devices", namespace };
    const made = await custom.createNamespacedCustomObject({
      ...kind,
      body: {
        apiVersion: "example.lockstep.dev/v1alpha1",
        kind: "Device",
        metadata: { name: "g" },
        spec: { size: "small" },
      },
    });
    expect(made).toMatchObject({ spec: { size: "small", replicas: 1 } });
    await expect(
      custom.createNamespacedCustomObject({
        ...kind,
        body: {
          apiVersion: "example.lockstep.dev/v1alpha1",
          kind: "Device",
          metadata: { name: "bad" },
          spec: { size: "no" },
        },
      }),
    ).rejects.toMatchObject({ code: 422 });
    expect(await custom.getNamespacedCustomObjectScale({ ...kind, name: "g" })).toMatchObject({
      spec: { replicas: 1 },
    });
  });
});
