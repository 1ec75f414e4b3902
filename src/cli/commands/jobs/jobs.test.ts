/** Commands on `ccj/NAME`, against a fleet with the real controller, on virtual time. */
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import { type HttpRequest, isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { CliWorld } from "../../testing/harness.ts";

const RUN_MS = "lockstep.test/run-ms";

function job(name: string, image: string, runMs: number, more: JsonObject = {}): KubeObject {
  const pods = {
    metadata: { annotations: { [RUN_MS]: String(runMs) } },
    spec: { restartPolicy: "Never", containers: [{ name: "main", image }] },
  };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name, namespace: "default" },
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0, template: pods } },
      clusters: { names: ["member1", "member2"] },
      ...more,
    },
  };
}

describe("a CrossClusterJob on the command line", () => {
  const cli = new CliWorld();
  const phaseOf = (name: string) => {
    const status = cli.world.fleet.hubObject("apps.karmada.io/crossclusterjobs", "default", name)?.status;
    return isJsonObject(status) ? status.phase : undefined;
  };
  const until = (name: string, phase: string) => cli.world.until(`${name} is ${phase}`, () => phaseOf(name) === phase);

  beforeAll(async () => {
    await cli.world.start();
    await cli.world.apply(job("train", "worker:1", 5_000, { memberCleanup: "AfterTTL" }));
    await cli.world.apply(job("doomed", "broken:1", 5_000, { failover: { maxAttempts: 2 } }));
    await cli.world.apply(job("lasting", "worker:1", 400_000));
    await until("train", "Complete");
    await until("doomed", "Failed");
    await until("lasting", "Running");
  });
  afterAll(() => cli.world.stop());

  it("status shows the phase, the counts and every attempt", async () => {
    const { code, out } = await cli.run(["status", "ccj/train"]);
    expect(code).toBe(0);
    expect(out).toContain("default/train  Complete  1/1 done, 0 active, 0 failed");
    expect(out).toMatch(/ATTEMPT +CLUSTER +STATE +WORK/);
    expect(out).toMatch(/1 +member1 +Succeeded +all/);
  });

  it("status as JSON is the object itself", async () => {
    const { out } = await cli.run(["status", "ccj/train", "-o", "json"]);
    expect(JSON.parse(out)).toMatchObject({ kind: "CrossClusterJob", status: { phase: "Complete" } });
  });

  it("history lists the attempts with where and how they ended", async () => {
    const { out } = await cli.run(["history", "ccj/doomed"]);
    expect(out).toMatch(/1 +member1 +Failed/);
    expect(out).toMatch(/2 +member2 +Failed/);
  });

  it("why says that complete work waits for nothing, and how failed work is tried again", async () => {
    expect((await cli.run(["why", "ccj/train"])).out).toBe("CrossClusterJob train waits for nothing: it is Complete\n");
    const { out } = await cli.run(["why", "ccj/doomed"]);
    expect(out).toContain("AttemptsExhausted  2 attempts failed; attempt 2 in member2 failed");
    expect(out).toContain("To try it again with what is left: lockstep retry ccj/doomed");
  });

  it("wait returns for complete work, fails for failed work, and gives up on work that lasts longer", async () => {
    expect(await cli.run(["wait", "ccj/train"])).toMatchObject({ code: 0, out: "CrossClusterJob train is complete\n" });
    const failed = await cli.run(["wait", "ccj/doomed"]);
    expect(failed.code).toBe(1);
    expect(failed.err).toContain("CrossClusterJob doomed failed: AttemptsExhausted");
    const lasting = await cli.run(["wait", "ccj/lasting", "--timeout", "3s"]);
    expect(lasting.code).toBe(1);
    expect(lasting.err).toContain("CrossClusterJob lasting is not complete: Running");
  });

  it("wait ends at once for work that was refused", async () => {
    const indexed = { completionMode: "Indexed", template: { spec: { restartPolicy: "Never", containers: [] } } };
    await cli.world.apply({
      ...job("refused", "worker:1", 0),
      spec: { template: { apiVersion: "batch/v1", kind: "Job", spec: indexed }, clusters: { names: ["member1"] } },
    });
    await until("refused", "Invalid");
    const { code, err } = await cli.run(["wait", "ccj/refused", "--timeout", "1h"]);
    expect(code).toBe(1);
    expect(err).toContain("CrossClusterJob refused was refused: InvalidSpec");
    expect(err).toContain("completions");
  });

  it("plan shows what would start where, where it continues after a failure, and what a loss means", async () => {
    const split = job("split", "worker:1", 5_000, {
      division: "Indexes",
      clusterParallelism: 2,
      failover: { maxAttempts: 2, onClusterLoss: { guarantee: "Exclusive" } },
    });
    const template = split.spec as { template: { spec: JsonObject } };
    Object.assign(template.template.spec, { completions: 6, completionMode: "Indexed" });
    const files = { "split.json": JSON.stringify(split) };
    const { code, out, err } = await cli.run(["plan", "-f", "split.json"], { files });
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(out).toBe(
      [
        "CrossClusterJob default/split: 2 would start, 0 may run now",
        "  starts  attempt 1 in member1, indexes 0-2",
        "  starts  attempt 2 in member2, indexes 3-5",
        "  if attempt 1 fails: attempt 3 in member1, indexes 0-2",
        "  if attempt 2 fails: attempt 3 in member2, indexes 3-5",
        "  if a cluster is lost for 300 s: its work continues elsewhere after the cluster must have ended it by itself",
        "",
      ].join("\n"),
    );
  });

  it("plan refuses what the controller would refuse, and notes a cluster that does not exist", async () => {
    const odd = job("odd", "worker:1", 5_000, { clusters: { names: ["member1", "memberl"] } });
    const planned = await cli.run(["plan", "-f", "odd.json"], { files: { "odd.json": JSON.stringify(odd) } });
    expect(planned.err).toBe("note: the hub has no cluster memberl\n");
    const { template } = odd.spec as { template: { spec: JsonObject } };
    Object.assign(template.spec, { paralelism: 2 });
    const refused = await cli.run(["plan", "-f", "odd.json"], { files: { "odd.json": JSON.stringify(odd) } });
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("spec.template.spec.paralelism: a Job has no such field; use parallelism");
  });

  it("plan of another kind shows where the work continues, after the failed object is removed", async () => {
    const ray = job("ray", "worker:1", 5_000, { clusters: { names: ["member1", "member2"] } });
    Object.assign(ray.spec as JsonObject, { template: { apiVersion: "ray.io/v1", kind: "RayJob", spec: {} } });
    const { out } = await cli.run(["plan", "-f", "ray.json"], { files: { "ray.json": JSON.stringify(ray) } });
    expect(out).toContain("if attempt 1 fails: attempt 2 in member2, all of it");
  });

  it("plan of work that runs says so, and refuses another template", async () => {
    const { out } = await cli.run(["plan", "ccj/lasting"]);
    expect(out).toContain("CrossClusterJob default/lasting: nothing would start, 1 may run now");
    expect(out).toMatch(/runs {4}attempt 1 in member\d, 1 completions|runs {4}attempt 1 in member\d, all of it/);
    expect(out).toMatch(/if attempt 1 fails: attempt 2 in member\d/);
    const complete = await cli.run(["plan", "ccj/train", "-o", "json"]);
    expect(JSON.parse(complete.out)).toMatchObject({ running: [], starts: [], blocked: false });
    const files = { "other.json": JSON.stringify(job("lasting", "worker:2", 5_000)) };
    const changed = await cli.run(["plan", "-f", "other.json"], { files });
    expect(changed.code).toBe(1);
    expect(changed.err).toContain("spec.template is not what its attempts were made from");
  });

  it("a name that does not exist is answered with one that is like it", async () => {
    const { code, err } = await cli.run(["status", "ccj/trian"]);
    expect(code).toBe(1);
    expect(err).toContain("CrossClusterJob default/trian does not exist; did you mean 'train'?");
  });

  it("logs are read through the hub, and cannot control the terminal", async () => {
    const intercept = ({ path }: HttpRequest) =>
      /\/clusters\/member1\/proxy\/api\/v1\/namespaces\/default\/pods\/[^/]+\/log\?/.test(path)
        ? { status: 200, headers: {}, body: "epoch 1\n\u001b[2Jepoch 2\n" }
        : undefined;
    const { code, out } = await cli.run(["logs", "ccj/train"], { intercept });
    expect(code).toBe(0);
    expect(out).toMatch(/^member1 \S+: epoch 1\nmember1 \S+: {1,2}\[2Jepoch 2\n$/);
  });

  it("logs of every container are read, and a pod that has not started hides no other pod's", async () => {
    const pod = (name: string, ...containers: string[]) => ({
      metadata: { name, namespace: "default" },
      spec: { containers: containers.map((container) => ({ name: container, image: "worker:1" })) },
    });
    const items = [pod("waits", "main"), pod("runs", "main", "sidecar")];
    const intercept = ({ path }: HttpRequest) => {
      const [, name, container] = /\/pods\/([^/?]+)\/log\?container=([^&]+)/.exec(path) ?? [];
      if (name === "waits") {
        const body = JSON.stringify({ kind: "Status", message: 'container "main" is waiting to start' });
        return { status: 400, headers: {}, body };
      }
      if (name !== undefined) return { status: 200, headers: {}, body: `said by ${container}\n` };
      const isList = /\/proxy\/api\/v1\/namespaces\/default\/pods\?/.test(path);
      return isList
        ? { status: 200, headers: {}, body: JSON.stringify({ apiVersion: "v1", kind: "PodList", metadata: {}, items }) }
        : undefined;
    };
    const { code, out, err } = await cli.run(["logs", "ccj/train"], { intercept });
    expect(code).toBe(0);
    expect(out).toBe("member1 runs/main: said by main\nmember1 runs/sidecar: said by sidecar\n");
    expect(err).toBe('member1 waits: no log: container "main" is waiting to start\n');
  });

  it("logs of other kinds are found by the label that their operators give to pods", async () => {
    const asked: string[] = [];
    const intercept = ({ path }: HttpRequest) => {
      if (path.endsWith("/crossclusterjobs/spark")) {
        const template = { apiVersion: "sparkoperator.k8s.io/v1beta2", kind: "SparkApplication" };
        const attempts = [{ number: 1, cluster: "member1", object: "spark-1a2b3-1", state: "Running" }];
        const metadata = { name: "spark", namespace: "default" };
        const body = JSON.stringify({ metadata, spec: { template }, status: { attempts } });
        return { status: 200, headers: {}, body };
      }
      if (path.includes("/pods?")) asked.push(decodeURIComponent(path));
      return undefined;
    };
    await cli.run(["logs", "ccj/spark"], { intercept });
    expect(asked).toEqual([expect.stringContaining("labelSelector=sparkoperator.k8s.io/app-name=spark-1a2b3-1")]);
  });

  it("on Open Cluster Management logs are read with the access that its Secret gives", async () => {
    const asked: string[] = [];
    const json = (status: number, body: JsonObject) => {
      return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
    };
    const intercept = ({ path }: HttpRequest) => {
      asked.push(decodeURIComponent(path));
      if (path.startsWith("/apis/cluster.karmada.io")) return json(404, { kind: "Status", code: 404 });
      if (path !== "/apis/cluster.open-cluster-management.io") return undefined;
      const versions = [{ groupVersion: "cluster.open-cluster-management.io/v1", version: "v1" }];
      return json(200, { kind: "APIGroup", apiVersion: "v1", name: "cluster.open-cluster-management.io", versions });
    };
    const { code, err } = await cli.run(["logs", "ccj/train"], { intercept });
    expect(code).toBe(0);
    const query = "/api/v1/namespaces/member1/secrets?limit=500&labelSelector=lockstep.karmada.io/member-access";
    expect(asked).toContainEqual(expect.stringContaining(query));
    expect(asked.filter((path) => path.includes("/proxy/"))).toEqual([]);
    expect(err).toMatch(
      /^attempt 1 in member1 cannot be read: no Secret labelled .* gives access to cluster member1; /,
    );
    expect(err).not.toContain("the pods are gone");
  });

  it("logs of an attempt that there is not, or whose pods are gone, say so", async () => {
    const { code, err } = await cli.run(["logs", "ccj/train", "--attempt", "7"]);
    expect(code).toBe(1);
    expect(err).toContain("CrossClusterJob train has no attempt 7");
    expect((await cli.run(["logs", "ccj/doomed"])).err).toContain("No logs: the pods are gone");
  });

  it("retry refuses work that has not failed, and starts failed work again", async () => {
    const refused = await cli.run(["retry", "ccj/train"]);
    expect(refused.code).toBe(1);
    expect(refused.err).toContain("CrossClusterJob train is Complete: only failed work can be tried again");
    const { code, out } = await cli.run(["retry", "ccj/doomed"]);
    expect({ code, out }).toEqual({ code: 0, out: "CrossClusterJob doomed is tried again, with what is left\n" });
    await cli.world.until("a third attempt", () => phaseOf("doomed") !== "Failed");
    await until("doomed", "Failed");
    expect((await cli.run(["history", "ccj/doomed"])).out).toMatch(/3 +member\d/);
  });
});
