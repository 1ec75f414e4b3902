/** [U1] A slow or failing interpreter webhook may delay an application, and never change it. */
import { afterEach, describe, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { interpreting, webhookTransport } from "../interpret/testing/interpreter.ts";
import { type KubeObject, resource } from "../kube/index.ts";
import { isJsonObject, type JsonObject, seededRandom, silentLog } from "../runtime/index.ts";
import { type Database, type SimulatedApplication, startXline } from "./database/index.ts";
import { World } from "./testing/world.ts";

const schemas = new SchemaCache();
const XLINES = "apps.my.io/xlineclusters";
const CUSTOMIZATIONS = resource({
  apiVersion: "config.karmada.io/v1alpha1",
  kind: "ResourceInterpreterCustomization",
  plural: "resourceinterpretercustomizations",
  namespaced: false,
});
const HOOK = "hook/xline.my.io";

/** Operations that the webhook answers now; every other request stays unanswered. */
class Hook {
  readonly answers = new Set<string>();
  readonly asked: string[] = [];
  /** For ReviseReplica, only counts up to this one are answered. */
  countMax = Number.POSITIVE_INFINITY;

  readonly transport = webhookTransport((review) => {
    const { request, ...head } = review;
    const { uid, operation, object, replicas } = isJsonObject(request) ? request : {};
    this.asked.push(String(operation));
    if (!this.answers.has(String(operation)) || Number(replicas ?? 0) > this.countMax) return new Promise(() => {});
    const spec = isJsonObject(object) && isJsonObject(object.spec) ? object.spec : {};
    const count = Number(replicas);
    const pruned: JsonObject[] = spec.args === undefined ? [] : [{ op: "remove", path: "/spec/args" }];
    // If no interpreter answers, the count is only in spec.replicas.
    const revised: JsonObject[] = [
      { op: "add", path: "/spec/replicas", value: count },
      { op: "add", path: "/spec/args", value: [`--size=${count}`] },
    ];
    const patch = operation === "Prune" ? pruned : revised;
    const encoded = Buffer.from(JSON.stringify(patch)).toString("base64");
    return { body: { ...head, response: { uid, successful: true, patch: encoded, patchType: "JSONPatch" } } };
  });
}

class Story {
  readonly hook = new Hook();
  readonly world = new World(41, { schemas }, { webhookTransports: () => this.hook.transport });
  #xline: Database<SimulatedApplication> | undefined;

  async start(operations: readonly string[]): Promise<void> {
    const { world } = this;
    await world.start();
    const parts = { fleet: world.fleet, clock: world.clock, random: seededRandom(42), log: silentLog };
    this.#xline = await world.ask(startXline(parts));
    await this.#keepScripts("replicaResource", "healthInterpretation");
    const rule = { operations: [...operations], apiGroups: ["apps.my.io"], kinds: ["XlineCluster"] };
    await world.apply(interpreting("hook", { name: "xline.my.io", timeoutSeconds: 3 }, rule) as KubeObject);
    for (const operation of operations) this.hook.answers.add(operation);
    await world.apply(crossCluster());
    await world.until("the hold is in place", () => world.status("xline").reason === "TemplateMissing");
  }

  /** The example's own scripts must not answer the webhook's requests. */
  async #keepScripts(...kept: readonly string[]): Promise<void> {
    const { hub } = this.world;
    const found = await this.world.ask(hub.get(CUSTOMIZATIONS, { name: "xlinecluster" }));
    const { target, customizations } = isJsonObject(found.spec) ? found.spec : {};
    const scripts = Object.entries(isJsonObject(customizations) ? customizations : {});
    const spec = { target, customizations: Object.fromEntries(scripts.filter(([key]) => kept.includes(key))) };
    await this.world.ask(hub.update(CUSTOMIZATIONS, { ...found, spec } as KubeObject));
  }

  async deploy(): Promise<void> {
    await this.world.apply(xline("xline:1"));
    await this.world.until("it is settled", () => this.world.isSettled("xline", 3));
  }

  get revisions(): string[] {
    const { history } = this.world.status("xline");
    return Array.isArray(history) ? history.filter(isJsonObject).map(({ revision }) => String(revision)) : [];
  }

  row(cluster: string): JsonObject {
    const { clusters } = this.world.status("xline");
    const rows = Array.isArray(clusters) ? clusters.filter(isJsonObject) : [];
    return rows.find(({ name }) => name === cluster) ?? {};
  }

  /** What runs in each member, by the revision that it was granted. */
  running(): (string | undefined)[] {
    return this.world.fleet.memberNames.map((member) => {
      const copy = this.world.fleet.member(member).api.get(XLINES, "default", "xline");
      return copy?.metadata.annotations?.["crossclusterstatefulset.karmada.io/revision"];
    });
  }

  topologyVersion(member: string): number {
    const copy = this.world.fleet.member(member).api.get(XLINES, "default", "xline");
    return Number(copy?.metadata.annotations?.["crossclusterstatefulset.karmada.io/topology-version"]);
  }

  async stop(): Promise<void> {
    if (this.#xline) await this.world.ask(this.#xline.stop());
    await this.world.stop();
  }
}

function crossCluster(
  sizes: Readonly<Record<string, number>> = { member1: 1, member2: 1, member3: 1 },
  rollingUpdate: JsonObject = {},
): KubeObject {
  const template = { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster", name: "xline", namespace: "default" };
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "xline", namespace: "default" },
    spec: {
      resourceSelector: template,
      completion: { protocol: "Contract" },
      topology: { clusters: Object.entries(sizes).map(([name, replicas]) => ({ name, replicas })) },
      updateStrategy: { type: "RollingUpdate", rollingUpdate },
    },
  };
}

function xline(image: string, note = "a"): KubeObject {
  return {
    apiVersion: "apps.my.io/v1alpha1",
    kind: "XlineCluster",
    metadata: { name: "xline", namespace: "default", annotations: { "hub.karmada.io/note": note } },
    spec: { replicas: 3, image, args: ["--for-the-hub-alone"] },
  };
}

let story: Story;
afterEach(() => story.stop());

async function begin(operations: readonly string[]): Promise<Story> {
  story = new Story();
  await story.start(operations);
  return story;
}

describe("[U18] a customization that names a dependency of another namespace", () => {
  it("causes a refused revision, and the object is neither read nor sent to a member", async () => {
    const { world } = await begin([]);
    await world.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: "vault" } });
    const stolen = { name: "keys", namespace: "vault" };
    await world.apply({ apiVersion: "v1", kind: "Secret", metadata: stolen, stringData: { key: "hidden" } });
    await world.apply({
      apiVersion: "config.karmada.io/v1alpha1",
      kind: "ResourceInterpreterCustomization",
      metadata: { name: "thief" },
      spec: {
        target: { apiVersion: "apps.my.io/v1alpha1", kind: "XlineCluster" },
        customizations: {
          dependencyInterpretation: {
            luaScript:
              'function GetDependencies(obj)\n  return {{apiVersion = "v1", kind = "Secret", namespace = "vault", name = "keys"}}\nend\n',
          },
        },
      },
    });
    await world.apply(xline("xline:1"));
    await world.until("it is refused", () => world.status("xline").reason === "RevisionRefused");
    expect(world.status("xline").message).toMatch(
      /^Secret vault\/keys is not in .* of ResourceInterpreterCustomization thief names it\. Copy the object/,
    );
    await world.clock.advance(60_000);
    expect(story.revisions).toEqual([]);
    expect(world.fleet.member("member1").api.get("/secrets", "vault", "keys")).toBeUndefined();
  });
});

describe("a webhook that no longer answers", () => {
  it("[U16] does not make another revision of the same template when it prunes it", async () => {
    const { world, hook } = await begin(["Prune"]);
    await story.deploy();
    const before = { revisions: story.revisions, running: story.running() };
    expect(before.revisions).toHaveLength(1);

    hook.answers.clear();
    await world.apply(xline("xline:2"));
    await world.until("the status names it", () =>
      String(world.status("xline").message).includes("no answer within 3 s"),
    );
    expect(world.status("xline").reason).toBe("RevisionPending");
    expect(world.status("xline").message).toContain(HOOK);
    await world.clock.advance(600_000);
    expect({ revisions: story.revisions, running: story.running() }).toEqual(before);

    hook.answers.add("Prune");
    await world.until("the edit is rolled out", () => story.running().every((one) => one !== before.running[0]));
    await world.until("it is settled", () => world.isSettled("xline", 3));
    expect(story.revisions).toHaveLength(2);
  });

  it("delays nothing while only the hub's own notes on the template change", async () => {
    const { world, hook } = await begin(["Prune"]);
    await story.deploy();
    hook.answers.clear();
    hook.asked.length = 0;
    await world.ask(
      world.hub.patch(
        resource({
          apiVersion: "apps.my.io/v1alpha1",
          kind: "XlineCluster",
          plural: "xlineclusters",
          namespaced: true,
        }),
        { namespace: "default", name: "xline" },
        { type: "merge", body: { status: { readyReplicas: 3 } } },
        { subresource: "status" },
      ),
    );
    await world.clock.advance(60_000);
    expect(world.isSettled("xline", 3)).toBe(true);
    expect(hook.asked).toEqual([]);
  });

  it("does not make another revision when it writes the count, also under a new leader", async () => {
    const { world, hook } = await begin(["ReviseReplica"]);
    await story.deploy();
    const before = { revisions: story.revisions, running: story.running() };
    hook.answers.clear();
    await world.stopController();
    world.startController();
    await world.clock.advance(600_000);
    expect({ revisions: story.revisions, running: story.running() }).toEqual(before);
    expect(world.status("xline")).toMatchObject({ reason: "RevisionPending" });
    expect(world.status("xline").message).toContain(HOOK);
    hook.answers.add("ReviseReplica");
    await world.until("it is settled", () => world.isSettled("xline", 3));
    expect(story.revisions).toEqual(before.revisions);
  });

  it("[U17] lets one cluster wait for its grant, with the reason, while others get theirs", async () => {
    const { world, hook } = await begin(["ReviseReplica"]);
    await story.deploy();
    await world.clock.advance(60_000);
    const before = story.topologyVersion("member1");
    hook.answers.clear();
    await world.apply(crossCluster({ member1: 1, member2: 1, member3: 2 }));
    await world.until("member3 says why", () => String(story.row("member3").message).includes(HOOK));
    expect(story.row("member3").reason).toBe("WaitingForInterpreter");
    expect(world.status("xline").message).toContain(HOOK);
    await world.until("the others are notified", () => story.topologyVersion("member1") > before);
    expect(world.fleet.member("member3").api.get(XLINES, "default", "xline")?.spec).toMatchObject({ replicas: 1 });
    await world.stopController();
    world.startController();
    await world.clock.advance(30_000);
    expect(world.fleet.member("member3").api.get(XLINES, "default", "xline")?.spec).toMatchObject({ replicas: 1 });
    hook.answers.add("ReviseReplica");
    await world.until("four are settled", () => world.isSettled("xline", 4));
  });

  it("[U17] lets no step start that it could leave without a grant, so that none is rolled back because of it", async () => {
    const { world, hook } = await begin(["ReviseReplica"]);
    const sizes = { member1: 1, member2: 1, member3: 2 };
    const rollingUpdate = { onFailure: "Rollback", progressDeadlineSeconds: 60 };
    await world.apply(crossCluster(sizes, rollingUpdate));
    await world.apply(xline("xline:1"));
    await world.until("it is settled", () => world.isSettled("xline", 4));
    const before = story.running();
    hook.countMax = 1;
    await world.apply(xline("xline:2"));
    await world.clock.advance(1_800_000);
    expect(story.running()).toEqual(before);
    expect(world.status("xline")).toMatchObject({ reason: "RevisionPending" });
    expect(world.status("xline").rejectedRevision).toBeUndefined();
    hook.countMax = 2;
    await world.until("the edit is rolled out", () => story.running().every((one) => one !== before[0]));
    await world.until("it is settled", () => world.isSettled("xline", 4));
  });

  it("[U16] does not make a revision without the dependencies that it would name", async () => {
    const { world, hook } = await begin(["InterpretDependency"]);
    hook.answers.clear();
    await world.apply(xline("xline:1"));
    await world.until("the status names it", () => String(world.status("xline").message).includes(HOOK));
    await world.clock.advance(60_000);
    expect(world.status("xline").reason).toBe("RevisionPending");
    expect(story.revisions).toEqual([]);
  });
});
