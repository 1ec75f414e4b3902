import { expect, it } from "vitest";
import { runManager } from "../../../controllers/index.ts";
import { CROSS_CLUSTER_STATEFULSETS, World } from "../../../embedded/testing/world.ts";
import { KarmadaEngine } from "../../../engine/index.ts";
import { KubeClient, type KubeObject } from "../../../kube/index.ts";
import {
  type HttpRequest,
  isJsonObject,
  type JsonObject,
  seededRandom,
  silentLog,
  type Transport,
} from "../../../runtime/index.ts";
import { hubRules, memberRules, type Rule, systemRules } from "./roles.ts";

interface Right {
  readonly where: "hub" | "member";
  readonly group: string;
  /** With its subresource, as in roles. */
  readonly resource: string;
  readonly verb: string;
}

const WRITES: Readonly<Record<string, string>> = { POST: "create", PUT: "update", PATCH: "patch", DELETE: "delete" };
const PROXY = /^\/apis\/cluster\.karmada\.io\/v1alpha1\/clusters\/[^/]+\/proxy(\/.*)$/;

/** The right that a request needs, as an API server's authorizer sees it; none for discovery. */
function rightsOf({ method, path }: HttpRequest, where: Right["where"] = "hub"): Right[] {
  const [plain = "", query = ""] = path.split("?");
  const inner = PROXY.exec(plain)?.[1];
  if (inner !== undefined) {
    const verb = WRITES[method] ?? "get";
    const proxied = rightsOf({ method, path: `${inner}?${query}`, headers: {} }, "member");
    return [{ where, group: "cluster.karmada.io", resource: "clusters/proxy", verb }, ...proxied];
  }
  const parts = plain.split("/").filter((part) => part !== "");
  const [group, rest] = parts[0] === "api" ? ["", parts.slice(2)] : [parts[1] ?? "", parts.slice(3)];
  const [resource, name, subresource] = rest[0] === "namespaces" && rest.length > 2 ? rest.slice(2) : rest;
  if (resource === undefined) return [];
  const isWatch = ["1", "true"].includes(new URLSearchParams(query).get("watch") ?? "");
  const read = name !== undefined ? "get" : isWatch ? "watch" : "list";
  const named = subresource === undefined ? resource : `${resource}/${subresource}`;
  return [{ where, group, resource: named, verb: WRITES[method] ?? read }];
}

function allows(rules: readonly Rule[], { group, resource, verb }: Right): boolean {
  return rules.some(
    ({ apiGroups, resources, verbs }) =>
      apiGroups.includes(group) && resources.includes(resource) && verbs.includes(verb),
  );
}

function crossCluster(replicas: number): KubeObject {
  const waves = [{ clusters: ["member1"], approval: "Manual" }];
  const topology = {
    clusters: [
      { name: "member1", replicas },
      { name: "member2", replicas: 1 },
    ],
  };
  return {
    apiVersion: CROSS_CLUSTER_STATEFULSETS.apiVersion,
    kind: CROSS_CLUSTER_STATEFULSETS.kind,
    metadata: { name: "web", namespace: "default" },
    spec: {
      resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web", namespace: "default" },
      topology,
      updateStrategy: { type: "RollingUpdate", rollingUpdate: { waves } },
      identity: { reuseVolumes: false },
      deletionPolicy: "Teardown",
      retentionPolicy: { whenDeleted: "Delete" },
    },
  };
}

function template(image: string): KubeObject {
  const env = [{ name: "PASSWORD", valueFrom: { secretKeyRef: { name: "web", key: "password" } } }];
  const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }];
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas: 3,
      serviceName: "web",
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "web", image, env }] } },
      volumeClaimTemplates,
    },
  };
}

/** Runs the controller on a connection to the hub that records the requests. */
function startRecorded(world: World, asked: Map<string, Right>): () => Promise<void> {
  const { clock, fleet } = world;
  const random = seededRandom(42);
  const way = fleet.hub.transport();
  const note = (request: HttpRequest) => {
    for (const right of rightsOf(request)) asked.set(JSON.stringify(right), right);
    return request;
  };
  const transport: Transport = {
    request: (request) => way.request(note(request)),
    stream: (request) => way.stream(note(request)),
  };
  const hub = new KubeClient({ transport, clock, random });
  const stop = new AbortController();
  const webhookTransports = () => {
    throw new Error("no webhook is configured here");
  };
  const engine = () => new KarmadaEngine({ hub, clock, random, log: silentLog });
  const names = { systemNamespace: "lockstep-system", identity: "test" };
  // Three instances are too many for an annotation here, so that the requests of a large application are included.
  const settings = { ...names, topologyInlineBytes: 300, allowedClusters: { required: false } };
  const options = { hub, clock, random, log: silentLog, engine, webhookTransports, ...settings };
  const running = runManager(options, stop.signal);
  return async () => {
    stop.abort(new Error("the test is over"));
    await clock.run(running);
  };
}

it("the installed roles allow everything that an application needs from deployment to teardown", async () => {
  const world = new World(41, { members: ["member1", "member2"] });
  await world.clock.run(world.fleet.start());
  const asked = new Map<string, Right>();
  const stop = startRecorded(world, asked);
  const waits = (reason: string) => () => JSON.stringify(world.status("web")).includes(`"${reason}"`);
  try {
    await world.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "web", namespace: "default" },
      stringData: { password: "x" },
    });
    await world.apply(crossCluster(2));
    await world.until("the hold is in place", () => world.status("web").reason === "TemplateMissing");
    await world.apply(template("web:1"));
    await world.until("it is deployed", () => world.isSettled("web", 3));
    await world.apply(template("web:2"));
    await world.until("it waits for approval", waits("AwaitingApproval"));
    const { updateRevision }: JsonObject = world.status("web");
    await world.apply({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "RolloutApproval",
      metadata: { name: "go", namespace: "default" },
      spec: { name: "web", revision: String(updateRevision), wave: 1, approvedBy: "system:admin" },
    });
    await world.until("it is updated", () => world.isSettled("web", 3));
    const approval = world.fleet.hubObject("apps.karmada.io/rolloutapprovals", "default", "go");
    expect(isJsonObject(approval?.status) && approval.status.approvedBy).toBe("system:admin");
    await world.apply(crossCluster(1));
    await world.until("it has shrunk", () => world.isSettled("web", 2));
    await world.apply(crossCluster(2));
    await world.until("it waits for an old volume", waits("VolumeSurvives"));
    await world.ask(world.hub.delete(CROSS_CLUSTER_STATEFULSETS, { namespace: "default", name: "web" }));
    await world.until("it is gone", () => world.statefulset("web") === undefined);
  } finally {
    await stop();
    await world.clock.run(world.fleet.stop());
  }
  const rules = {
    hub: [...hubRules({ workloads: [] }), ...systemRules()],
    member: memberRules({ workloads: [] }),
  };
  expect([...asked.values()].filter((right) => !allows(rules[right.where], right))).toEqual([]);
  const onSecrets = [...asked.values()].filter(({ group, resource }) => group === "" && resource === "secrets");
  expect(onSecrets.map(({ verb }) => verb)).toEqual(expect.arrayContaining(["list", "watch", "get"]));
  const inMembers = [...asked.values()].filter(({ where }) => where === "member");
  expect(new Set(inMembers.map(({ resource }) => resource))).toEqual(
    new Set(["statefulsets", "pods", "persistentvolumeclaims", "configmaps"]),
  );
});
