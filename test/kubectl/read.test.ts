import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cluster } from "./cluster.ts";
import { configMap, event, object, pod, STATEFUL_SET } from "./manifests.ts";

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
});
afterAll(() => cluster.close());

/** Cells of a printed table, without its heading. */
function rows(table: string): string[][] {
  return table
    .trim()
    .split("\n")
    .slice(1)
    .map((line) => line.trim().split(/\s{2,}/));
}

describe("kubectl get", () => {
  beforeAll(async () => {
    await cluster.namespace("reading");
    await cluster.kubectl("apply -n reading -f -", STATEFUL_SET);
    const pods = ["a", "b", "c"].map((name) => pod(name, `{app: web, rank: "${name}"}`)).join("---");
    await cluster.kubectl("apply -n reading -f -", pods);
    const running = {
      status: {
        phase: "Running",
        podIP: "10.0.0.7",
        containerStatuses: [
          { name: "main", ready: true, restartCount: 2, image: "i", imageID: "d", state: { running: {} } },
        ],
      },
    };
    await cluster.kubectl([
      "patch",
      "pod",
      "a",
      "-n",
      "reading",
      "--subresource=status",
      "--type=merge",
      "-p",
      JSON.stringify(running),
    ]);
  });

  it("prints the columns of pods, and more of them with -o wide", async () => {
    const plain = await cluster.kubectl("get pods -n reading");
    expect(plain).toMatch(/^NAME\s+READY\s+STATUS\s+RESTARTS\s+AGE\n/);
    expect(rows(plain).map((cells) => cells.slice(0, 4))).toEqual([
      ["a", "1/1", "Running", "2"],
      ["b", "0/1", "Pending", "0"],
      ["c", "0/1", "Pending", "0"],
    ]);
    const wide = await cluster.kubectl("get pods -n reading -o wide");
    expect(wide).toMatch(/NODE\s+NOMINATED NODE\s+READINESS GATES/);
    expect(wide).toContain("10.0.0.7");
  });

  it("prints the columns of stateful sets and services", async () => {
    expect(rows(await cluster.kubectl("get sts web -n reading"))).toEqual([
      ["web", "0/3", expect.stringMatching(/^\d+s$/)],
    ]);
    expect(rows(await cluster.kubectl("get sts -n reading -o wide"))[0]?.slice(3)).toEqual([
      "main,sidecar",
      "registry.example/web:1,registry.example/sidecar:1",
    ]);
    expect(rows(await cluster.kubectl("get svc -n reading"))[0]?.slice(0, 5)).toEqual([
      "web",
      "ClusterIP",
      "None",
      "<none>",
      "80/TCP",
    ]);
  });

  it("prints the columns of every other kind people look at", async () => {
    for (const [kind, heading] of [
      ["namespaces", /^NAME\s+STATUS\s+AGE/],
      ["configmaps", /^NAME\s+DATA\s+AGE/],
      ["secrets", /^NAME\s+TYPE\s+DATA\s+AGE/],
      ["nodes", /^NAME\s+STATUS\s+ROLES\s+AGE\s+VERSION/],
      ["pvc", /^NAME\s+STATUS\s+VOLUME\s+CAPACITY\s+ACCESS MODES\s+STORAGECLASS/],
      ["events", /^LAST SEEN\s+TYPE\s+REASON\s+OBJECT\s+MESSAGE/],
      ["leases", /^NAME\s+HOLDER\s+AGE/],
      ["deployments", /^NAME\s+READY\s+UP-TO-DATE\s+AVAILABLE\s+AGE/],
    ] as const) {
      await makeOne(kind);
      expect(await cluster.kubectl(`get ${kind} -n reading`)).toMatch(heading);
    }
  });

  it("gives the object itself as JSON, YAML, a name, or a path in it", async () => {
    expect(await cluster.json("get pod a -n reading")).toMatchObject({ kind: "Pod", metadata: { name: "a" } });
    expect(await cluster.kubectl("get pod a -n reading -o yaml")).toMatch(/^apiVersion: v1\nkind: Pod\n/);
    expect(await cluster.kubectl("get pods -n reading -o name")).toBe("pod/a\npod/b\npod/c\n");
    expect(await cluster.kubectl("get pods -n reading -o jsonpath={.items[*].metadata.labels.rank}")).toBe("a b c");
    expect(await cluster.kubectl("get pods -n reading -o custom-columns=N:.metadata.name --no-headers")).toBe(
      "a\nb\nc\n",
    );
  });

  it("selects by labels and fields, over all namespaces if asked", async () => {
    const names = async (args: string) => (await cluster.kubectl(`get pods ${args} -o name`)).trim().split("\n");
    expect(await names("-n reading -l rank=b")).toEqual(["pod/b"]);
    expect(await names("-n reading -l app=web,rank!=b")).toEqual(["pod/a", "pod/c"]);
    expect(await cluster.run(["get", "pods", "-A", "-l", "rank in (a, c)", "-o", "name"])).toMatchObject({
      stdout: "pod/a\npod/c\n",
    });
    expect(await names("-n reading --field-selector status.phase=Running")).toEqual(["pod/a"]);
    expect(await names("-n reading --field-selector metadata.name!=a,status.phase=Pending")).toEqual([
      "pod/b",
      "pod/c",
    ]);
    expect(await cluster.kubectl("get pods -A")).toMatch(/^NAMESPACE\s+NAME/);
  });

  it("reads long lists page by page", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `page-${String(index).padStart(2, "0")}`);
    await cluster.kubectl(
      "apply -n reading -f -",
      names.map((name) => configMap(name, { a: "b" }, "  labels: {paged: yep}")).join("---"),
    );
    const out = await cluster.kubectl("get configmaps -n reading -l paged=yep -o name --chunk-size=5");
    expect(out.trim().split("\n")).toEqual(names.map((name) => `configmap/${name}`));
  });

  it("shows several kinds, and all of a category, at once", async () => {
    const out = await cluster.kubectl("get all -n reading");
    expect(out).toContain("statefulset.apps/web");
    expect(out).toContain("service/web");
    expect(out).toContain("pod/a");
  });

  it("sorts, and shows labels as columns", async () => {
    expect(rows(await cluster.kubectl("get pods -n reading -L rank")).map((cells) => cells.at(-1))).toEqual([
      "a",
      "b",
      "c",
    ]);
    const sorted = await cluster.kubectl("get pods -n reading --sort-by=.status.phase -o name");
    expect(sorted).toBe("pod/b\npod/c\npod/a\n");
  });

  it("reads raw paths", async () => {
    expect(await cluster.kubectl("get --raw /healthz")).toBe("ok");
    expect(await cluster.kubectl("get --raw /readyz?verbose")).toContain("readyz check passed");
    const list = JSON.parse(await cluster.kubectl("get --raw /api/v1/namespaces/reading/pods?limit=2"));
    expect(list).toMatchObject({ kind: "PodList", metadata: { continue: expect.any(String) } });
    expect(list.items).toHaveLength(2);
  });

  it("says that there is nothing, or no such thing", async () => {
    expect((await cluster.run("get pods -n default")).stderr).toBe("No resources found in default namespace.\n");
    expect(await cluster.refused("get pod missing -n reading")).toBe(
      'Error from server (NotFound): pods "missing" not found\n',
    );
    expect(await cluster.refused("get gizmos")).toContain(`the server doesn't have a resource type "gizmos"`);
  });

  async function makeOne(kind: string): Promise<void> {
    switch (kind) {
      case "secrets":
        await cluster.kubectl("create secret generic s -n reading --from-literal=a=b");
        return;
      case "configmaps":
        await cluster.kubectl("create configmap one -n reading --from-literal=a=b");
        return;
      case "deployments":
        await cluster.kubectl("create deployment d -n reading --image=registry.example/d:1");
        return;
      case "nodes":
        await cluster.kubectl("apply -f -", object({ apiVersion: "v1", kind: "Node", metadata: { name: "n1" } }));
        return;
      case "leases":
        await cluster.kubectl(
          "apply -n reading -f -",
          object({
            apiVersion: "coordination.k8s.io/v1",
            kind: "Lease",
            metadata: { name: "l" },
            spec: { holderIdentity: "me" },
          }),
        );
        return;
      case "pvc":
        await cluster.kubectl(
          "apply -n reading -f -",
          object({
            apiVersion: "v1",
            kind: "PersistentVolumeClaim",
            metadata: { name: "c" },
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
          }),
        );
        return;
      case "events":
        await cluster.kubectl(
          "create -n reading -f -",
          event("e", "reading", { kind: "Pod", name: "a", namespace: "reading" }, "it runs"),
        );
        return;
    }
  }
});

describe("kubectl get --watch", () => {
  it("shows what is there, then each change, until it is stopped", async () => {
    await cluster.namespace("watching");
    await cluster.kubectl("create configmap first -n watching --from-literal=a=1");
    const watch = cluster.spawn(["get", "configmaps", "-n", "watching", "-w"]);
    try {
      await watch.prints("first");
      await cluster.kubectl("create configmap second -n watching --from-literal=a=1");
      await watch.prints("second");
      await cluster.kubectl(["patch", "configmap", "second", "-n", "watching", "-p", '{"data":{"b":"2"}}']);
      await watch.prints(/^second +2 /m);
    } finally {
      await watch.stop();
    }
    expect(watch.stdout.match(/NAME\s+DATA\s+AGE/g)).toHaveLength(1);
  });

  it("tells additions, changes and deletions apart, and follows a selector", async () => {
    await cluster.namespace("following");
    const watch = cluster.spawn("get configmaps -n following -l keep=yep --watch --output-watch-events".split(" "));
    try {
      await cluster.kubectl("apply -n following -f -", configMap("noise", { a: "1" }));
      await cluster.kubectl("apply -n following -f -", configMap("kept", { a: "1" }, "  labels: {keep: yep}"));
      await watch.prints(/^ADDED +kept /m);
      await cluster.kubectl("label configmap kept -n following keep-");
      await watch.prints(/^DELETED +kept /m);
    } finally {
      await watch.stop();
    }
    expect(watch.stdout).not.toContain("noise");
  });
});

describe("kubectl on what the server has", () => {
  it("api-resources lists kinds, short names and scopes; api-versions the versions", async () => {
    const resources = await cluster.kubectl("api-resources");
    expect(resources).toMatch(/^statefulsets\s+sts\s+apps\/v1\s+true\s+StatefulSet$/m);
    expect(resources).toMatch(/^namespaces\s+ns\s+v1\s+false\s+Namespace$/m);
    expect(resources).toMatch(/^customresourcedefinitions\s+crd,crds\s+apiextensions\.k8s\.io\/v1\s+false/m);
    expect((await cluster.kubectl("api-versions")).split("\n")).toEqual(
      expect.arrayContaining(["v1", "apps/v1", "coordination.k8s.io/v1", "events.k8s.io/v1"]),
    );
    expect(await cluster.kubectl("api-resources --api-group=apps -o name")).toContain("statefulsets.apps");
  });

  it("version and cluster-info know the server", async () => {
    expect(JSON.parse(await cluster.kubectl("version -o json")).serverVersion.gitVersion).toMatch(/^v1\.\d+\.\d+/);
    expect(await cluster.kubectl("cluster-info")).toContain(cluster.url);
  });

  it("explain describes built-in kinds, their fields, and everything below them", async () => {
    const kind = await cluster.kubectl("explain statefulset");
    expect(kind).toMatch(/GROUP:\s+apps\nKIND:\s+StatefulSet\nVERSION:\s+v1/);
    expect(kind).toMatch(/spec\s+<StatefulSetSpec>/);
    const field = await cluster.kubectl("explain sts.spec.updateStrategy.rollingUpdate.partition");
    expect(field).toMatch(/FIELD: partition <integer>/);
    expect(field).toMatch(/DESCRIPTION:\n\s+\S.*ordinal/);
    const deep = await cluster.kubectl("explain pods.spec.containers.resources");
    expect(deep).toMatch(/limits\s+<map\[string\]Quantity>/);
    const recursive = await cluster.kubectl("explain statefulset.spec.template.spec --recursive");
    expect(recursive).toMatch(/containers\s+<\[\]Container> -required-/);
    expect(recursive).toMatch(/containerPort\s+<integer> -required-/);
    expect(await cluster.refused("explain statefulset.spec.nonsense")).toContain('field "nonsense" does not exist');
  });
});

describe("kubectl describe", () => {
  it("shows an object with its events", async () => {
    await cluster.namespace("describing");
    await cluster.kubectl("apply -n describing -f -", `${STATEFUL_SET}---${pod("p", "{app: web}")}`);
    const { uid } = (await cluster.json("get pod p -n describing")).metadata;
    await cluster.kubectl(
      "create -n describing -f -",
      event("p.1", "describing", { kind: "Pod", name: "p", namespace: "describing", uid }, "found a place"),
    );
    const text = await cluster.kubectl("describe pod p -n describing");
    expect(text).toMatch(/Image:\s+registry\.example\/main:1/);
    expect(text).toContain("found a place");
    const set = await cluster.kubectl("describe sts web -n describing");
    expect(set).toMatch(/Replicas:\s+3 desired \| 0 total/);
    expect(set).toMatch(/Pods Status:\s+0 Running \/ 1 Waiting|Pods Status:/);
    expect(await cluster.kubectl("describe svc web -n describing")).toMatch(/TargetPort:\s+http\/TCP/);
    expect(await cluster.kubectl("describe namespace describing")).toMatch(/Status:\s+Active/);
  });
});
