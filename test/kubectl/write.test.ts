import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cluster } from "./cluster.ts";
import { configMap, GADGET_CRD, gadget, object, STATEFUL_SET, statefulSet } from "./manifests.ts";

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
});
afterAll(() => cluster.close());

describe("kubectl create, replace and edit", () => {
  beforeAll(() => cluster.namespace("creating"));

  it("creates once, and says so when the object is there already", async () => {
    expect(await cluster.kubectl("create configmap one -n creating --from-literal=a=1")).toBe(
      "configmap/one created\n",
    );
    expect(await cluster.refused("create configmap one -n creating --from-literal=a=1")).toContain(
      'error: failed to create configmap: configmaps "one" already exists',
    );
  });

  it("completes a generated name", async () => {
    const manifest = object({ apiVersion: "v1", kind: "ConfigMap", metadata: { generateName: "gen-" } });
    expect(await cluster.kubectl("create -n creating -f -", manifest)).toMatch(
      /^configmap\/gen-[a-z0-9]{5} created\n$/,
    );
  });

  it.each([
    ["secret generic login --from-literal=user=ada", "secret/login", { data: { user: "YWRh" }, type: "Opaque" }],
    ["serviceaccount robot", "serviceaccount/robot", {}],
    ["deployment none --image=registry.example/none:1 --replicas=0", "deployment.apps/none", { spec: { replicas: 0 } }],
    ["service clusterip front --tcp=80:8080", "service/front", { spec: { ports: [{ port: 80, targetPort: 8080 }] } }],
    [
      "job once --image=registry.example/once:1",
      "job.batch/once",
      { spec: { template: { spec: { restartPolicy: "Never" } } } },
    ],
    [
      "role reader --verb=get --resource=pods",
      "role.rbac.authorization.k8s.io/reader",
      { rules: [{ resources: ["pods"] }] },
    ],
    [
      "poddisruptionbudget two --selector=app=web --min-available=2",
      "poddisruptionbudget.policy/two",
      { spec: { minAvailable: 2 } },
    ],
    ["quota limits --hard=pods=3", "resourcequota/limits", { spec: { hard: { pods: "3" } } }],
  ])("create %s", async (args, printed, expected) => {
    expect(await cluster.kubectl(`create ${args} -n creating`)).toBe(`${printed} created\n`);
    expect(await cluster.json(`get ${printed} -n creating`)).toMatchObject(expected);
  });

  it("replaces an object, but not a newer one by an older", async () => {
    await cluster.kubectl("create configmap swap -n creating --from-literal=a=1");
    const old = await cluster.kubectl("get configmap swap -n creating -o yaml");
    const changed = old.replace('a: "1"', 'a: "2"');
    expect(await cluster.kubectl("replace -n creating -f -", changed)).toBe("configmap/swap replaced\n");
    expect(await cluster.refused("replace -n creating -f -", changed)).toContain(
      'Operation cannot be fulfilled on configmaps "swap": the object has been modified; please apply your changes to the latest version and try again',
    );
  });

  it("edits through an editor", async () => {
    await cluster.kubectl("create configmap edited -n creating --from-literal=a=before");
    const editor = cluster.file("editor.sh", '#!/bin/sh\nsed -i s/before/after/ "$1"\n', 0o755);
    const run = await cluster.run("edit configmap edited -n creating", { env: { KUBE_EDITOR: editor } });
    expect(run.stdout).toBe("configmap/edited edited\n");
    expect(await cluster.kubectl("get configmap edited -n creating -o jsonpath={.data.a}")).toBe("after");
  });
});

describe("kubectl apply", () => {
  beforeAll(() => cluster.namespace("applying"));
  const apply = (manifest: string) => cluster.kubectl("apply -n applying -f -", manifest);
  const data = async (name: string) => (await cluster.json(`get configmap ${name} -n applying`)).data;

  it("creates, then finds nothing to change", async () => {
    expect(await apply(STATEFUL_SET)).toBe("service/web created\nstatefulset.apps/web created\n");
    const before = await cluster.json("get sts web -n applying");
    // kubectl itself cannot tell whether claim templates are the same once the server has filled in their defaults.
    expect(await apply(STATEFUL_SET)).toMatch(
      /^service\/web unchanged\nstatefulset.apps\/web (unchanged|configured)\n$/,
    );
    const after = await cluster.json("get sts web -n applying");
    expect(after.metadata.resourceVersion).toBe(before.metadata.resourceVersion);
  });

  it("changes and removes fields of its own, and leaves those of others alone", async () => {
    await apply(configMap("three-way", { changed: "1", removed: "1" }));
    await cluster.kubectl(["patch", "configmap", "three-way", "-n", "applying", "-p", '{"data":{"foreign":"1"}}']);
    expect(await apply(configMap("three-way", { changed: "2" }))).toBe("configmap/three-way configured\n");
    expect(await data("three-way")).toEqual({ changed: "2", foreign: "1" });
  });

  it("merges lists by their keys: one variable changed, a container removed, nothing else moved", async () => {
    await apply(statefulSet("lists"));
    const changed = statefulSet("lists")
      .replace("{name: MODE, value: fast}", "{name: MODE, value: slow}")
      .replace("      - name: sidecar\n        image: registry.example/sidecar:1\n", "");
    expect(await apply(changed)).toContain("statefulset.apps/lists configured");
    const containers: { name: string; env: unknown[]; ports: unknown[] }[] = JSON.parse(
      await cluster.kubectl("get sts lists -n applying -o jsonpath={.spec.template.spec.containers}"),
    );
    expect(containers.map((each) => each.name)).toEqual(["main"]);
    expect(containers[0]?.env).toEqual([
      { name: "MODE", value: "slow" },
      { name: "LEVEL", value: "1" },
    ]);
    expect(containers[0]?.ports).toEqual([{ name: "http", containerPort: 8080, protocol: "TCP" }]);
  });

  it("removes a whole volume source when another takes its place", async () => {
    await apply(statefulSet("volumes"));
    await apply(statefulSet("volumes").replace("configMap: {name: volumes}", "emptyDir: {}"));
    const volumes = await cluster.kubectl("get sts volumes -n applying -o jsonpath={.spec.template.spec.volumes}");
    expect(JSON.parse(volumes)).toEqual([{ name: "config", emptyDir: {} }]);
  });

  it("applies files, and prunes what has left them", async () => {
    const folder = "set";
    cluster.file(`${folder}/a.yaml`, configMap("kept", { a: "1" }, "  labels: {set: s}"));
    cluster.file(`${folder}/b.yaml`, configMap("pruned", { a: "1" }, "  labels: {set: s}"));
    await cluster.kubectl(`apply -n applying -f ${folder} -l set=s`);
    cluster.file(`${folder}/b.yaml`, "");
    const out = await cluster.kubectl(
      `apply -n applying -f ${folder} -l set=s --prune --prune-allowlist=core/v1/ConfigMap`,
    );
    expect(out).toContain("configmap/pruned pruned");
    expect(await cluster.kubectl("get configmaps -n applying -l set=s -o name")).toBe("configmap/kept\n");
  });
});

describe("kubectl apply --server-side", () => {
  beforeAll(() => cluster.namespace("ssa"));
  const apply = (manager: string, manifest: string, ...more: string[]) =>
    cluster.run(["apply", "--server-side", `--field-manager=${manager}`, "-n", "ssa", "-f", "-", ...more], {
      stdin: manifest,
    });

  it("gives each manager its fields, refuses to take another's, and takes them when forced", async () => {
    expect((await apply("one", configMap("shared", { a: "1", b: "1" }))).stdout).toBe(
      "configmap/shared serverside-applied\n",
    );
    expect((await apply("two", configMap("shared", { c: "2" }))).code).toBe(0);

    const conflict = await apply("two", configMap("shared", { a: "2", c: "2" }));
    expect(conflict.code).not.toBe(0);
    expect(conflict.stderr).toContain('Apply failed with 1 conflict: conflict with "one": .data.a');
    expect(conflict.stderr).toContain("--force-conflicts");

    expect((await apply("two", configMap("shared", { a: "2", c: "2" }), "--force-conflicts")).code).toBe(0);
    expect(await cluster.json("get configmap shared -n ssa")).toMatchObject({ data: { a: "2", b: "1", c: "2" } });
  });

  it("removes what its manager no longer names, unless another owns it too", async () => {
    await apply("one", configMap("leaving", { a: "1", b: "1" }));
    await apply("two", configMap("leaving", { b: "1" }));
    await apply("one", configMap("leaving", { c: "1" }));
    expect(await cluster.json("get configmap leaving -n ssa")).toMatchObject({ data: { b: "1", c: "1" } });
    expect((await cluster.json("get configmap leaving -n ssa")).data).not.toHaveProperty("a");
  });

  it("shows who owns what with --show-managed-fields", async () => {
    await apply("one", configMap("owned", { a: "1" }));
    await cluster.kubectl("label configmap owned -n ssa by=hand");
    const owned = await cluster.json("get configmap owned -n ssa --show-managed-fields");
    expect(owned.metadata.managedFields.map(({ manager, operation }) => [manager, operation])).toEqual([
      ["one", "Apply"],
      ["kubectl-label", "Update"],
    ]);
  });

  it("takes over what kubectl applied before", async () => {
    await cluster.kubectl("apply -n ssa -f -", configMap("migrated", { a: "1", b: "1" }));
    const migrated = await cluster.run("apply --server-side -n ssa -f -", { stdin: configMap("migrated", { a: "2" }) });
    expect(migrated).toMatchObject({ code: 0 });
    expect((await cluster.json("get configmap migrated -n ssa")).data).toEqual({ a: "2" });
  });

  it("merges a StatefulSet's containers by name", async () => {
    await apply("one", STATEFUL_SET);
    const containers = [{ name: "sidecar", image: "registry.example/sidecar:2" }];
    const image = object({
      apiVersion: "apps/v1",
      kind: "StatefulSet",
      metadata: { name: "web" },
      spec: { template: { spec: { containers } } },
    });
    expect((await apply("two", image, "--force-conflicts")).code).toBe(0);
    const out = await cluster.kubectl("get sts web -n ssa -o jsonpath={.spec.template.spec.containers[*].image}");
    expect(out).toBe("registry.example/web:1 registry.example/sidecar:2");
  });
});

describe("kubectl diff", () => {
  it("shows what an apply would change, and changes nothing", async () => {
    await cluster.namespace("diffing");
    await cluster.kubectl("apply -n diffing -f -", configMap("map", { a: "1" }));
    expect((await cluster.run("diff -n diffing -f -", { stdin: configMap("map", { a: "1" }) })).code).toBe(0);
    const run = await cluster.run("diff -n diffing -f -", { stdin: configMap("map", { a: "2" }) });
    expect(run.code).toBe(1);
    expect(run.stdout).toMatch(/-\s+a: "1"\n\+\s+a: "2"/);
    const serverSide = await cluster.run("diff --server-side --force-conflicts -n diffing -f -", {
      stdin: configMap("new", { a: "2" }),
    });
    expect([serverSide.code, serverSide.stdout]).toEqual([1, expect.stringContaining('+  a: "2"')]);
    expect(await cluster.kubectl("get configmaps -n diffing -o jsonpath={.items[*].data.a}")).toBe("1");
  });
});

describe("kubectl --dry-run", () => {
  it("stores nothing, on the client or on the server", async () => {
    await cluster.namespace("drying");
    const client = await cluster.kubectl("create configmap dry -n drying --from-literal=a=1 --dry-run=client -o yaml");
    expect(client).toMatch(/^apiVersion: v1\ndata:\n {2}a: "1"\nkind: ConfigMap/);
    expect(await cluster.kubectl("apply -n drying --dry-run=server -f -", STATEFUL_SET)).toBe(
      "service/web created (server dry run)\nstatefulset.apps/web created (server dry run)\n",
    );
    const defaulted = await cluster.kubectl(
      "create -n drying --dry-run=server -o json -f -",
      STATEFUL_SET.split("---")[1] ?? "",
    );
    expect(JSON.parse(defaulted)).toMatchObject({
      spec: { podManagementPolicy: "OrderedReady", updateStrategy: { type: "RollingUpdate" } },
    });
    expect((await cluster.run("get all,configmaps -n drying -o name")).stdout).toBe("");
    expect(await cluster.refused("delete configmap nothing -n drying --dry-run=server")).toContain("not found");
  });
});

describe("kubectl label and annotate", () => {
  beforeAll(async () => {
    await cluster.namespace("labelling");
    await cluster.kubectl("create configmap map -n labelling");
  });

  it("set, protect, overwrite and remove", async () => {
    expect(await cluster.kubectl("label configmap map -n labelling tier=front")).toBe("configmap/map labeled\n");
    expect(await cluster.refused("label configmap map -n labelling tier=back")).toContain("--overwrite is false");
    await cluster.kubectl("label configmap map -n labelling tier=back --overwrite");
    expect(await cluster.kubectl("get configmap map -n labelling -o jsonpath={.metadata.labels}")).toBe(
      '{"tier":"back"}',
    );
    expect(await cluster.kubectl("label configmap map -n labelling tier-")).toBe("configmap/map unlabeled\n");
    expect(await cluster.kubectl("annotate configmap map -n labelling note=hello")).toBe("configmap/map annotated\n");
    expect(await cluster.kubectl("get configmap map -n labelling -o jsonpath={.metadata.annotations.note}")).toBe(
      "hello",
    );
    expect(await cluster.kubectl("annotate configmap map -n labelling note-")).toBe("configmap/map annotated\n");
  });

  it("refuses what is no label", async () => {
    expect(await cluster.refused(["label", "configmap", "map", "-n", "labelling", "tier=not a label"])).toContain(
      "a valid label must be an empty string or consist of alphanumeric characters",
    );
  });
});

describe("kubectl patch", () => {
  beforeAll(async () => {
    await cluster.namespace("patching");
    await cluster.kubectl("apply -n patching -f -", STATEFUL_SET);
  });
  const patch = (type: string, body: unknown) => [
    "patch",
    "statefulset",
    "web",
    "-n",
    "patching",
    `--type=${type}`,
    "-p",
    JSON.stringify(body),
  ];
  const images = () => cluster.kubectl("get sts web -n patching -o jsonpath={.spec.template.spec.containers[*].image}");

  it("merges strategically: one container's image, found by its name", async () => {
    const containers = [{ name: "main", image: "registry.example/web:2" }];
    await cluster.kubectl(patch("strategic", { spec: { template: { spec: { containers } } } }));
    expect(await images()).toBe("registry.example/web:2 registry.example/sidecar:1");
  });

  it("patches by JSON pointers, all or nothing", async () => {
    const path = "/spec/template/spec/containers/1/image";
    const wrong = [
      { op: "replace", path, value: "registry.example/sidecar:9" },
      { op: "test", path: "/spec/replicas", value: 99 },
    ];
    expect(await cluster.refused(patch("json", wrong))).toMatch(
      /the server rejected our request due to an error in our request|test failed/,
    );
    await cluster.kubectl(patch("json", [{ op: "replace", path, value: "registry.example/sidecar:2" }]));
    expect(await images()).toBe("registry.example/web:2 registry.example/sidecar:2");
  });

  it("merges plainly: lists are replaced, null removes", async () => {
    const containers = [{ name: "only", image: "registry.example/only:1" }];
    await cluster.kubectl(
      patch("merge", { metadata: { labels: { app: null } }, spec: { template: { spec: { containers } } } }),
    );
    expect(await images()).toBe("registry.example/only:1");
    expect((await cluster.json("get sts web -n patching")).metadata).not.toHaveProperty("labels");
  });

  it("writes status apart from the rest", async () => {
    const body = { spec: { replicas: 9 }, status: { replicas: 3, readyReplicas: 2 } };
    await cluster.kubectl([...patch("merge", body), "--subresource=status"]);
    expect(await cluster.json("get sts web -n patching")).toMatchObject({
      spec: { replicas: 3 },
      status: { readyReplicas: 2 },
    });
    await cluster.kubectl(patch("merge", { status: { readyReplicas: 7 } }));
    expect(await cluster.json("get sts web -n patching")).toMatchObject({ status: { readyReplicas: 2 } });
  });
});

describe("kubectl scale and rollout", () => {
  beforeAll(async () => {
    await cluster.namespace("scaling");
    await cluster.kubectl("apply -n scaling -f -", STATEFUL_SET);
    await cluster.kubectl("apply -f -", GADGET_CRD);
    await cluster.kubectl("wait --for=condition=Established crd/gadgets.example.lockstep.dev --timeout=20s");
    await cluster.kubectl("apply -n scaling -f -", gadget("g", "{size: small}"));
  });

  it.each([
    ["sts/web", "statefulset.apps/web", 3],
    ["gadget/g", "gadget.example.lockstep.dev/g", 1],
  ])("scales %s", async (name, printed, before) => {
    expect(await cluster.kubectl(`scale ${name} -n scaling --replicas=5`)).toBe(`${printed} scaled\n`);
    expect(await cluster.kubectl(`get ${name} -n scaling -o jsonpath={.spec.replicas}`)).toBe("5");
    expect(await cluster.refused(`scale ${name} -n scaling --current-replicas=${before} --replicas=7`)).toContain(
      `Expected replicas to be ${before}, was 5`,
    );
  });

  it("reads the scale of a kind through its subresource", async () => {
    expect(await cluster.json("get sts web -n scaling --subresource=scale")).toMatchObject({
      kind: "Scale",
      apiVersion: "autoscaling/v1",
      spec: { replicas: 5 },
      status: { selector: "app=web" },
    });
  });

  it("refuses to scale below nothing", async () => {
    expect(await cluster.refused(["scale", "gadget/g", "-n", "scaling", "--replicas=-1"])).toContain("replicas");
  });

  it("restarts a StatefulSet and follows its rollout to the end", async () => {
    expect(await cluster.kubectl("rollout restart sts/web -n scaling")).toBe("statefulset.apps/web restarted\n");
    const set = await cluster.json("get sts web -n scaling");
    expect(JSON.stringify(set)).toContain("kubectl.kubernetes.io/restartedAt");
    const rollout = cluster.spawn("rollout status sts/web -n scaling --timeout=60s".split(" "));
    await rollout.prints("Waiting for");
    const status = {
      observedGeneration: set.metadata.generation,
      replicas: 5,
      readyReplicas: 5,
      updatedReplicas: 5,
      currentReplicas: 5,
      availableReplicas: 5,
      currentRevision: "web-2",
      updateRevision: "web-2",
    };
    await cluster.kubectl([
      "patch",
      "sts",
      "web",
      "-n",
      "scaling",
      "--subresource=status",
      "--type=merge",
      "-p",
      JSON.stringify({ status }),
    ]);
    const ended = await rollout.ended;
    expect([ended.code, ended.stdout]).toEqual([0, expect.stringContaining("5 new pods have been updated")]);
  });

  it("sets an image", async () => {
    await cluster.kubectl("set image sts/web -n scaling main=registry.example/web:7");
    expect(await cluster.kubectl("get sts web -n scaling -o jsonpath={.spec.template.spec.containers[0].image}")).toBe(
      "registry.example/web:7",
    );
  });
});
