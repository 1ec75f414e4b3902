/** The suite names the rule that an operator breaks. */
import { describe, expect, it } from "vitest";
import { World } from "../../embedded/testing/world.ts";
import { type KubeObject, resource } from "../../kube/index.ts";
import { isJsonObject, type JsonObject, sameJson, seededRandom, silentLog } from "../../runtime/index.ts";
import {
  apiPath,
  checkOperator,
  type Finding,
  type Grant,
  type InstanceView,
  type MemberClient,
  type MemberObject,
  type MemberReport,
  nextStep,
  operate,
  type Rule,
  readGrant,
  report,
  reportPatch,
} from "../index.ts";

const KIND = { apiVersion: "example.io/v1alpha1", kind: "Cache", plural: "caches" };
const open = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const DEFINITION: KubeObject = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "caches.example.io" },
  spec: {
    group: "example.io",
    names: { kind: "Cache", listKind: "CacheList", plural: "caches", singular: "cache" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        subresources: { status: {} },
        schema: { openAPIV3Schema: { type: "object", properties: { spec: open, status: open } } },
      },
    ],
  },
};

/** A rule, or one of the ways to break M2. */
type Breach = Rule | "fresh volume" | "no mount";

/** An operator whose first instance always leads, and how it breaks a rule. */
class TrialOperator {
  readonly #breaks: Breach | undefined;
  /** What each instance runs: its volume. */
  readonly #volumes = new Map<string, string>();
  #topologyVersion = 0;

  constructor(breaks: Breach | undefined) {
    this.#breaks = breaks;
  }

  async reconcile(object: MemberObject, api: MemberClient): Promise<void> {
    const pods = apiPath("v1", "pods", object.metadata.namespace);
    const reading = readGrant(object);
    if (reading.state === "malformed" && this.#breaks === "M9") {
      for (const pod of await api.list(pods)) await api.delete(`${pods}/${pod.metadata.name}`, pod);
    }
    if (reading.state !== "granted") return;
    const grant = this.#misread(reading.grant);
    const own = grant.topology.find(({ cluster }) => cluster === grant.cluster);
    const instances = await Promise.all(
      (own?.instances ?? []).map((name, at) => this.#look(name, own?.states[at] ?? "member", pods, api)),
    );
    if (this.#breaks === "M7" && !grant.processor) return;
    const leader = instances.find(({ process }) => process === "ready")?.name;
    await this.#act(grant, instances, leader, pods, api);
    await this.#report(object, api, this.#told(grant, instances, leader));
  }

  #misread(grant: Grant): Grant {
    switch (this.#breaks) {
      case "M2":
        return { ...grant, processor: true };
      case "M5":
        return { ...grant, partition: 0 };
      case "M6": {
        const { transferLeaderTo: _ignored, ...rest } = grant;
        return rest;
      }
      default:
        return grant;
    }
  }

  async #look(name: string, state: InstanceView["state"], pods: string, api: MemberClient): Promise<InstanceView> {
    const pod = await api.get(`${pods}/${name}`);
    const isReady = JSON.stringify(pod?.status ?? {}).includes('{"type":"Ready","status":"True"');
    const process = !pod ? "none" : pod.metadata.deletionTimestamp ? "ending" : isReady ? "ready" : "starting";
    const revision = pod?.metadata.labels?.revision ?? "";
    return { name, address: name, state, process, revision, hasVolume: this.#volumes.has(name) };
  }

  async #act(
    grant: Grant,
    instances: readonly InstanceView[],
    leader: string | undefined,
    pods: string,
    api: MemberClient,
  ): Promise<void> {
    const stop = async (name: string) => {
      const pod = await api.get(`${pods}/${name}`);
      if (pod) await api.delete(`${pods}/${name}`, pod);
    };
    if (this.#breaks === "M4" && grant.topologyVersion !== this.#topologyVersion) {
      this.#topologyVersion = grant.topologyVersion;
      for (const { name } of instances) await stop(name);
    }
    const step = nextStep(grant, instances, leader);
    const isMounted = this.#breaks !== "no mount";
    const claims = pods.replace(/pods$/, "persistentvolumeclaims");
    const forget = async (name: string) => {
      const claim = await api.get(`${claims}/data-${name}`);
      if (claim) await api.delete(`${claims}/data-${name}`, claim);
    };
    switch (step.do) {
      case "join":
        this.#volumes.set(step.instance.name, grant.revision);
        await api.create(claims, claimOf(step.instance.name));
        await api.create(pods, podOf(step.instance.name, grant.revision, isMounted));
        return;
      case "recreate":
        if (this.#breaks === "fresh volume") {
          await forget(step.instance.name);
          await api.create(claims, claimOf(step.instance.name));
        }
        await api.create(pods, podOf(step.instance.name, this.#volumes.get(step.instance.name) ?? "", isMounted));
        return;
      case "restart": {
        const all = instances.filter(({ revision }) => revision !== grant.revision);
        for (const { name } of this.#breaks === "M3" ? all : [step.instance]) {
          this.#volumes.set(name, grant.revision);
          await stop(name);
        }
        return;
      }
      case "remove":
        await stop(step.instance.name);
        await forget(step.instance.name);
        this.#volumes.delete(step.instance.name);
    }
  }

  #told(grant: Grant, instances: readonly InstanceView[], leader: string | undefined): MemberReport {
    const present = instances.filter(({ process }) => process !== "none");
    const ready = present.filter(({ process }) => process === "ready");
    const told = report(grant, {
      desired: instances.filter(({ state }) => state !== "leaving").length,
      updated: ready.filter(({ revision }) => revision === grant.revision).length,
      ready: ready.length,
      present: present.length,
      leader: leader ?? "",
    });
    if (this.#breaks === "M1") return { ...told, revision: "another" };
    return this.#breaks === "M8" ? { ...told, phase: "Done" } : told;
  }

  async #report({ metadata, status }: MemberObject, api: MemberClient, written: MemberReport): Promise<void> {
    const { crossCluster } = isJsonObject(status) ? status : {};
    if (sameJson(crossCluster, { ...written })) return;
    const { name, namespace, resourceVersion = "" } = metadata;
    const path = `${apiPath(KIND.apiVersion, KIND.plural, namespace)}/${name}/status`;
    await api.patch(path, { metadata: { resourceVersion }, ...reportPatch(written) });
  }
}

function podOf(name: string, revision: string, isMounted: boolean): JsonObject {
  const volumeMounts = isMounted ? [{ name: "data", mountPath: "/data" }] : [];
  const spec = {
    containers: [{ name: "main", image: "example.com/cache:1.0", volumeMounts }],
    volumes: [{ name: "data", persistentVolumeClaim: { claimName: `data-${name}` } }],
  };
  return { apiVersion: "v1", kind: "Pod", metadata: { name, labels: { revision } }, spec };
}

function claimOf(name: string): JsonObject {
  const spec = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
  return { apiVersion: "v1", kind: "PersistentVolumeClaim", metadata: { name: `data-${name}` }, spec };
}

async function findings(breaks: Breach | undefined): Promise<Finding[]> {
  const world = new World(1, { members: ["member1"] });
  await world.start();
  const { clock } = world;
  const client = world.fleet.client("member1");
  const defining = client.discovery
    .resource(DEFINITION.apiVersion, DEFINITION.kind)
    .then((found) => client.apply(resource(found), DEFINITION, { fieldManager: "test", force: true }));
  await world.ask(defining);
  const stop = new AbortController();
  const trial = new TrialOperator(breaks);
  const transport = world.fleet.member("member1").entrance.transport();
  const reconcile = (object: MemberObject, api: MemberClient) => trial.reconcile(object, api);
  const options = { transport, clock, random: seededRandom(1), log: silentLog, kind: KIND, resyncMs: 500, reconcile };
  const running = operate(options, stop.signal);
  try {
    return await world.ask(
      checkOperator({
        transport,
        clock,
        kind: KIND,
        namespace: "default",
        name: "trial",
        spec: { image: "example.com/cache:1.0" },
        addressTemplate: "{instance}",
        stepMs: 30_000,
        quietMs: 5_000,
      }),
    );
  } finally {
    stop.abort(new Error("the test ends"));
    await world.ask(running);
    await world.stop();
  }
}

const brokenRules = (found: readonly Finding[]) => [
  ...new Set(found.filter(({ broken }) => broken !== undefined).map(({ rule }) => rule)),
];

describe("lockstep conformance", () => {
  it("finds nothing in an operator that follows every rule, and checks all nine", async () => {
    const found = await findings(undefined);
    expect(found.filter(({ broken }) => broken !== undefined)).toEqual([]);
    expect([...new Set(found.map(({ rule }) => rule))].sort()).toEqual([
      "M1",
      "M2",
      "M3",
      "M4",
      "M5",
      "M6",
      "M7",
      "M8",
      "M9",
    ]);
  });

  it.each(["M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M9"] as const)(
    "tells an operator that breaks %s so",
    async (rule) => {
      expect(brokenRules(await findings(rule))).toContain(rule);
    },
  );

  it("tells an operator that recreates a member on a fresh volume so", async () => {
    const found = (await findings("fresh volume")).filter(({ broken }) => broken !== undefined);
    expect(found).toEqual([
      {
        rule: "M2",
        check: "recreates a missing member on its own volume",
        broken: expect.stringMatching(
          /^trial-1 had the claim data-trial-1 \(.+\), and came back with the claim data-trial-1/,
        ),
      },
    ]);
  });

  it("tells an operator whose containers mount no volume so", async () => {
    const found = (await findings("no mount")).filter(({ broken }) => broken !== undefined);
    expect(found).toEqual([
      {
        rule: "M2",
        check: "mounts the volume of every instance",
        broken: "no container of trial-0 mounts the claim data-trial-0",
      },
    ]);
  });
});
