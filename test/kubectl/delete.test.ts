import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Cluster } from "./cluster.ts";
import { configMap, object, pod } from "./manifests.ts";

let cluster: Cluster;
beforeAll(async () => {
  cluster = await Cluster.start();
});
afterAll(() => cluster.close());

/** An owner and a dependent that blocks a foreground deletion, the dependent held by a finalizer if asked. */
async function family(namespace: string, options: { held?: boolean } = {}): Promise<void> {
  await cluster.namespace(namespace);
  await cluster.kubectl(`create configmap owner -n ${namespace}`);
  const { uid } = (await cluster.json(`get configmap owner -n ${namespace}`)).metadata;
  const owner = `  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: ${uid}, controller: true, blockOwnerDeletion: true}]`;
  const finalizers = options.held ? "\n  finalizers: [lockstep.dev/held]" : "";
  await cluster.kubectl(`apply -n ${namespace} -f -`, configMap("dependent", { a: "1" }, owner + finalizers));
}

const left = async (namespace: string) =>
  (await cluster.run(`get configmaps -n ${namespace} -o name`)).stdout.trim().split("\n").filter(Boolean);

const release = (namespace: string) =>
  cluster.kubectl([
    "patch",
    "configmap",
    "dependent",
    "-n",
    namespace,
    "--type=merge",
    "-p",
    '{"metadata":{"finalizers":null}}',
  ]);

describe("kubectl delete", () => {
  it("in the background deletes the owner first, then its dependents", async () => {
    await family("background", { held: true });
    expect(await cluster.kubectl("delete configmap owner -n background --cascade=background")).toContain(
      'configmap "owner" deleted',
    );
    await cluster.kubectl(
      "wait --for=jsonpath={.metadata.deletionTimestamp} configmap/dependent -n background --timeout=20s",
    );
    expect(await left("background")).toEqual(["configmap/dependent"]);
    await release("background");
    expect(await left("background")).toEqual([]);
  });

  it("in the foreground keeps the owner until its dependents are gone", async () => {
    await family("foreground", { held: true });
    const deleting = cluster.spawn("delete configmap owner -n foreground --cascade=foreground".split(" "));
    await deleting.prints("deleted");
    await cluster.kubectl(
      "wait --for=jsonpath={.metadata.deletionTimestamp} configmap/dependent -n foreground --timeout=20s",
    );
    expect(await left("foreground")).toEqual(["configmap/dependent", "configmap/owner"]);
    await release("foreground");
    expect((await deleting.ended).code).toBe(0);
    expect(await left("foreground")).toEqual([]);
  });

  it("as orphan leaves the dependents, without their owner", async () => {
    await family("orphan");
    await cluster.kubectl("delete configmap owner -n orphan --cascade=orphan");
    expect(await left("orphan")).toEqual(["configmap/dependent"]);
    expect((await cluster.json("get configmap dependent -n orphan")).metadata).not.toHaveProperty("ownerReferences");
  });

  it("by selector and by file, and ignores what is gone if asked to", async () => {
    await cluster.namespace("choosing");
    const manifest = `${configMap("a", { x: "1" }, "  labels: {pick: yep}")}---${configMap("b", { x: "1" })}`;
    await cluster.kubectl("apply -n choosing -f -", manifest);
    await cluster.kubectl("delete configmaps -n choosing -l pick=yep");
    expect(await left("choosing")).toEqual(["configmap/b"]);
    expect(await cluster.refused("delete -n choosing -f -", manifest)).toContain('configmaps "a" not found');
    expect(await cluster.kubectl("delete -n choosing --ignore-not-found -f -", manifest)).toBe("");
    await cluster.kubectl("apply -n choosing -f -", manifest);
    await cluster.kubectl("delete configmaps --all -n choosing");
    expect(await left("choosing")).toEqual([]);
  });

  it("of a namespace takes everything in it", async () => {
    await family("doomed");
    await cluster.kubectl("delete namespace doomed --timeout=30s");
    expect(await cluster.refused("get namespace doomed")).toContain('namespaces "doomed" not found');
    expect(await left("doomed")).toEqual([]);
  });

  it("gives a running pod its grace, unless it is forced", async () => {
    await cluster.namespace("graceful");
    const running = (name: string) =>
      object({
        apiVersion: "v1",
        kind: "Pod",
        metadata: { name },
        spec: { nodeName: "n1", containers: [{ name: "c", image: "i" }] },
      });
    await cluster.kubectl("apply -n graceful -f -", running("slow"));
    await cluster.kubectl("delete pod slow -n graceful --wait=false");
    expect(await cluster.kubectl("get pod slow -n graceful")).toMatch(/Terminating/);
    await cluster.kubectl("delete pod slow -n graceful --force --grace-period=0");
    expect((await cluster.run("get pods -n graceful -o name")).stdout).toBe("");
  });
});

describe("kubectl wait", () => {
  beforeAll(() => cluster.namespace("waiting"));

  it("for a condition, returns as soon as it holds", async () => {
    await cluster.kubectl("apply -n waiting -f -", pod("p", "{}"));
    const waiting = cluster.spawn("wait --for=condition=Ready pod/p -n waiting --timeout=60s".split(" "));
    const status = { phase: "Running", conditions: [{ type: "Ready", status: "True" }] };
    await cluster.kubectl([
      "patch",
      "pod",
      "p",
      "-n",
      "waiting",
      "--subresource=status",
      "--type=merge",
      "-p",
      JSON.stringify({ status }),
    ]);
    expect(await waiting.ended).toMatchObject({ code: 0, stdout: "pod/p condition met\n" });
  });

  it("for a value at a path", async () => {
    await cluster.kubectl("create configmap value -n waiting --from-literal=state=old");
    const waiting = cluster.spawn(
      "wait --for=jsonpath={.data.state}=new configmap/value -n waiting --timeout=60s".split(" "),
    );
    await cluster.kubectl(["patch", "configmap", "value", "-n", "waiting", "-p", '{"data":{"state":"new"}}']);
    expect(await waiting.ended).toMatchObject({ code: 0, stdout: "configmap/value condition met\n" });
  });

  it("for a deletion", async () => {
    await cluster.kubectl("create configmap going -n waiting");
    const waiting = cluster.spawn("wait --for=delete configmap/going -n waiting --timeout=60s".split(" "));
    await cluster.kubectl("delete configmap going -n waiting");
    expect(await waiting.ended).toMatchObject({ code: 0 });
  });

  it("gives up when its time is over", async () => {
    await cluster.kubectl("create configmap never -n waiting");
    expect(await cluster.refused("wait --for=condition=Ready configmap/never -n waiting --timeout=1s")).toContain(
      "timed out waiting for the condition on configmaps/never",
    );
  });
});
