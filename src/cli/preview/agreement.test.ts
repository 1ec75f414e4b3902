/** A preview says what the controller would do: it gathers with the same code, wherever it reads from. */
import { afterEach, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { propagation, WORKS } from "../../engine/testing/contract/index.ts";
import { type KubeObject, resource } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { CliWorld, exampleObjects, exampleTemplate, runAlone } from "../testing/harness.ts";

const NAMESPACES = resource({ apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false });
const HOLDS = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "OverridePolicy",
  plural: "overridepolicies",
  namespaced: true,
});
const yaml = (objects: readonly unknown[]) => objects.map((object) => stringify(object)).join("---\n");
const offline = (objects: readonly unknown[]) =>
  runAlone(["plan", "-f", "f.yaml", "--offline"], { files: { "f.yaml": yaml(objects) } });

describe("plan of files", () => {
  it("counts the instances of a kind that no interpreter reads as the controller does: by spec.replicas", async () => {
    const weighted = {
      clusters: [
        { name: "member1", weight: 2 },
        { name: "member2", weight: 1 },
      ],
    };
    const resourceSelector = { apiVersion: "db.example.io/v1", kind: "Database", name: "db" };
    const [statefulset] = exampleObjects("", { topology: weighted, resourceSelector });
    const template = { ...resourceSelector, name: undefined, metadata: { name: "db" }, spec: { replicas: 3 } };
    const { code, out, err } = await offline([statefulset, template]);
    expect(err).toBe("");
    expect(code).toBe(0);
    expect(out).toMatch(/ 3 instances\n[\s\S]*member1 {2}deploy[\s\S]*member2 {2}deploy/);
  });

  it("refuses a revision that is too large before any step", async () => {
    const [statefulset] = exampleObjects();
    const text = JSON.stringify(exampleTemplate("nginx:1"));
    const template = JSON.parse(text.replace('"image"', '"envFrom":[{"configMapRef":{"name":"big"}}],"image"'));
    const big = {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "big" },
      data: { all: "x".repeat(2_000_000) },
    };
    const { code, out } = await offline([statefulset, template, big]);
    expect(code).toBe(2);
    expect(out).toMatch(/RevisionRefused: .*ConfigMap default\/big has \d+ bytes, and \d+ is the limit/);
    expect(out).not.toContain("1. member1");
  });
});

describe("plan on a hub", () => {
  let cli: CliWorld | undefined;
  afterEach(() => cli?.world.stop());

  const allow = async ({ world }: CliWorld, clusters: string) => {
    const annotations = { "lockstep.karmada.io/allowed-clusters": clusters };
    await world.ask(
      world.hub.patch(NAMESPACES, { name: "default" }, { type: "merge", body: { metadata: { annotations } } }),
    );
  };

  it("respects the clusters that the namespace may use", async () => {
    cli = new CliWorld(31);
    await cli.deploy();
    await allow(cli, "member1,member2");
    const { code, out } = await cli.run(["plan", "web"]);
    expect(code).toBe(2);
    expect(out).toContain("ScheduleUnknown: spec.topology: namespace default may not use member3");
    await allow(cli, "*");
    expect((await cli.run(["plan", "web"])).code).toBe(0);
  });

  it("notes that the clusters were not checked where the person may not read namespaces", async () => {
    cli = new CliWorld(32);
    await cli.deploy();
    const body = JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden", message: "namespaces is forbidden" });
    const { code, out } = await cli.run(["plan", "web"], {
      intercept: ({ path }) =>
        path.startsWith("/api/v1/namespaces/default?") || path === "/api/v1/namespaces/default"
          ? { status: 403, headers: {}, body }
          : undefined,
    });
    expect(code).toBe(0);
    expect(out).toMatch(/note: whether namespace default may use these clusters is not checked: .*forbidden/);
  });

  it("says that nothing would be granted while another Work delivers the template", async () => {
    cli = new CliWorld(33);
    const { world } = cli;
    await world.start();
    await world.apply(propagation("web"));
    const [statefulset] = exampleObjects("", { topology: undefined });
    if (!statefulset) throw new Error("the example has a CrossClusterStatefulset");
    await world.apply(statefulset);
    await world.until("the hold is in place", () => world.status("web").reason === "TemplateMissing");
    const template = exampleTemplate("nginx:1.27");
    await world.apply({ ...template, spec: { ...(template.spec as object), replicas: 5 } });
    await world.until("it is deployed", () => world.isSettled("web", 5));
    await world.stopController();
    const [hold] = (await world.ask(world.hub.listAll(HOLDS))).items;
    if (!hold || !isJsonObject(hold.spec)) throw new Error("there is no hold");
    await world.ask(world.hub.update(HOLDS, { ...hold, spec: { ...hold.spec, overrideRules: [] } }));
    await world.clock.advance(30_000);
    const { items } = await world.ask(world.hub.listAll(WORKS, { labelSelector: "!lockstep.karmada.io/app" }));
    expect(items).toHaveLength(3);
    const { code, out } = await cli.run(["plan", "web"]);
    expect(code).toBe(2);
    expect(out).toMatch(/It would be blocked:\n {2}HoldDefeated: StatefulSet default\/web is also delivered by Work /);
  });

  it("names what runs as the controller does when it adopts it, also while a restart is asked for", async () => {
    cli = new CliWorld(34);
    const { world } = cli;
    await world.clock.run(world.fleet.start());
    const template = exampleTemplate("nginx:1.27");
    await world.apply({ ...template, spec: { ...(template.spec as object), replicas: 3 } });
    await world.apply(duplicated());
    await world.clock.advance(10_000);
    const edit = { topology: undefined, identity: { mode: "PerCluster" }, restartedAt: "2025-01-01T00:00:00Z" };
    const [statefulset] = exampleObjects("", edit);
    if (!statefulset) throw new Error("the example has a CrossClusterStatefulset");
    const ran = await cli.run(["plan", "-f", "f.yaml", "-o", "json"], { files: { "f.yaml": stringify(statefulset) } });
    const foreseen: { adoptions: { cluster: string; revision: string }[] } = JSON.parse(ran.out);
    expect(foreseen.adoptions.map(({ cluster }) => cluster)).toEqual(["member1", "member2"]);
    world.startController();
    await world.apply(statefulset);
    const granted = () =>
      ((world.status("web").clusters ?? []) as JsonObject[]).flatMap(({ name, granted: grant }) =>
        isJsonObject(grant) ? [{ cluster: name, revision: grant.revision }] : [],
      );
    await world.until("both are adopted", () => granted().length === 2);
    expect(granted()).toEqual(foreseen.adoptions.map(({ cluster, revision }) => ({ cluster, revision })));
  });
});

function duplicated(): KubeObject {
  return {
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
  };
}
