import { expect, it } from "vitest";
import { account, defaultRoles } from "../../../apiserver/testing/roles.ts";
import { runManager } from "../../../controllers/index.ts";
import {
  application,
  configMap,
  DISTRIBUTED_APPLICATIONS,
  inline,
  settle,
} from "../../../embedded/testing/application.ts";
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
  valueAt,
} from "../../../runtime/index.ts";
import { rulesFor } from "./distributed.ts";
import { installManifests } from "./manifests.ts";
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

/** Rights that were never asked for. */
function unused(rules: readonly Rule[], where: Right["where"], asked: ReadonlyMap<string, Right>): string[] {
  const used = [...asked.values()].filter((right) => right.where === where);
  const isUsed = (group: string, resource: string, verb: string) =>
    used.some(
      (right) =>
        right.group === group &&
        right.resource === resource &&
        (right.verb === verb || (READS.has(verb) && READS.has(right.verb))),
    );
  return rules.flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.filter((verb) => !isUsed(group, resource, verb)).map((verb) => `${verb} ${resource}.${group}`),
      ),
    ),
  );
}

/** Rights that this story does not need, each with what needs it. */
const NOT_IN_THIS_STORY: Record<Right["where"], string[]> = {
  hub: [
    // At the end of spec.lifetime, which src/embedded/lifetime.test.ts runs.
    "delete crossclusterstatefulsets.apps.karmada.io",
    "delete distributedapplications.apps.karmada.io",
    "delete crossclusterjobs.apps.karmada.io",
    "delete clusters/proxy.cluster.karmada.io", // see below
    "create overridepolicies.policy.karmada.io", // server-side apply of a new object needs it, on a real API server
    "create propagationpolicies.policy.karmada.io", // as well
    "create statefulsets.apps", // as of overridepolicies
  ],
  member: [
    "delete pods.", // broken pods that keep a StatefulSet from going back
    "delete persistentvolumeclaims.", // volumes, if retentionPolicy is Delete and the StatefulSet cannot do it
  ],
};
/** Of one resource they are one right: a program that may list may read each. */
const READS = new Set(["get", "list", "watch"]);

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
  const env = [
    { name: "PASSWORD", valueFrom: { secretKeyRef: { name: "web", key: "password" } } },
    { name: "MODE", valueFrom: { configMapKeyRef: { name: "web", key: "mode" } } },
  ];
  const spec = { serviceAccountName: "web", containers: [{ name: "web", image, env }] };
  const volumeClaimTemplates = [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }];
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas: 3,
      serviceName: "web",
      selector: { matchLabels: { app: "web" } },
      template: { metadata: { labels: { app: "web" } }, spec },
      volumeClaimTemplates,
    },
  };
}

const RBAC = "rbac.authorization.k8s.io";
const STATEFULSETS = { plural: "statefulsets", group: "apps" };

/** A DistributedApplication is deployed, its replicas divided by Karmada's scheduler, and deleted with what it brought. */
async function runApplication(world: World): Promise<void> {
  const metadata = { name: "deployer", namespace: "default" };
  const rules = [
    { apiGroups: [""], resources: ["configmaps"], verbs: ["distribute"] },
    { apiGroups: ["apps"], resources: ["statefulsets"], verbs: ["distribute", "create"] },
  ];
  await world.apply({ apiVersion: `${RBAC}/v1`, kind: "Role", metadata, rules });
  await world.apply({
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata,
    roleRef: { apiGroup: RBAC, kind: "Role", name: "deployer" },
    subjects: [{ kind: "ServiceAccount", name: "default", namespace: "default" }],
  });
  const labels = { app: "api" };
  const api = {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "api" },
    spec: {
      serviceName: "api",
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers: [{ name: "main", image: "api:1" }] } },
    },
  };
  const source = inline(configMap("settings", { mode: "x" }), api);
  const replicas = [{ kind: "StatefulSet", name: "api", by: "Scheduler", total: 2 }];
  const spec = { source, clusters: { names: ["member1"] }, replicas, revisionSettleSeconds: 0 };
  await world.apply(application("shop", spec));
  await settle(world, "shop");
  const at = { namespace: "default", name: "shop" };
  await world.ask(world.hub.delete(DISTRIBUTED_APPLICATIONS, at));
  await world.until("it is gone", () => world.fleet.hubObject(APPLICATIONS, "default", "shop") === undefined);
}

const APPLICATIONS = "apps.karmada.io/distributedapplications";
const JOBS = "apps.karmada.io/crossclusterjobs";

/** A CrossClusterJob runs to its end, and is deleted. */
async function runJob(world: World): Promise<void> {
  const pods = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "worker:1" }] } };
  const at = { namespace: "default", name: "train" };
  await world.apply({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: at,
    spec: {
      template: { apiVersion: "batch/v1", kind: "Job", spec: { backoffLimit: 0, template: pods } },
      clusters: { names: ["member1"] },
    },
  });
  const phase = () => valueAt(world.fleet.hubObject(JOBS, "default", "train") ?? {}, "status", "phase");
  await world.until("it is complete", () => phase() === "Complete");
  const resource = await world.ask(world.hub.discovery.resource("apps.karmada.io/v1alpha1", "CrossClusterJob"));
  await world.ask(world.hub.delete(resource, at));
  await world.until("it is gone", () => world.fleet.hubObject(JOBS, "default", "train") === undefined);
}

interface Audit {
  readonly asked: Map<string, Right>;
  readonly denied: string[];
}

/** Runs the controller as its account, on a connection to the hub that records requests and what was denied. */
function startRecorded(world: World, { asked, denied }: Audit): () => Promise<void> {
  const { clock, fleet } = world;
  const random = seededRandom(42);
  const way = fleet.hub.transport(account("lockstep-system", "lockstep-controller"));
  const noted = async <Answer extends { readonly status: number }>(request: HttpRequest, answer: Promise<Answer>) => {
    for (const right of rightsOf(request)) asked.set(JSON.stringify(right), right);
    const got = await answer;
    if (got.status === 403) denied.push(`${request.method} ${request.path}`);
    return got;
  };
  const transport: Transport = {
    request: (request) => noted(request, way.request(request)),
    stream: (request) => noted(request, way.stream(request)),
  };
  const hub = new KubeClient({ transport, clock, random });
  const stop = new AbortController();
  const webhookTransports = () => {
    throw new Error("no webhook is configured here");
  };
  const engine = () => new KarmadaEngine({ hub, clock, random, log: silentLog, looksEveryMs: 60_000 });
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

it("with only the installed roles, from deployment to teardown nothing is denied, and every right is used", async () => {
  const settings = { systemNamespace: "lockstep-system", workloads: [], divided: [STATEFULSETS], standingHold: true };
  const world = new World(41, {
    members: ["member1", "member2"],
    authorizer: "RBAC",
    installed: [...defaultRoles(), ...installManifests(settings)],
  });
  await world.clock.run(world.fleet.start());
  // Karmada carries the role for members to them first.
  await world.clock.advance(60_000);
  const audit: Audit = { asked: new Map(), denied: [] };
  const { asked } = audit;
  const stop = startRecorded(world, audit);
  const waits = (reason: string) => () => JSON.stringify(world.status("web")).includes(`"${reason}"`);
  try {
    await world.apply({
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "web", namespace: "default" },
      stringData: { password: "x" },
    });
    await world.apply({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { name: "web", namespace: "default" },
      data: { mode: "x" },
    });
    await world.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata: { name: "web", namespace: "default" } });
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
    await runApplication(world);
    await runJob(world);
  } finally {
    await stop();
    await world.clock.run(world.fleet.stop());
  }
  const rules = {
    hub: [...hubRules({ workloads: [], divided: [STATEFULSETS] }), ...systemRules()],
    member: memberRules({ workloads: [] }),
  };
  // Which of what may be distributed is read depends on what tenants distribute, so not every one of these is used.
  const granted = { ...rules, member: [...rules.member, ...rulesFor([], [...READS])] };
  expect([...asked.values()].filter((right) => !allows(granted[right.where], right))).toEqual([]);
  expect(audit.denied).toEqual([]);
  const never = { hub: unused(rules.hub, "hub", asked), member: unused(rules.member, "member", asked) };
  expect(never).toEqual(NOT_IN_THIS_STORY);
  const onSecrets = [...asked.values()].filter(({ group, resource }) => group === "" && resource === "secrets");
  expect(onSecrets.map(({ verb }) => verb)).toEqual(expect.arrayContaining(["list", "watch", "get"]));
  const inMembers = [...asked.values()].filter(({ where }) => where === "member");
  expect(new Set(inMembers.map(({ resource }) => resource))).toEqual(
    new Set([
      ...["statefulsets", "pods", "persistentvolumeclaims", "configmaps", "jobs", "resourcequotas", "limitranges"],
      ...["horizontalpodautoscalers", "verticalpodautoscalers"],
    ]),
  );
});
