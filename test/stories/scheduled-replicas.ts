/** Replicas that Karmada's own scheduler divides by a held copy, on a real Karmada. */
import { beforeAll, expect, it } from "vitest";
import { application, DISTRIBUTED_APPLICATIONS, inline, rows } from "../../src/embedded/testing/application.ts";
import { type Resource, resource } from "../../src/kube/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../../src/runtime/index.ts";
import { MANAGER, type World } from "./world.ts";

const MEMBERS = ["member1", "member2", "member3"];
const NAMESPACE = "default";
const NAME = "catalog";
const KEY = { namespace: NAMESPACE, name: NAME };
/** Less than a test may take. */
const PATIENCE_MS = 110_000;
const OWNER_LABEL = "lockstep.karmada.io/app";
const kind = (apiVersion: string, name: string, plural: string): Resource =>
  resource({ apiVersion, kind: name, plural, namespaced: true });
const DEPLOYMENTS = kind("apps/v1", "Deployment", "deployments");
const BINDINGS = kind("work.karmada.io/v1alpha2", "ResourceBinding", "resourcebindings");
const PROPAGATION_POLICIES = kind("policy.karmada.io/v1alpha1", "PropagationPolicy", "propagationpolicies");
const OVERRIDE_POLICIES = kind("policy.karmada.io/v1alpha1", "OverridePolicy", "overridepolicies");

export function scheduledReplicasStory(on: () => World): void {
  let world: World;

  beforeAll(async () => {
    world = on();
    const rbac = "rbac.authorization.k8s.io";
    const metadata = { name: "story-scheduler", namespace: NAMESPACE };
    const rules = [{ apiGroups: ["apps"], resources: ["deployments"], verbs: ["distribute", "create"] }];
    await world.stack.hub.apply({ apiVersion: `${rbac}/v1`, kind: "Role", metadata, rules });
    await world.stack.hub.apply({
      apiVersion: `${rbac}/v1`,
      kind: "RoleBinding",
      metadata,
      roleRef: { apiGroup: rbac, kind: "Role", name: metadata.name },
      subjects: [{ kind: "ServiceAccount", name: "default", namespace: NAMESPACE }],
    });
  });

  const declare = (image: string, total: number) => {
    const labels = { app: NAME };
    const resources = { requests: { cpu: "100m", memory: "64Mi" } };
    const spec = { terminationGracePeriodSeconds: 0, containers: [{ name: "main", image, resources }] };
    const deployment = {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: NAME },
      spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    };
    const failover = { afterSeconds: 1, unhealthyAfterSeconds: 60 };
    return world.hub.apply(
      DISTRIBUTED_APPLICATIONS,
      application(NAME, {
        source: inline(deployment),
        clusters: { names: MEMBERS },
        replicas: [{ kind: "Deployment", name: NAME, by: "Scheduler", total, failover }],
        revisionSettleSeconds: 0,
      }),
      MANAGER,
    );
  };
  const status = async (): Promise<JsonObject> => {
    const found = (await world.hub.find(DISTRIBUTED_APPLICATIONS, KEY))?.status;
    return isJsonObject(found) ? found : {};
  };
  const says = async (isSo: (said: JsonObject) => boolean) => {
    const said = await status();
    return isSo(said) || JSON.stringify({ ...said, history: [], objects: [] });
  };
  const shares = async () =>
    rows(rows((await status()).workloads)[0]?.clusters).map(({ name, ready, replicas }) => ({
      name: String(name),
      ready: Number(ready),
      replicas: Number(replicas),
    }));
  const sum = (numbers: readonly number[]) => numbers.reduce((all, each) => all + each, 0);
  const running = (total: number, where: readonly string[] = MEMBERS) =>
    world.until(
      `${total} replicas are ready in ${where}`,
      async () => {
        const found = await shares();
        const there = found.filter(({ name }) => where.includes(name));
        const isSo = there.every(({ ready, replicas }) => ready === replicas) && sum(there.map(({ ready }) => ready));
        return isSo === total || JSON.stringify({ ...(await status()), history: [], objects: [] });
      },
      PATIENCE_MS,
    );
  const settled = async (total: number) => {
    await running(total);
    const { generation } = (await world.hub.get(DISTRIBUTED_APPLICATIONS, KEY)).metadata;
    await world.until(
      "it is settled",
      () => says(({ phase, observedGeneration }) => phase === "Settled" && observedGeneration === generation),
      PATIENCE_MS,
    );
  };
  const ofLockstep = async (of: Resource) =>
    (await world.hub.listAll(of, { namespace: NAMESPACE })).items.filter(
      ({ metadata }) => metadata.labels?.[OWNER_LABEL]?.startsWith(NAME) === true,
    );
  const copyOnHub = async () => {
    const [found, ...others] = await ofLockstep(DEPLOYMENTS);
    if (!found || others.length > 0) throw new Error(`the hub has ${others.length + (found ? 1 : 0)} copies`);
    return found;
  };
  /** Every Deployment that a member has, and every one that a Work delivers. */
  const delivered = async () => {
    const names = new Set<string>();
    for (const member of MEMBERS) {
      const { items } = await world.member(member).listAll(DEPLOYMENTS, { namespace: NAMESPACE });
      for (const { metadata } of items) names.add(metadata.name);
    }
    for (const work of (await world.hub.listAll(world.stage.works)).items) {
      for (const manifest of rows(valueAt(work, "spec", "workload", "manifests"))) {
        if (manifest.kind === "Deployment") names.add(String(valueAt(manifest, "metadata", "name")));
      }
    }
    return [...names].filter((name) => name.startsWith(NAME));
  };

  it("Karmada's scheduler divides the replicas by a copy that runs nowhere", async () => {
    await declare("catalog:1", 6);
    await settled(6);
    const { metadata, spec } = await copyOnHub();
    expect(metadata.name).not.toBe(NAME);
    expect(valueAt({ spec: spec ?? null }, "spec", "replicas")).toBe(6);
    const bindings = await world.hub.listAll(BINDINGS, { namespace: NAMESPACE });
    const binding = bindings.items.find((each) => valueAt(each, "spec", "resource", "name") === metadata.name);
    const decided = rows(valueAt(binding, "spec", "clusters")).map(({ name, replicas }) => `${name} ${replicas}`);
    const granted = (await shares()).filter(({ replicas }) => replicas > 0);
    expect(granted.map(({ name, replicas }) => `${name} ${replicas}`).sort()).toEqual(decided.sort());
    expect(await delivered()).toEqual([NAME]);
  });

  it("a new total and a new image reach the members, and another controller continues with the same copy", async () => {
    await declare("catalog:1", 9);
    await settled(9);
    await declare("catalog:2", 9);
    await settled(9);
    const before = (await copyOnHub()).metadata;
    expect(valueAt(await copyOnHub(), "spec", "template", "spec", "containers")).toMatchObject([
      { image: "catalog:2" },
    ]);
    await world.restartController();
    await declare("catalog:2", 10);
    await declare("catalog:2", 9);
    await settled(9);
    expect((await copyOnHub()).metadata.uid).toBe(before.uid);
    expect(await delivered()).toEqual([NAME]);
  });

  it("a lost cluster's replicas run in the others, and it has its share again when it returns", {
    timeout: 300_000,
  }, async () => {
    const before = await shares();
    await world.cut("member3");
    await running(9, ["member1", "member2"]);
    await world.mend("member3");
    await settled(9);
    expect(sum((await shares()).map(({ replicas }) => replicas))).toBe(9);
    expect((await shares()).map(({ name }) => name)).toEqual(before.map(({ name }) => name));
  });

  it("deletion removes the copy, its policy and its hold, and Karmada delivers nothing of it on the way", async () => {
    await world.hub.delete(DISTRIBUTED_APPLICATIONS, KEY);
    await world.until(
      "it is gone",
      async () => (await world.hub.find(DISTRIBUTED_APPLICATIONS, KEY)) === undefined || JSON.stringify(await status()),
      PATIENCE_MS,
    );
    expect(await delivered()).toEqual([]);
    for (const of of [DEPLOYMENTS, PROPAGATION_POLICIES, OVERRIDE_POLICIES]) {
      expect((await ofLockstep(of)).map(({ metadata }) => metadata.name)).toEqual([]);
    }
  });
}
