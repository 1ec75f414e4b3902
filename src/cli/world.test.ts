/** Command lines against a fleet with the real controller, on virtual time. */
import { beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { CROSS_CLUSTER_STATEFULSETS } from "../embedded/testing/world.ts";
import type { KubeObject } from "../kube/index.ts";
import type { JsonObject } from "../runtime/index.ts";
import { CliWorld, exampleObjects, exampleTemplate } from "./testing/harness.ts";

describe("a deployed application", () => {
  const cli = new CliWorld();
  beforeAll(() => cli.deploy());

  test("plan waits for a status that speaks of the last grants, and says so when none comes", async () => {
    const stale = (times: number) => {
      let left = times;
      return cli.run(["plan", "web"], {
        intercept({ method, path }) {
          if (method !== "GET" || !path.includes("/crossclusterstatefulsets/web") || left-- <= 0) return undefined;
          const object = structuredClone(cli.world.statefulset("web"));
          const { clusters } = object!.status as { clusters: { granted: { epoch: number } }[] };
          for (const { granted } of clusters) granted.epoch--;
          return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify(object) };
        },
      });
    };
    const behind = "the status is older than the last grants";
    expect((await stale(3)).out).not.toContain(behind);
    expect((await stale(Infinity)).out).toContain(behind);
  });

  test("status lists, and shows one as a tree", async () => {
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

  test("-o name, json and yaml are for programs", async () => {
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

  test("why says that nothing is waited for", async () => {
    const { out } = await cli.run(["why", "web"]);
    expect(out).toMatch(/^default\/web waits for nothing: 5 of 5 instances are ready, on revision web-\w+\.\n$/);
  });

  test("a name that is not there suggests the nearest, or says where it is", async () => {
    expect(await cli.run(["why", "wbe"])).toMatchObject({
      code: 1,
      err: "error: CrossClusterStatefulset default/wbe does not exist; did you mean 'web'?\n",
    });
    expect((await cli.run(["status", "web", "-n", "kube-system"])).err).toBe(
      "error: CrossClusterStatefulset kube-system/web does not exist; there is one in another namespace: -n default\n",
    );
    expect((await cli.run(["-n", "kube-system", "status", "web"])).err).toContain("kube-system/web does not exist");
    expect((await cli.run(["status", "database"])).err).toContain("there are: web");
    expect((await cli.run(["status", "pod/web"])).err).toContain("without 'pod/'");
  });

  test("plan at rest moves nothing", async () => {
    const { code, out } = await cli.run(["plan", "web"]);
    expect(code).toBe(0);
    expect(out).toContain("Nothing would move.");
    expect(out).toContain("It would come to its end");
  });

  test("plan of an edited template shows the update in order, with each cluster's difference", async () => {
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

  test("plan ends with 2 when it would be blocked", async () => {
    const paused = exampleObjects("nginx:1.28", { updateStrategy: { rollingUpdate: { paused: true } } });
    const files = { "web.yaml": paused.map((object) => stringify(object)).join("---\n") };
    const { code, out } = await cli.run(["plan", "-f", "web.yaml"], { files });
    expect(code).toBe(2);
    expect(out).toMatch(/It would be blocked:\n {2}Paused/);
  });

  test("render shows what one cluster holds", async () => {
    const { out, code } = await cli.run(["render", "web", "--cluster", "member2"]);
    expect(code).toBe(0);
    expect(out).toMatch(/# cluster: member2\napiVersion: apps\/v1\nkind: StatefulSet/);
    expect(out).toContain("start: 100");
    expect(out).not.toContain("# cluster: member1");
  });

  test("completion offers objects, clusters, commands and flags", async () => {
    const offered = async (...words: string[]) =>
      (await cli.run(["__complete", "--", ...words])).out.split("\n").filter(Boolean);
    expect(await offered("st")).toEqual(["status"]);
    expect(await offered("status", "")).toEqual(["web"]);
    expect(await offered("confirm-lost", "member")).toEqual(["member1", "member2", "member3"]);
    expect(await offered("confirm-lost", "member3", "")).toEqual(["web"]);
    expect(await offered("scale", "web", "--rep")).toEqual(["--replicas"]);
    expect(await offered("status", "-n", "defa")).toEqual(["default"]);
    expect(await offered("status", "-n", "nowhere", "")).toEqual([]);
    expect(await offered("interpret", "t")).toEqual(["test"]);
  });

  test("doctor finds the hub, the engine, the CRDs, the leader and every member", async () => {
    const { out } = await cli.run(["doctor"]);
    expect(out).toMatch(/ok +hub: https:\/\/hub\.test/);
    expect(out).toMatch(/ok +engine: /);
    expect(out).toMatch(/ok +CRD crossclusterstatefulsets\.apps\.karmada\.io: is installed and current/);
    expect(out).toMatch(/ok +controller: \S+ leads/);
    expect(out).toMatch(/ok +member member3: is Ready, and answers through the proxy/);
    expect(out).toMatch(/ok +holds: 1 holds, each for an application that is there/);
  });
});

describe("an update", () => {
  const cli = new CliWorld(2);
  beforeAll(() => cli.deploy());

  test("is watched, paused, resumed, explained and undone", async () => {
    const { world } = cli;
    await world.apply(exampleTemplate("nginx:1.28"));
    await world.until("the first step is under way", () => world.status("web").phase === "Updating");
    const status = await cli.run(["status", "web"]);
    expect(status.out).toMatch(/revision web-\w+ -> web-\w+/);
    expect(status.out).toMatch(/member3 {2}Updating .*gate closed, its turn/);
    const why = await cli.run(["why", "web"]);
    expect(why.out).toMatch(/^(WaitingFor\w+|Unhealthy) {2}default\/web waits in member3: /);
    expect(why.out).toContain("\nEvidence\n  default/web in member3  status.");
    expect(why.out).toMatch(/Read more: docs\/runbook\.md, \w+/);

    expect((await cli.run(["pause", "web"])).out).toContain("is paused: the step in progress is finished");
    await world.until("the pause is seen", () =>
      JSON.stringify(world.status("web").conditions).includes('"reason":"Paused"'),
    );
    const paused = await cli.run(["why", "web", "-o", "json"]);
    expect(JSON.parse(paused.out)).toMatchObject({
      reason: "Paused",
      needsPerson: true,
      remedy: ["lockstep resume web -n default"],
    });
    expect((await cli.run(["plan", "web"])).code).toBe(2);
    expect((await cli.run(["pause", "web"])).out).toContain("is paused already");

    expect((await cli.run(["resume", "web"])).out).toBe("CrossClusterStatefulset default/web goes on\n");
    await world.until("the update is complete", () => world.isSettled("web", 5));

    const history = await cli.run(["history", "web"]);
    expect(history.out).toMatch(
      /^2 {2}web-\w+ {2}.* ago {2}current\n {3}spec\.template\.spec\.containers\[0\]\.image: nginx:1\.27 -> nginx:1.28\n1 {2}web-/,
    );
    expect((await cli.run(["history", "web", "--revision", "2"])).out).toMatch(
      /difference to 1 .*\n[\s\S]*- +image: nginx:1\.27/,
    );
    expect((await cli.run(["history", "web", "--revision", "9"])).err).toContain(
      "has no revision '9'; there are: 2, 1",
    );

    expect((await cli.run(["undo", "web", "--to-revision", "7"])).err).toContain("has no revision '7'");
    expect((await cli.run(["undo", "web"])).out).toMatch(/goes back to revision 1 \(web-\w+\), in order/);
    const first = history.out.match(/^1 {2}(web-\w+)/m)?.[1];
    await world.until("it went back", () => {
      const { currentRevision, updatedReplicas } = world.status("web");
      return currentRevision === first && updatedReplicas === 5;
    });
    expect((await cli.run(["status", "web"])).out).toContain(`revision ${first} (rejected: `);

    // What steps took is known from the controller's Events by now.
    const plan = await cli.run(["plan", "-f", "web.yaml"], {
      files: { "web.yaml": stringify(exampleTemplate("nginx:1.29")) },
    });
    expect(plan.out).toMatch(/3 steps, \d+ writes\. Time: about \d+s, as such steps and waits took before\./);
  });

  test("a status that is written meanwhile keeps no change from being made, a spec that is changed does", async () => {
    const { world } = cli;
    const conflict = { kind: "Status", status: "Failure", reason: "Conflict", code: 409, message: "modified" };
    const refused = { status: 409, headers: { "content-type": "application/json" }, body: JSON.stringify(conflict) };
    const isPatch = (method: string, path: string) => method === "PATCH" && path.includes("/crossclusterstatefulsets/");
    let conflicts = 2;
    const busy = await cli.run(["pause", "web"], {
      intercept: ({ method, path }) => (isPatch(method, path) && conflicts-- > 0 ? refused : undefined),
    });
    expect(busy).toMatchObject({ code: 0, out: expect.stringContaining("is paused") });
    const before = world.statefulset("web");
    const edited = await cli.run(["resume", "web"], {
      intercept({ method, path }) {
        if (!isPatch(method, path)) return undefined;
        void world.hub.patch(CROSS_CLUSTER_STATEFULSETS, before!.metadata, {
          type: "merge",
          body: { spec: { minReadySeconds: 0, revisionHistoryLimit: 9 } },
        });
        return refused;
      },
    });
    expect(edited).toMatchObject({ code: 1, err: expect.stringContaining("was changed by somebody else") });
    expect((await cli.run(["resume", "web"])).code).toBe(0);
  });

  test("restart and scale are carried out in order", async () => {
    const { world } = cli;
    const before = world.status("web").updateRevision;
    expect((await cli.run(["restart", "web"])).out).toContain("restarts every instance");
    await world.until("it restarted", () => world.isSettled("web", 5) && world.status("web").updateRevision !== before);
    expect((await cli.run(["scale", "web", "--replicas", "7"])).err).toContain("say where: --cluster NAME=N");
    expect((await cli.run(["scale", "web", "--cluster", "membr3=2"])).err).toContain("did you mean 'member3'?");
    expect((await cli.run(["scale", "web", "--cluster", "member3"])).err).toContain("give NAME=N, such as member1=3");
    expect((await cli.run(["scale", "web", "--cluster", "member3=2"])).out).toContain(
      "is scaled to 6 (member1=2 member2=2 member3=2)",
    );
    await world.until("it has six", () => world.isSettled("web", 6));
    expect((await cli.run(["scale", "web", "--cluster", "member3=0"])).err).toBe(
      "error: Every instance in member3 would be removed. Nobody can be asked here: say --yes if that is meant\n",
    );
    expect((await cli.run(["scale", "web", "--cluster", "member3=0"], { answer: "no" })).err).toBe(
      "error: nothing was changed\n",
    );
  });
});

describe("doctor", () => {
  const cli = new CliWorld(6);
  beforeAll(() => cli.deploy());

  test("asks for every right on hub and members, and names those that are missing", async () => {
    const asked: string[] = [];
    const { code, out } = await cli.run(["doctor"], {
      intercept: ({ path, body = "" }) => {
        if (!path.endsWith("/selfsubjectaccessreviews")) return undefined;
        const { group, resource, verb } = JSON.parse(body).spec.resourceAttributes;
        asked.push(`${path.includes("/clusters/member2/proxy/") ? "member2 " : ""}${verb} ${resource}.${group}`);
        const allowed = !(path.includes("/clusters/member2/proxy/") && verb === "delete" && resource === "pods");
        return { status: 201, headers: {}, body: JSON.stringify({ status: { allowed } }) };
      },
    });
    expect(code).toBe(1);
    expect(out).toMatch(/ok +rights: hub: everything/);
    expect(out).toMatch(/problem +rights: member member2: not allowed to this identity: delete pods\n/);
    expect(out).toContain("\n1 problems.");
    expect(asked).toContain("member2 watch statefulsets.apps");
    expect(asked).toContain("update leases.coordination.k8s.io");
  });

  test("finds holds whose application is gone", async () => {
    const { world } = cli;
    await world.stopController();
    const object = world.statefulset("web");
    await world.ask(
      world.hub.update(CROSS_CLUSTER_STATEFULSETS, { ...object!, metadata: { ...object!.metadata, finalizers: [] } }),
    );
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "web" }));
    const { out } = await cli.run(["doctor"]);
    expect(out).toMatch(
      /warning +holds: OverridePolicy default\/lockstep-hold-\w+ holds a template for CrossClusterStatefulset default\/web, which is gone/,
    );
    expect(out).toMatch(/warning +controller: nobody leads/);
  });
});

describe("controller", () => {
  test("leads, deploys, logs JSON lines, and gives the lease back when it is told to stop", async () => {
    const cli = new CliWorld(7);
    const { world } = cli;
    await world.clock.run(world.fleet.start());
    for (const object of exampleObjects()) await world.apply(object);
    const stop = new AbortController();
    void world.clock.sleep(60_000).then(() => stop.abort(new Error("stopped by SIGTERM")));
    const { code, out } = await cli.run(["controller", "--identity", "me"], { interrupted: stop.signal });
    expect(code).toBe(0);
    const lines: { level: string; message: string }[] = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line));
    expect(lines[0]).toMatchObject({ level: "info", message: "started", identity: "me" });
    expect(lines.map(({ message }) => message)).toContain("leading");
    expect(lines.at(-1)).toMatchObject({ message: "stopped", reason: "stopped by SIGTERM" });
    expect(world.isSettled("web", 5)).toBe(true);
    expect((await cli.run(["doctor"])).out).toMatch(/warning +controller: nobody leads/);
  });
});

describe("install --apply", () => {
  test("applies everything to a hub, and says so when the server is none", async () => {
    const cli = new CliWorld(8);
    await cli.world.clock.run(cli.world.fleet.start());
    const { code, out, err } = await cli.run(["install", "--apply"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    expect(out).toContain("CustomResourceDefinition crossclusterstatefulsets.apps.karmada.io applied\n");
    expect(out).toContain("ClusterOverridePolicy lockstep-standing-hold applied\n");
    const again = await cli.run(["install", "--apply"]);
    expect(again.out).toBe(out);
  });
});

describe("an application that Karmada dispatches already", () => {
  const cli = new CliWorld(9);
  const { world } = cli;
  const template = (image: string): KubeObject => {
    const { spec, ...rest } = exampleTemplate(image);
    return { ...rest, spec: { ...(spec as object), replicas: 3 } };
  };
  const planned = (edit: JsonObject, ...others: KubeObject[]) => {
    const [statefulset] = exampleObjects("", { topology: undefined, ...edit });
    const text = [statefulset, ...others].map((object) => stringify(object)).join("---\n");
    return cli.run(["plan", "-f", "web.yaml"], { files: { "web.yaml": text } });
  };
  const adopted = { identity: { mode: "PerCluster" } };

  beforeAll(async () => {
    await world.clock.run(world.fleet.start());
    await world.apply(template("nginx:1.27"));
    await world.apply({
      apiVersion: "policy.karmada.io/v1alpha1",
      kind: "PropagationPolicy",
      metadata: { name: "web", namespace: "default" },
      spec: {
        resourceSelectors: [{ apiVersion: "apps/v1", kind: "StatefulSet", name: "web" }],
        placement: {
          clusterAffinity: { clusterNames: ["member1", "member2"] },
          replicaScheduling: { replicaSchedulingType: "Duplicated" },
        },
      },
    });
    await world.clock.advance(10_000);
  });

  test("is taken over as it runs, and nothing moves", async () => {
    const { code, out } = await planned(adopted);
    expect(code).toBe(0);
    expect(out).toContain(
      "Runs already, and would be taken over as it is; nothing moves:\n  member1  3 instances  web-",
    );
    expect(out).toMatch(/member2 {2}3 instances {2}web-\w+ {2}as the template says\n/);
    expect(out).toMatch(/1\. member1 {2}adopt {2}web-0, web-1, web-2 /);
    expect(out).not.toContain("deploy");
  });

  test("shows what differs from the template, and waits for a person then", async () => {
    const { code, out } = await planned(adopted, template("nginx:1.28"));
    expect(code).toBe(2);
    expect(out).toMatch(/member1 {2}3 instances {2}web-\w+ {2}differs from the template\n/);
    expect(out).toContain("member1, member2: runs -> template\n  apps/v1/StatefulSet default/web\n");
    expect(out).toMatch(/- +- image: nginx:1\.27\n +\+ +- image: nginx:1\.28\n/);
    expect(out).toMatch(
      /\.\.\. needs a person: AdoptedWithDifferences: [\s\S]*3\. member2 {2}update {2}web-2, web-1, web-0/,
    );
    expect(out).toContain("It would be blocked:\n  AdoptedWithDifferences member1: member1 runs 3 instances of web-");
  });

  test("cannot be taken over under numbers of its own", async () => {
    const { code, out } = await planned({});
    expect(code).toBe(2);
    expect(out).toContain("AdoptionNeedsPerCluster member1: it already runs 3 instances from ordinal 0");
  });

  test("is not shown where the cluster cannot be read", async () => {
    const [statefulset] = exampleObjects("", { topology: undefined, ...adopted });
    const { out } = await cli.run(["plan", "-f", "web.yaml"], {
      files: { "web.yaml": stringify(statefulset) },
      intercept: ({ path }) =>
        path.includes("/clusters/member2/proxy/apis/apps/v1/namespaces")
          ? { status: 403, headers: {}, body: JSON.stringify({ kind: "Status", code: 403, message: "no proxy" }) }
          : undefined,
    });
    expect(out).toMatch(/note: member2: what it runs cannot be read through the hub's cluster proxy: .*: no proxy/);
    expect(out).not.toContain("member2  grow");
  });
});

describe("status -w", () => {
  const cli = new CliWorld(5);
  beforeAll(() => cli.deploy());
  const watching = (ms: number) => {
    const stop = new AbortController();
    void cli.world.clock.sleep(ms).then(() => stop.abort(new Error("Ctrl-C")));
    return stop.signal;
  };

  test("prints every change when piped, until it is interrupted", async () => {
    await cli.run(["restart", "web"]);
    const { code, out, err } = await cli.run(["status", "web", "-w"], { interrupted: watching(30_000) });
    expect({ code, err }).toEqual({ code: 0, err: "" });
    const pictures = out.split("\n\n").filter((part) => part.startsWith("default/web"));
    expect(pictures.length).toBeGreaterThan(5);
    expect(out).not.toContain("\u001b");
    expect(pictures.at(-1)).toContain("Settled");
  });

  test("redraws in place on a terminal, and leaves the last picture", async () => {
    const { out } = await cli.run(["status", "web", "-w"], { terminal: true, interrupted: watching(3_000) });
    expect(out.startsWith("\u001b[?1049h\u001b[H\u001b[J")).toBe(true);
    expect(out.split("\u001b[?1049l")[1]).toContain("member3");
  });

  test("-o json prints one object per line", async () => {
    const { out } = await cli.run(["status", "web", "-w", "-o", "json"], { interrupted: watching(500) });
    expect(JSON.parse(out.split("\n")[0] ?? "")).toMatchObject({ kind: "CrossClusterStatefulset" });
  });

  test("needs a name", async () => {
    expect((await cli.run(["status", "-w"])).err).toContain("--watch needs a name");
  });
});

describe("a wave that waits for a person", () => {
  const cli = new CliWorld(3);

  test("is approved", async () => {
    const { world } = cli;
    await world.start();
    const waves = [{ clusters: ["member3"], approval: "Manual" }];
    for (const object of exampleObjects("nginx:1.27", { updateStrategy: { rollingUpdate: { waves } } }))
      await world.apply(object);
    await world.until("deployed", () => world.isSettled("web", 5));
    expect((await cli.run(["approve", "web"])).err).toContain("no rollout in progress");
    await world.apply(exampleTemplate("nginx:1.28"));
    await world.until("it waits", () => world.status("web").reason === "AwaitingApproval");
    const why = await cli.run(["why", "web"]);
    expect(why.out).toContain("\nRemedy\n  lockstep approve web -n default\n");
    expect((await cli.run(["approve", "web", "--wave", "4"])).err).toContain("has the waves 0 to 0");
    expect((await cli.run(["approve", "web", "--comment", "looks good"])).out).toMatch(
      /^wave 0 of CrossClusterStatefulset default\/web is approved for revision web-/,
    );
    expect((await cli.run(["approve", "web", "--wave", "0"])).out).toContain("is approved already");
    await world.until("complete", () => world.isSettled("web", 5));
  });
});

describe("a lost cluster", () => {
  const cli = new CliWorld(4);
  beforeAll(() => cli.deploy());

  test("is confirmed lost by a person who was asked", async () => {
    const { world } = cli;
    expect((await cli.run(["confirm-lost", "member3", "web", "--yes"])).err).toContain(
      "Cluster member3 is Ready: its instances are not lost",
    );
    world.fleet.cut("member3");
    await world.until("it is lost", () => JSON.stringify(world.status("web")).includes('"ClusterLost"'));
    expect((await cli.run(["confirm-lost", "membr3"])).err).toContain(
      "no CrossClusterStatefulset of namespace default uses cluster 'membr3'",
    );
    expect((await cli.run(["confirm-lost", "membr3", "web"])).err).toContain("did you mean 'member3'?");
    expect((await cli.run(["confirm-lost", "member3"])).err).toContain("say --yes if that is meant");
    const why = await cli.run(["why", "web"]);
    expect(why.out).toContain("cluster member3  Ready = NotReady  since 20");
    expect(why.out).toContain("lockstep confirm-lost member3 web -n default");
    expect((await cli.run(["confirm-lost", "member3"], { answer: "yes" })).out).toBe(
      "CrossClusterStatefulset default/web: member3 is confirmed lost\n",
    );
    expect(world.statefulset("web")?.spec).toMatchObject({ failover: { confirmedLost: [{ name: "member3" }] } });
    expect((await cli.run(["doctor"])).out).toMatch(/problem +member member3: is not Ready/);
  });
});
