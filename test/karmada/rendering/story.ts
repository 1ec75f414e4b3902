/** What Lockstep renders must be what Karmada renders without it, object by object. */
import { expect, it } from "vitest";
import { type KubeObject, resource } from "../../../src/kube/index.ts";
import { isJsonObject, type JsonObject, valueAt } from "../../../src/runtime/index.ts";
import { allowDistribution } from "../../stories/applications.ts";
import { MANAGER, type World } from "../../stories/world.ts";
import { POLICIES } from "../world.ts";
import { comparable, dependencies, FAILS, granted, rendered, revised, withoutGrant } from "./compare.ts";
import { type Case, CLUSTERS, table } from "./table.ts";

const MERGE = "application/merge-patch+json";
const NAMES = Object.keys(CLUSTERS);
const NAMESPACES = resource({ apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false });
/** Karmada renders the table within seconds; a second time after it has seen a policy late. */
const RENDER_MS = 120_000;
const TIMEOUT_MS = 400_000;
/** Requests at a time: the hub has two cores like everything else. */
const AT_ONCE = 8;

export function renderingStory(on: () => World): void {
  const applied = async (object: KubeObject) => {
    const { hub } = on();
    return hub.apply(await hub.discovery.resource(object.apiVersion, object.kind), object, MANAGER);
  };

  /** What Karmada has rendered, by cluster, namespace, kind and name. */
  const works = async (): Promise<Map<string, JsonObject>> => {
    const { items } = await on().hub.listAll(on().stage.works);
    const found = new Map<string, JsonObject>();
    for (const { metadata, spec } of items) {
      const cluster = metadata.namespace?.replace("karmada-es-", "") ?? "";
      const { workload } = isJsonObject(spec) ? spec : {};
      const manifests = isJsonObject(workload) && Array.isArray(workload.manifests) ? workload.manifests : [];
      for (const manifest of manifests.filter(isJsonObject)) found.set(keyOf(cluster, manifest), manifest);
    }
    return found;
  };

  const prepared = async (namespace: string, name: string, object: KubeObject, more: object = {}) => {
    await on().hub.apply(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } }, MANAGER);
    const { apiVersion, kind } = object;
    const spec = {
      resourceSelectors: [{ apiVersion, kind, name: object.metadata.name }],
      placement: { clusterAffinity: { clusterNames: NAMES } },
      // Rendered like any other, and not sent: the members have enough to do.
      suspension: { dispatching: true },
      ...more,
    };
    const policy = { apiVersion: POLICIES.apiVersion, kind: POLICIES.kind, metadata: { name, namespace }, spec };
    await on().hub.apply(POLICIES, policy, MANAGER);
  };

  it("a table of override policies changes every object as in Karmada", { timeout: TIMEOUT_MS }, async () => {
    const { stack, until, hub } = on();
    for (const [name, { labels, spec }] of Object.entries(CLUSTERS)) {
      const path = `/apis/cluster.karmada.io/v1alpha1/clusters/${name}`;
      const { status, text } = await stack.hub.request("PATCH", path, { metadata: { labels }, spec }, MERGE);
      if (status !== 200) throw new Error(text);
    }
    const refused: string[] = [];
    const cases: Case[] = [];
    await inParallel(table(), async (each) => {
      await prepared(each.namespace, "all", each.object);
      for (const policy of each.policies) {
        try {
          await applied(policy);
        } catch (error) {
          refused.push(`${each.name}: ${error}`);
          return;
        }
      }
      await applied(each.object);
      cases.push(each);
    });
    expect(refused.length, refused.join("\n")).toBeLessThan(5);

    const stored = async (object: KubeObject) =>
      hub.get(await hub.discovery.resource(object.apiVersion, object.kind), object.metadata);
    const read = new Map<string, { template: JsonObject; policies: JsonObject[] }>();
    await inParallel(cases, async ({ namespace, object, policies }) => {
      const template = (await stored(object)) as unknown as JsonObject;
      // As the hub serves them: it sorts the keys of a value.
      const served = await Promise.all(policies.map(stored));
      read.set(namespace, { template, policies: served as unknown as JsonObject[] });
    });
    const expected = cases.flatMap(({ name, namespace }) => {
      const { template, policies } = read.get(namespace) ?? { template: {}, policies: [] };
      const wants = (cluster: string) => rendered(template, cluster, policies);
      return NAMES.map((cluster) => ({ name, cluster, template, wants: wants(cluster) }));
    });
    let differences: string[] = [];
    let compared = 0;
    const compare = async () => {
      const found = await works();
      compared = 0;
      differences = expected.flatMap(({ name, cluster, template, wants }) => {
        const manifest = found.get(keyOf(cluster, template));
        if (manifest === undefined && wants === FAILS) return [];
        compared += 1;
        const has = manifest === undefined ? "nothing" : comparable(manifest);
        return isSame(has, wants) ? [] : [`${name}\nin ${cluster}:\n${differing(has, wants)}`];
      });
      return differences.length === 0 || `${differences.length} differ`;
    };
    await until("Karmada has rendered the same", compare, RENDER_MS).catch(() => {});
    expect(differences.join("\n\n")).toBe("");
    expect(compared).toBeGreaterThan(300);
    const failing = new Set(expected.filter(({ wants }) => wants === FAILS).map(({ name }) => name));
    expect(failing.size).toBeGreaterThan(5);
  });

  it("workloads are divided, revised and granted as Karmada divides and revises them", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { hub, until } = on();
    const divided = {
      placement: {
        clusterAffinity: { clusterNames: NAMES },
        replicaScheduling: {
          replicaSchedulingType: "Divided",
          replicaDivisionPreference: "Weighted",
          weightPreference: {
            staticWeightList: NAMES.map((name, at) => ({ targetCluster: { clusterNames: [name] }, weight: 3 - at })),
          },
        },
      },
    };
    const workloads = ["Deployment", "StatefulSet", "ReplicaSet"].map((kind) => workload(kind, "divided"));
    const overriders = { labelsOverrider: [{ operator: "add", value: { seen: "yes" } }] };
    const policy = {
      apiVersion: "policy.karmada.io/v1alpha1",
      kind: "OverridePolicy",
      metadata: { name: "one", namespace: "divided" },
      spec: { overrideRules: [{ targetCluster: { clusterNames: ["member2"] }, overriders }] },
    };
    for (const object of workloads) await prepared("divided", object.kind.toLowerCase(), object, divided);
    await applied(policy);
    for (const object of workloads) await applied(object);
    const shares = [3, 2, 1];
    for (const object of workloads) {
      const path = await hub.discovery.resource(object.apiVersion, object.kind);
      const template = await hub.get(path, object.metadata);
      for (const [at, cluster] of NAMES.entries()) {
        const share = shares[at] ?? 0;
        const overridden = rendered(revised(template, share), cluster, [policy]);
        await until(`${object.kind} is rendered for ${cluster}`, async () => {
          const manifest = (await works()).get(keyOf(cluster, object as unknown as JsonObject));
          if (!manifest) return false;
          return isSame(comparable(manifest), overridden) || differing(comparable(manifest), overridden);
        });
        const manifest = (await works()).get(keyOf(cluster, object as unknown as JsonObject)) ?? {};
        expect(granted(template, cluster, share, [policy])).toEqual(withoutGrant(comparable(manifest)));
      }
    }
  });

  it("what a template names goes with it, as with propagateDeps", { timeout: TIMEOUT_MS }, async () => {
    const { until } = on();
    const template = withDependencies("named");
    await prepared("named", "all", template, { propagateDeps: true });
    for (const object of namedObjects("named")) await applied(object);
    await applied(template);
    const wanted = dependencies(template);
    // One of them is named and does not exist: Karmada has nothing to send.
    const existing = wanted.filter((name) => !name.endsWith(" absent"));
    expect(wanted.length).toBe(existing.length + 1);
    await until("the same objects are rendered", async () => {
      const keys = [...(await works()).keys()].filter((key) => key.startsWith("member1 named "));
      const found = keys
        .map((key) => key.split(" ").slice(2).join(" "))
        .filter((name) => !name.startsWith("Deployment "));
      return JSON.stringify(found.sort()) === JSON.stringify(existing) || `${found.sort()} instead of ${existing}`;
    });
    const found = await works();
    for (const object of namedObjects("named").filter(({ kind }) => kind !== "Service")) {
      const manifest = found.get(keyOf("member1", object as unknown as JsonObject));
      if (object.metadata.name === "unnamed") expect(manifest).toBeUndefined();
      else expect(comparable(manifest ?? {})).toMatchObject({ metadata: { name: object.metadata.name } });
    }
  });

  it("what a member has set stays through an update, as where Karmada delivers alone", {
    timeout: TIMEOUT_MS,
  }, async () => {
    const { stack, until } = on();
    await allowDistribution(on());
    const member = stack.members.get("member1");
    const cluster = { placement: { clusterAffinity: { clusterNames: ["member1"] } }, suspension: null };
    const declare = async (version: number) => {
      for (const object of retained("kept-by-karmada", version)) {
        await prepared("kept-by-karmada", object.kind.toLowerCase(), object, cluster);
        await applied(object);
      }
      const inline = retained(undefined, version);
      const spec = { source: { manifests: { inline } }, clusters: { names: ["member1"] }, revisionSettleSeconds: 0 };
      const metadata = { name: "kept", namespace: "default" };
      await applied({ apiVersion: "apps.karmada.io/v1alpha1", kind: "DistributedApplication", metadata, spec });
    };
    const found = (namespace: string) =>
      Promise.all(
        ["services", "serviceaccounts"].map((kind) => member?.get(`/api/v1/namespaces/${namespace}/${kind}/kept`)),
      );
    const arrived = (version: number) => async () => {
      const all = (await Promise.all(["kept-by-karmada", "default"].map(found))).flat();
      const labels = all.map((object) => valueAt(object?.metadata as JsonObject | undefined, "labels", "version"));
      return labels.every((label) => label === String(version)) || labels.join();
    };
    await declare(1);
    await until("both have delivered", arrived(1), RENDER_MS);
    const set: JsonObject[] = [];
    for (const namespace of ["kept-by-karmada", "default"]) {
      // As a member's own controllers do it.
      const path = `/api/v1/namespaces/${namespace}/serviceaccounts/kept`;
      const patch = { secrets: [{ name: "token-of-the-member" }] };
      expect((await member?.request("PATCH", path, patch, MERGE))?.status).toBe(200);
      set.push(memberSet(await found(namespace)));
    }
    await declare(2);
    await until("both have updated", arrived(2), RENDER_MS);
    for (const [at, namespace] of ["kept-by-karmada", "default"].entries()) {
      expect(memberSet(await found(namespace)), namespace).toEqual(set[at]);
    }
    expect(set[0]).toMatchObject({
      clusterIP: expect.stringMatching(/^\d/),
      secrets: [{ name: "token-of-the-member" }],
    });
  });
}

/** What Karmada retains of a member's Service and ServiceAccount. */
function memberSet([service, account]: readonly (object | undefined)[]): JsonObject {
  const { spec } = (service ?? {}) as JsonObject;
  const { clusterIP, clusterIPs } = isJsonObject(spec) ? spec : {};
  const { secrets } = (account ?? {}) as JsonObject;
  return { clusterIP: clusterIP ?? null, clusterIPs: clusterIPs ?? null, secrets: secrets ?? null };
}

function retained(namespace: string | undefined, version: number): KubeObject[] {
  const metadata = {
    name: "kept",
    labels: { version: String(version) },
    ...(namespace !== undefined && { namespace }),
  };
  return [
    {
      apiVersion: "v1",
      kind: "Service",
      metadata,
      spec: { selector: { app: "kept" }, ports: [{ port: 80 + version }] },
    },
    { apiVersion: "v1", kind: "ServiceAccount", metadata },
  ];
}

function workload(kind: string, namespace: string): KubeObject {
  const labels = { app: kind.toLowerCase() };
  const template = { metadata: { labels }, spec: { containers: [{ name: "web", image: "web:1" }] } };
  return {
    apiVersion: "apps/v1",
    kind,
    metadata: { name: kind.toLowerCase(), namespace, labels },
    spec: {
      replicas: 6,
      selector: { matchLabels: labels },
      template,
      ...(kind === "StatefulSet" && { serviceName: "web" }),
    },
  };
}

/** A pod that names objects in every way that Karmada follows. */
function withDependencies(namespace: string): KubeObject {
  const keyOfRef = (name: string) => ({ name, key: "k" });
  const object = workload("Deployment", namespace);
  const spec = {
    serviceAccountName: "account",
    imagePullSecrets: [{ name: "pull" }],
    containers: [
      {
        name: "web",
        image: "web:1",
        env: [
          { name: "A", valueFrom: { configMapKeyRef: keyOfRef("map-env") } },
          { name: "B", valueFrom: { secretKeyRef: keyOfRef("secret-env") } },
          { name: "C", valueFrom: { configMapKeyRef: { ...keyOfRef("absent"), optional: true } } },
        ],
        envFrom: [{ configMapRef: { name: "map-all" } }, { secretRef: { name: "secret-all" } }],
      },
    ],
    initContainers: [
      { name: "init", image: "init:1", env: [{ name: "A", valueFrom: { configMapKeyRef: keyOfRef("map-init") } }] },
    ],
    volumes: [
      { name: "a", configMap: { name: "map-volume" } },
      { name: "b", secret: { secretName: "secret-volume" } },
      { name: "c", persistentVolumeClaim: { claimName: "claim" } },
      {
        name: "d",
        projected: { sources: [{ configMap: { name: "map-projected" } }, { secret: { name: "secret-projected" } }] },
      },
    ],
  };
  return {
    ...object,
    spec: { ...(object.spec as object), template: { metadata: { labels: object.metadata.labels }, spec } },
  };
}

function namedObjects(namespace: string): KubeObject[] {
  const of = (kind: string, name: string, more: object): KubeObject => ({
    apiVersion: "v1",
    kind,
    metadata: { name, namespace },
    ...more,
  });
  const data = { k: "dg==" };
  return [
    ...["map-env", "map-all", "map-init", "map-volume", "map-projected", "unnamed"].map((name) =>
      of("ConfigMap", name, { data: { k: "v" } }),
    ),
    ...["pull", "secret-env", "secret-all", "secret-volume", "secret-projected"].map((name) =>
      of("Secret", name, { data }),
    ),
    of("ServiceAccount", "account", {}),
    of("PersistentVolumeClaim", "claim", {
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    }),
  ];
}

function keyOf(cluster: string, { kind, metadata }: JsonObject): string {
  const { name, namespace } = isJsonObject(metadata) ? metadata : {};
  return `${cluster} ${namespace} ${kind} ${name}`;
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(sorted(a)) === JSON.stringify(sorted(b));
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, each]) => each !== undefined)
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  );
}

/** The fields that differ, as `path: Karmada's / Lockstep's`. */
function differing(karmada: unknown, lockstep: unknown, path = ""): string {
  if (isSame(karmada, lockstep)) return "";
  const isMap = (value: unknown) => typeof value === "object" && value !== null;
  if (!isMap(karmada) || !isMap(lockstep)) {
    return `  ${path}: Karmada ${JSON.stringify(karmada)}, Lockstep ${JSON.stringify(lockstep)}`;
  }
  const [a, b] = [karmada, lockstep] as Record<string, unknown>[];
  const keys = [...new Set([...Object.keys(a ?? {}), ...Object.keys(b ?? {})])];
  return keys
    .map((key) => differing(a?.[key], b?.[key], `${path}/${key}`))
    .filter((line) => line !== "")
    .join("\n");
}

async function inParallel<T>(items: readonly T[], act: (item: T) => Promise<void>): Promise<void> {
  const left = [...items];
  const worker = async () => {
    for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}
