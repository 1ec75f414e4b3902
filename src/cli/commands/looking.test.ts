/** Commands that read, against a fleet with the real controller, on virtual time. */
import { beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { CliWorld, exampleObjects, exampleTemplate } from "../testing/harness.ts";

describe("a deployed application", () => {
  const cli = new CliWorld();
  beforeAll(() => cli.deploy());

  it("status lists, and shows one as a tree", async () => {
    const list = await cli.run(["status"]);
    expect(list.out).toMatch(/^NAME {3}READY {3}UPDATED {3}PHASE +STEP {3}AGE\nweb +5\/5 +5\/5 +Settled/);
    const all = await cli.run(["status", "-A", "-o", "wide"]);
    expect(all.out).toMatch(/^NAMESPACE +NAME .*LEADER +REVISION +REASON\ndefault +web /);
    const tree = await cli.run(["status", "web"]);
    expect(tree).toMatchObject({ code: 0, err: "" });
    expect(tree.out).toMatch(/default\/web {2}StatefulSet {2}Settled\n {2}5\/5 ready, 5\/5 updated/);
    expect(tree.out).toMatch(/├─ member1 {2}Settled {2}2\/2 ready {2}web-\w+ {2}gate open\n│ {2}├─ web-0 /);
    expect(tree.out).toMatch(
      /└─ member3 {2}Settled {2}1\/1 ready {2}web-\w+ {2}gate open\n {3}└─ web-200 {2}ready {8}web-\w+\n$/,
    );
  });

  it("-o name, json and yaml are for programs", async () => {
    expect((await cli.run(["status", "-o", "name"])).out).toBe("crossclusterstatefulset.apps.karmada.io/web\n");
    expect(JSON.parse((await cli.run(["status", "web", "-o", "json"])).out)).toMatchObject({
      kind: "CrossClusterStatefulset",
      status: { readyReplicas: 5 },
    });
    expect((await cli.run(["status", "ccs/web", "-o", "yaml"])).out).toContain("kind: CrossClusterStatefulset\n");
    expect(await cli.run(["status", "web", "-o", "xml"])).toMatchObject({
      code: 1,
      err: "error: --output 'xml' is not known here; use json, yaml, wide, name\n",
    });
  });

  it("why reports that there is no wait", async () => {
    const { out } = await cli.run(["why", "web"]);
    expect(out).toMatch(/^default\/web waits for nothing: 5 of 5 instances are ready, on revision web-\w+\.\n$/);
  });

  it("the error for a missing name suggests the nearest one, or the namespace where it exists", async () => {
    expect(await cli.run(["why", "wbe"])).toMatchObject({
      code: 1,
      err: "error: CrossClusterStatefulset default/wbe does not exist; did you mean 'web'?\n",
    });
    expect((await cli.run(["status", "web", "-n", "kube-system"])).err).toBe(
      "error: CrossClusterStatefulset kube-system/web does not exist; there is one in another namespace: -n default\n",
    );
    expect((await cli.run(["-n", "kube-system", "status", "web"])).err).toContain("kube-system/web does not exist");
    expect((await cli.run(["status", "database"])).err).toContain("there are: web");
    expect((await cli.run(["status", "pod/web"])).err).toContain("'pod' is no kind of Lockstep");
  });

  it("plan of a settled application moves nothing", async () => {
    const { code, out } = await cli.run(["plan", "web"]);
    expect(code).toBe(0);
    expect(out).toContain("Nothing would move.");
    expect(out).toContain("It would complete");
  });

  it("plan of an edited template shows the update in order, with each cluster's difference", async () => {
    const files = { "web.yaml": stringify(exampleTemplate("nginx:1.28")) };
    const { code, out } = await cli.run(["plan", "-f", "web.yaml", "web"], { files });
    expect(code).toBe(0);
    const order = [...out.matchAll(/^ +\d+\. (\S+) {2}update/gm)].map(([, cluster]) => cluster);
    expect(order).toEqual(["member3", "member2", "member1"]);
    expect(out).toMatch(/quorum: 5 of 5 ready, 3 needed; budget: 0 unavailable \+ 1 that may go down, of 1/);
    expect(out).toMatch(/member1, member2, member3: now -> then\n {2}apps\/v1\/StatefulSet default\/web\n/);
    expect(out).toMatch(/- {2,}- image: nginx:1\.27\n +\+ {2,}- image: nginx:1\.28/);
    expect(out).not.toContain("karmada.io/epoch");
    const json = await cli.run(["plan", "-f", "web.yaml", "-o", "json"], { files });
    expect(JSON.parse(json.out)).toMatchObject({
      blocked: false,
      stepsOfUnknownTime: 3,
      events: [{ kind: "step" }, {}, {}],
    });
  });

  it("plan exits with 2 when it would be blocked", async () => {
    const paused = exampleObjects("nginx:1.28", { updateStrategy: { rollingUpdate: { paused: true } } });
    const files = { "web.yaml": paused.map((object) => stringify(object)).join("---\n") };
    const { code, out } = await cli.run(["plan", "-f", "web.yaml"], { files });
    expect(code).toBe(2);
    expect(out).toMatch(/It would be blocked:\n {2}Paused/);
  });

  it("render shows the objects of one cluster", async () => {
    const { out, code } = await cli.run(["render", "web", "--cluster", "member2"]);
    expect(code).toBe(0);
    expect(out).toMatch(/# cluster: member2\napiVersion: apps\/v1\nkind: StatefulSet/);
    expect(out).toContain("start: 100");
    expect(out).not.toContain("# cluster: member1");
  });

  it("completion offers objects, clusters, commands and flags", async () => {
    const offered = async (...words: string[]) =>
      (await cli.run(["__complete", "--", ...words])).out.split("\n").filter(Boolean);
    expect(await offered("fault", "")).toEqual(["image", "cut", "heal", "list"]);
    expect(await offered("fault", "cut", "member")).toEqual(["member1", "member2", "member3"]);
    expect(await offered("fault", "image", "w")).toEqual(["web"]);
    expect(await offered("wait", "web", "--for", "")).toEqual(["settled", "revision", "ready"]);
    expect(await offered("st")).toEqual(["status"]);
    expect(await offered("status", "")).toEqual(["web"]);
    expect(await offered("confirm-lost", "member")).toEqual(["member1", "member2", "member3"]);
    expect(await offered("confirm-lost", "member3", "")).toEqual(["web"]);
    expect(await offered("scale", "web", "--rep")).toEqual(["--replicas"]);
    expect(await offered("status", "-n", "defa")).toEqual(["default"]);
    expect(await offered("status", "-n", "nowhere", "")).toEqual([]);
    expect(await offered("interpret", "t")).toEqual(["test"]);
  });

  it("doctor finds the hub, the engine, the CRDs, the leader and every member", async () => {
    const { out } = await cli.run(["doctor"]);
    expect(out).toMatch(/ok +hub: https:\/\/hub\.test/);
    expect(out).toMatch(/ok +engine: /);
    expect(out).toMatch(/ok +CRD crossclusterstatefulsets\.apps\.karmada\.io: is installed and current/);
    expect(out).toMatch(/ok +controller: \S+ leads/);
    expect(out).toMatch(/ok +member member3: is Ready, and answers through the proxy/);
    expect(out).toMatch(/ok +holds: 1 holds, each for an existing application/);
  });
});
