/** `lockstep wait` against the real controller, on virtual time. */
import { beforeEach, describe, expect, it } from "vitest";
import type { KubeObject } from "../../../kube/index.ts";
import { metadataDigest } from "../../../render/index.ts";
import { CliWorld, exampleObjects, exampleTemplate } from "../../testing/harness.ts";
import { staleness } from "./goal.ts";

const MINUTE_MS = 60_000;
let cli: CliWorld;
beforeEach(async () => {
  cli = new CliWorld();
  await cli.deploy();
});

const images = () =>
  ["member1", "member2", "member3"].flatMap((member) =>
    cli.world.fleet
      .member(member)
      .api.list("/pods")
      .map((pod) => /"image":"([^"]+)"/.exec(JSON.stringify(pod.spec))?.[1]),
  );
const settledNow = () => JSON.stringify(cli.world.status("web")).includes('"reason":"Complete","message":"all');

describe("waiting right after an edit", () => {
  /** The controller is stopped: the status is from before the edit, and shows Settled. */
  async function behindItsBack(edit: () => Promise<unknown>, seen: RegExp): Promise<void> {
    await cli.world.stopController();
    await edit();
    expect(settledNow()).toBe(true);
    const fooled = await cli.run(["wait", "web", "--timeout", "5s"]);
    expect(fooled).toMatchObject({ code: 1, out: "" });
    expect(fooled.err).toMatch(seen);
    cli.world.startController();
    expect(await cli.run(["wait", "web"])).toMatchObject({ code: 0 });
  }

  it("of an image returns only when every instance runs it", async () => {
    await behindItsBack(
      () => cli.world.apply(exampleTemplate("nginx:1.28")),
      /after 5s is still not settled.*the controller has seen generation 1 of StatefulSet default\/web, and the current one is 2/,
    );
    expect(images()).toEqual(Array.from({ length: 5 }, () => "nginx:1.28"));
  });

  it("of a label of the template does not accept the old status", async () => {
    const template = exampleTemplate("nginx:1.27");
    const labelled = { ...template, metadata: { ...template.metadata, labels: { tier: "gold" } } };
    await behindItsBack(() => cli.world.apply(labelled), /has not seen the labels of StatefulSet default\/web yet/);
  });

  it("of the spec does not accept the old status", async () => {
    const [object] = exampleObjects("nginx:1.27", { minReadySeconds: 1 });
    await behindItsBack(
      () => cli.world.apply(object as KubeObject),
      /has seen generation \d of its spec, and the current one is \d/,
    );
  });

  it("of a ConfigMap that the template names does not accept the old status", async () => {
    const config = (value: string): KubeObject => ({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "config", namespace: "default" },
      data: { value },
    });
    const template = JSON.parse(
      JSON.stringify(exampleTemplate("nginx:1.27")).replace(
        '"image":',
        '"envFrom":[{"configMapRef":{"name":"config"}}],"image":',
      ),
    );
    await cli.world.apply(config("one"));
    await cli.world.apply(template);
    expect((await cli.run(["wait", "web"])).code).toBe(0);
    await behindItsBack(
      () => cli.world.apply(config("two")),
      /has not seen ConfigMap config in its current version yet/,
    );
  });

  it("of another template of the same name does not accept the old status", async () => {
    const { hub } = cli.world;
    const of = await cli.world.ask(hub.discovery.resource("apps/v1", "StatefulSet"));
    await behindItsBack(async () => {
      await cli.world.ask(hub.delete(of, { namespace: "default", name: "web" }));
      await cli.world.apply(exampleTemplate("nginx:1.28"));
    }, /has seen an earlier StatefulSet default\/web of the same name/);
  });
});

describe("waiting if the engine schedules", () => {
  it("for a new number of instances returns only when they are ready", async () => {
    const [object, template] = exampleObjects("nginx:1.27", { topology: undefined });
    const scaled = (replicas: number) =>
      JSON.parse(JSON.stringify(template).replace('"spec":{', `"spec":{"replicas":${replicas},`));
    await cli.world.apply({
      apiVersion: "policy.karmada.io/v1alpha1",
      kind: "PropagationPolicy",
      metadata: { name: "web", namespace: "default" },
      spec: {
        resourceSelectors: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "web" }],
        placement: {
          replicaScheduling: { replicaSchedulingType: "Divided", replicaDivisionPreference: "Weighted" },
        },
      },
    });
    await cli.world.apply(object as KubeObject);
    await cli.world.apply(scaled(5));
    expect((await cli.run(["wait", "web"])).out).toContain("5 of 5 instances ready");
    await cli.world.apply(scaled(7));
    const { code, out } = await cli.run(["wait", "web"]);
    expect({ code, out }).toMatchObject({ code: 0, out: expect.stringContaining("7 of 7 instances ready") });
  });
});

it("a status is from before the edit while the engine has not placed the template's instances", () => {
  const template = { ...exampleTemplate("nginx:1.27"), spec: { replicas: 7 } };
  const { metadata } = template;
  const object = { ...template, metadata: { ...metadata, generation: 1 } };
  const status = {
    observedGeneration: 1,
    desiredReplicas: 5,
    observedTemplate: { metadata: metadataDigest(template) },
  };
  const lag = (schedule: { asked: number; placed: number | undefined }) =>
    staleness(object, status, { template, dependencies: new Map(), unreadable: new Set(), schedule });
  expect(lag({ asked: 5, placed: 5 })).toContain("asked to place 5 instances, and the template has 7");
  expect(lag({ asked: 7, placed: undefined })).toContain("has not placed the instances yet");
  expect(lag({ asked: 7, placed: 7 })).toContain("has seen 5 placed instances, and the engine has placed 7");
});

describe("the goal", () => {
  it("is shown while waiting, one line per change, and at the end with the numbers", async () => {
    await cli.world.apply(exampleTemplate("nginx:1.28"));
    const { code, out, err } = await cli.run(["wait", "web", "--for", "revision"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^default\/web is on the template's revision: 5 of 5 instances ready, revision web-\w+\n$/);
    expect(err).toMatch(/^ +\ds {2}/);
    const lines = err
      .trimEnd()
      .split("\n")
      .map((line) => line.slice(8));
    expect(lines.filter((line, index) => line === lines[index - 1])).toEqual([]);
    expect(err).toMatch(/s {2}Updating member\d: 4\/5 ready/);
  });

  it("is explained if it is not reached in time, with the reason and the remedy", async () => {
    await cli.world.apply(exampleTemplate("nginx:broken"));
    const { code, out, err } = await cli.run(["wait", "web", "--timeout", "1m"]);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toMatch(
      /error: default\/web after 60s is still not settled\nWaitingFor\w+: default\/web waits in member3/,
    );
    expect(err).toMatch(/\nCheck:\n {2}kubectl --context member3 /);
  });

  it("fails at once if the template's revision was rolled back; settled succeeds", async () => {
    const rolling = { progressDeadlineSeconds: 30, onFailure: "Rollback" };
    const [object] = exampleObjects("nginx:1.27", { updateStrategy: { rollingUpdate: rolling } });
    await cli.world.apply(object as KubeObject);
    await cli.world.apply(exampleTemplate("nginx:broken"));
    const startedMs = cli.world.clock.monotonicMs();
    const { code, err } = await cli.run(["wait", "web", "--for", "revision", "--timeout", "1h"]);
    expect(code).toBe(1);
    expect(err).toMatch(/will not reach the template's revision\nRevisionRejected: .*failed/);
    expect(cli.world.clock.monotonicMs() - startedMs).toBeLessThan(10 * MINUTE_MS);
    const settled = await cli.run(["wait", "web"]);
    expect(settled.code).toBe(0);
    expect(settled.out).toMatch(/is settled: 5 of 5 .*; the template's revision web-\w+ was undone or failed/);
  });

  it("is also reached after an undo", async () => {
    await cli.world.apply(exampleTemplate("nginx:1.28"));
    expect((await cli.run(["wait", "web"])).code).toBe(0);
    expect((await cli.run(["undo", "web"])).code).toBe(0);
    expect((await cli.run(["wait", "web"])).code).toBe(0);
    expect(images()).toEqual(Array.from({ length: 5 }, () => "nginx:1.27"));
  });

  it("is checked once with --timeout 0", async () => {
    expect((await cli.run(["wait", "web", "--timeout", "0"])).code).toBe(0);
    await cli.world.apply(exampleTemplate("nginx:1.28"));
    const { code, err } = await cli.run(["wait", "web", "--timeout", "0"]);
    expect(code).toBe(1);
    expect(err).toContain("is not settled");
  });

  it("survives a hub that does not answer for a while, and reports that", async () => {
    let asked = 0;
    const { code, err } = await cli.run(["wait", "web"], {
      intercept({ path }) {
        if (!path.includes("/crossclusterstatefulsets/web")) return undefined;
        asked++;
        return asked > 1 && asked < 8 ? { status: 503, headers: {}, body: "etcd is away" } : undefined;
      },
    });
    expect(code).toBe(0);
    expect(err).toMatch(/s {2}the hub does not answer: .*etcd is away/);
  });

  it("names the unknown goal or object", async () => {
    expect(await cli.run(["wait", "web", "--for", "setled"])).toMatchObject({
      code: 1,
      err: "error: --for 'setled' is not known; did you mean 'settled'?\n",
    });
    expect((await cli.run(["wait", "wbe"])).err).toContain("did you mean 'web'?");
    expect((await cli.run(["wait", "web", "--timeout", "soon"])).err).toContain("--timeout 'soon' is not a duration");
  });
});
