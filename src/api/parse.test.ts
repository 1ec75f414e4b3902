import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import type { Json, JsonObject } from "../runtime/index.ts";
import { CROSS_CLUSTER_STATEFULSET } from "./kinds/cross-cluster-statefulset.ts";
import { objectSchema } from "./kinds/definition.ts";
import { parseCrossClusterStatefulset, parseExploreReview, parseRolloutApproval } from "./parse.ts";
import { compileSchema } from "./schema/compile.ts";

/** The proposal's manifest, unchanged. */
const SEED_MANIFEST = `
apiVersion: apps.karmada.io/v1alpha1
kind: CrossClusterStatefulset
metadata:
  name: xline
spec:
  resourceSelector:
    apiVersion: apps.my.io/v1alpha1
    kind: XlineCluster
    name: xline
    namespace: default
  updateStrategy:
    type: RollingUpdate
`;

const SELECTOR = { apiVersion: "apps/v1", kind: "StatefulSet", name: "etcd" };

function manifest(spec: JsonObject): JsonObject {
  return {
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterStatefulset",
    metadata: { name: "etcd", namespace: "db" },
    spec: { resourceSelector: SELECTOR, ...spec },
  };
}

function errorsOf(object: unknown): string[] {
  const parsed = parseCrossClusterStatefulset(object);
  return parsed.ok ? [] : parsed.errors.map((error) => `${error.path}: ${error.message}`);
}

const rolling = (fields: JsonObject): JsonObject => ({ updateStrategy: { rollingUpdate: fields } });
const clusters = (...entries: JsonObject[]): JsonObject => ({ topology: { clusters: entries } });
const SKIPPED =
  "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation";

describe("the proposal's manifest", () => {
  it("applies unchanged, and gets every default", () => {
    const object = parseYaml(SEED_MANIFEST);
    object.metadata.namespace = "default"; // what kubectl adds
    expect(parseCrossClusterStatefulset(object)).toEqual({
      ok: true,
      value: {
        apiVersion: "apps.karmada.io/v1alpha1",
        kind: "CrossClusterStatefulset",
        metadata: { name: "xline", namespace: "default" },
        spec: {
          resourceSelector: {
            apiVersion: "apps.my.io/v1alpha1",
            kind: "XlineCluster",
            name: "xline",
            namespace: "default",
          },
          podManagementPolicy: "OrderedReady",
          quorum: "Majority",
          memberConcurrency: "Serial",
          minReadySeconds: 0,
          revisionHistoryLimit: 10,
          revisionSettleSeconds: 2,
          completion: { protocol: "Auto" },
          updateStrategy: {
            type: "RollingUpdate",
            rollingUpdate: {
              partition: 0,
              maxUnavailable: 1,
              order: "LeaderLast",
              paused: false,
              progressDeadlineSeconds: 600,
              onFailure: "Pause",
            },
          },
          failover: { policy: "Wait", afterSeconds: 300 },
          deletionPolicy: "Release",
          retentionPolicy: { whenScaled: "Retain", whenDeleted: "Retain" },
          identity: { blockSize: 100 },
          network: { headlessService: "Auto", serviceExport: "Auto", publishNotReadyAddresses: true },
        },
      },
    });
  });
});

const EVERYTHING: JsonObject = {
  topology: {
    clusters: [
      { name: "member1", replicas: 2 },
      { name: "member2", replicas: 3 },
    ],
  },
  replicas: 5,
  podManagementPolicy: "Parallel",
  leader: { fieldPath: "status.leader" },
  quorum: "None",
  memberConcurrency: "Parallel",
  minReadySeconds: 5,
  revisionHistoryLimit: 3,
  revisionSettleSeconds: 5,
  completion: { protocol: "HeldSpec", assumeAfterSeconds: 60 },
  updateStrategy: {
    type: "RollingUpdate",
    rollingUpdate: {
      partition: 1,
      maxUnavailable: "25%",
      batches: [1, 2, 2],
      order: "Listed",
      leaderTransfer: { timeoutSeconds: 30 },
      waves: [{ clusters: ["member1"], soakSeconds: 600, approval: "Manual" }],
      paused: true,
      progressDeadlineSeconds: 60,
      onFailure: "Rollback",
      maintenanceWindows: [{ cron: "0 2 * * MON-FRI", durationSeconds: 7200, timeZone: "Europe/Berlin" }],
    },
  },
  restartedAt: "2024-05-01T12:00:00Z",
  undo: { to: "etcd-5d8f", at: "2024-05-01T12:00:00Z" },
  resumedAt: "2024-05-01T12:00:00Z",
  failover: {
    policy: "Replace",
    afterSeconds: 60,
    confirmedLost: [{ name: "member2", at: "2024-05-01T12:00:00Z" }],
    confirmedDrain: ["member3"],
  },
  deletionPolicy: "Teardown",
  retentionPolicy: { whenScaled: "Delete", whenDeleted: "Delete" },
  identity: {
    mode: "Blocks",
    blockSize: 10,
    clusterIDs: { member1: "east", member2: "west" },
    addressTemplate: "{instance}.{cluster}.{service}.{namespace}.svc.clusterset.local:2380",
    reuseVolumes: false,
  },
  network: {
    serviceName: "etcd",
    headlessService: "Always",
    serviceExport: "Always",
    publishNotReadyAddresses: false,
    ports: [{ name: "peer", port: 2380 }],
  },
};

describe("a good object", () => {
  it("stays unchanged when every field is set", () => {
    const parsed = parseCrossClusterStatefulset(manifest(EVERYTHING));
    expect(parsed).toEqual({
      ok: true,
      value: { ...manifest(EVERYTHING), spec: { ...EVERYTHING, resourceSelector: { ...SELECTOR, namespace: "db" } } },
    });
    if (!parsed.ok) throw new Error("unreachable");
    expect(parseCrossClusterStatefulset(parsed.value)).toEqual(parsed);
  });

  it("is not modified: the result is a copy", () => {
    const object = manifest({});
    const before = JSON.stringify(object);
    parseCrossClusterStatefulset(object);
    expect(JSON.stringify(object)).toBe(before);
  });

  it("selects in its own namespace if the selector names none", () => {
    const parsed = parseCrossClusterStatefulset(manifest({}));
    expect(parsed.ok && parsed.value.spec.resourceSelector.namespace).toBe("db");
  });

  it("keeps a valid status, and drops an invalid one", () => {
    const parsed = parseCrossClusterStatefulset({ ...manifest({}), status: { replicas: 3 } });
    expect(parsed.ok && parsed.value.status).toEqual({ replicas: 3 });
    const odd = parseCrossClusterStatefulset({ ...manifest({}), status: { replicas: "three" } });
    expect(odd.ok && odd.value.status).toBeUndefined();
  });
});

describe("every invalid value is named, with the remedy", () => {
  const selector = (fields: JsonObject): JsonObject => ({ resourceSelector: { ...SELECTOR, ...fields } });
  const window = (fields: JsonObject) =>
    rolling({ maintenanceWindows: [{ cron: "0 2 * * *", durationSeconds: 3600, ...fields }] });
  const inline = (fields: Record<string, JsonObject | string | undefined>): JsonObject => ({
    resourceSelector: null,
    topology: { clusters: [{ name: "member1", replicas: 1 }] },
    template: JSON.parse(JSON.stringify({ apiVersion: "apps/v1", kind: "StatefulSet", ...fields })),
  });
  const cases: Array<[string, JsonObject, string[]]> = [
    [
      "neither a selector nor a template",
      { resourceSelector: null },
      [
        "spec: Invalid value: spec needs exactly one of resourceSelector (an object on the hub) and template (the object itself, inline)",
      ],
    ],
    [
      "a template without topology",
      { resourceSelector: null, template: { apiVersion: "apps/v1", kind: "StatefulSet" } },
      [
        "spec.template: Invalid value: template needs topology: without an object on the hub the engine's scheduler cannot place the instances",
      ],
    ],
    ["a template without a kind", inline({ kind: undefined }), ["spec.template.kind: Required value"]],
    [
      "a template of a core kind",
      inline({ apiVersion: "v1", kind: "Secret" }),
      ["spec.template: Forbidden: Secret of v1 may not be a template: core kinds run no application"],
    ],
    [
      "a template of another namespace",
      inline({ metadata: { namespace: "vault" } }),
      [
        'spec.template.metadata.namespace: Invalid value: "vault": template.metadata.namespace must be the CrossClusterStatefulset\'s own namespace: leave it out, or create the CrossClusterStatefulset in that namespace',
      ],
    ],
    [
      "a template whose labels are no texts",
      inline({ metadata: { labels: { app: 1 } } }),
      ["spec.template.metadata.labels: Invalid value: must be a map of strings"],
    ],
    [
      "a template that is too large",
      inline({ spec: { text: "x".repeat(192 * 1024) } }),
      ["spec.template: Too long: may not be more than 196608 bytes"],
    ],
    [
      "neither name nor labels",
      { resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet" } },
      ["spec.resourceSelector: Invalid value: resourceSelector needs exactly one of name and labelSelector"],
    ],
    [
      "both name and labels",
      selector({ labelSelector: { matchLabels: { app: "etcd" } } }),
      ["spec.resourceSelector: Invalid value: resourceSelector needs exactly one of name and labelSelector"],
    ],
    [
      "apiVersion",
      selector({ apiVersion: "apps" }),
      [
        "spec.resourceSelector.apiVersion: Invalid value: \"apps\": spec.resourceSelector.apiVersion in body should match '^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$'",
      ],
    ],
    [
      "another namespace",
      selector({ namespace: "other" }),
      [
        'spec.resourceSelector.namespace: Invalid value: "other": resourceSelector.namespace must be the CrossClusterStatefulset\'s own namespace: leave it out, or create the CrossClusterStatefulset in that namespace',
      ],
    ],
    [
      "negative replicas",
      { replicas: -1 },
      ["spec.replicas: Invalid value: -1: spec.replicas in body should be greater than or equal to 0"],
    ],
    [
      "replicas that are not the sum",
      { replicas: 4, ...clusters({ name: "a", replicas: 2 }, { name: "b", replicas: 3 }) },
      [
        "spec.replicas: Invalid value: replicas must be the sum of topology.clusters[].replicas: change one of them, or use weights",
      ],
    ],
    [
      "replicas and weight in one cluster",
      clusters({ name: "a", replicas: 2, weight: 1 }),
      [
        "spec.topology: Invalid value: topology.clusters: set replicas for every cluster, or set weight for every cluster, but not both",
      ],
    ],
    [
      "replicas here and weight there",
      clusters({ name: "a", replicas: 2 }, { name: "b", weight: 1 }),
      [
        "spec.topology: Invalid value: topology.clusters: set replicas for every cluster, or set weight for every cluster, but not both",
      ],
    ],
    [
      "a cluster twice",
      clusters({ name: "a", replicas: 2 }, { name: "a", replicas: 3 }),
      ['spec.topology.clusters[1]: Duplicate value: {"name":"a"}'],
    ],
    ["no clusters", clusters(), ["spec.topology: Invalid value: topology needs clusters, or placementRef"]],
    [
      "leader given in two ways",
      { leader: { fieldPath: "status.leader", podLabel: "role=leader" } },
      ["spec.leader: Invalid value: leader needs exactly one of fieldPath, luaScript and podLabel"],
    ],
    [
      "leader without a way to find it",
      { leader: {} },
      ["spec.leader: Invalid value: leader needs exactly one of fieldPath, luaScript and podLabel"],
    ],
    [
      "enum",
      { quorum: "Half" },
      ['spec.quorum: Unsupported value: "Half": supported values: "Majority", "None"', SKIPPED],
    ],
    [
      "update type",
      { updateStrategy: { type: "Recreate" } },
      [
        'spec.updateStrategy.type: Unsupported value: "Recreate": supported values: "RollingUpdate", "OnDelete"',
        SKIPPED,
      ],
    ],
    [
      "partition of the wrong type",
      rolling({ partition: "1" }),
      [
        'spec.updateStrategy.rollingUpdate.partition: Invalid value: "string": spec.updateStrategy.rollingUpdate.partition in body must be of type integer: "string"',
        SKIPPED,
      ],
    ],
    ...[0, "0%", "101%", "5", "-5%", "1.5%"].map((value): [string, JsonObject, string[]] => [
      `maxUnavailable ${value}`,
      rolling({ maxUnavailable: value }),
      [
        `spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: ${JSON.stringify(value)}: maxUnavailable must be a number of at least 1, or a percentage from 1% to 100%`,
      ],
    ]),
    [
      "a batch of 0",
      rolling({ batches: [1, 0] }),
      [
        "spec.updateStrategy.rollingUpdate.batches[1]: Invalid value: 0: spec.updateStrategy.rollingUpdate.batches[1] in body should be greater than or equal to 1",
      ],
    ],
    [
      "a cluster in two waves",
      rolling({ waves: [{ clusters: ["a", "b"] }, { clusters: ["b"] }] }),
      [
        "spec.updateStrategy.rollingUpdate.waves: Invalid value: a cluster is in more than one wave: name each cluster in one wave only",
      ],
    ],
    [
      "a cluster twice in a wave",
      rolling({ waves: [{ clusters: ["a", "a"] }] }),
      ['spec.updateStrategy.rollingUpdate.waves[0].clusters[1]: Duplicate value: "a"'],
    ],
    [
      "rollback without history",
      { ...rolling({ onFailure: "Rollback" }), revisionHistoryLimit: 0 },
      [
        "spec.updateStrategy.rollingUpdate.onFailure: Invalid value: onFailure: Rollback needs an earlier revision: set revisionHistoryLimit to at least 1, or use onFailure: Pause",
      ],
    ],
    [
      "deadline of 0",
      rolling({ progressDeadlineSeconds: 0 }),
      [
        "spec.updateStrategy.rollingUpdate.progressDeadlineSeconds: Invalid value: 0: spec.updateStrategy.rollingUpdate.progressDeadlineSeconds in body should be greater than or equal to 1",
      ],
    ],
    [
      "cron of four fields",
      window({ cron: "0 2 * *" }),
      [
        'spec.updateStrategy.rollingUpdate.maintenanceWindows[0].cron: Invalid value: "0 2 * *": cron must have five fields (minute, hour, day of month, month, day of week), for example 0 2 * * * for every night at two',
      ],
    ],
    [
      "cron with an hour that does not exist",
      window({ cron: "0 24 * * *" }),
      [
        'spec.updateStrategy.rollingUpdate.maintenanceWindows[0].cron: Invalid value: "0 24 * * *": has "24" as hour, which must be from 0 to 23; for example 0 2 * * *',
      ],
    ],
    [
      "cron on a day that does not exist",
      window({ cron: "0 0 31 2 *" }),
      [
        'spec.updateStrategy.rollingUpdate.maintenanceWindows[0].cron: Invalid value: "0 0 31 2 *": names a day that does not exist, so the window would never open; for example 0 2 * * *',
      ],
    ],
    [
      "time zone that does not exist",
      window({ timeZone: "Europe/Atlantis" }),
      [
        'spec.updateStrategy.rollingUpdate.maintenanceWindows[0].timeZone: Invalid value: "Europe/Atlantis": is not a time zone; for example UTC or Europe/Berlin',
      ],
    ],
    [
      "window shorter than a minute",
      window({ durationSeconds: 59 }),
      [
        "spec.updateStrategy.rollingUpdate.maintenanceWindows[0].durationSeconds: Invalid value: 59: spec.updateStrategy.rollingUpdate.maintenanceWindows[0].durationSeconds in body should be greater than or equal to 60",
      ],
    ],
    [
      "transfer timeout",
      rolling({ leaderTransfer: { timeoutSeconds: 0 } }),
      [
        "spec.updateStrategy.rollingUpdate.leaderTransfer.timeoutSeconds: Invalid value: 0: spec.updateStrategy.rollingUpdate.leaderTransfer.timeoutSeconds in body should be greater than or equal to 1",
      ],
    ],
    [
      "more instances than a block holds",
      { identity: { mode: "Blocks", blockSize: 2 }, ...clusters({ name: "a", replicas: 3 }) },
      [
        "spec.topology: Invalid value: in identity mode Blocks a cluster holds at most identity.blockSize instances: lower its replicas",
      ],
    ],
    [
      "one ID for two clusters",
      { identity: { clusterIDs: { a: "x", b: "x" } } },
      [
        "spec.identity.clusterIDs: Invalid value: identity.clusterIDs: two clusters have the same ID; give each its own",
      ],
    ],
    [
      "unknown placeholder",
      { identity: { addressTemplate: "{pod}.svc" } },
      [
        'spec.identity.addressTemplate: Invalid value: "{pod}.svc": identity.addressTemplate: only {instance}, {ordinal}, {cluster}, {service} and {namespace} can be filled in',
      ],
    ],
    [
      "assumeAfterSeconds with an operator that reports",
      { completion: { protocol: "Contract", assumeAfterSeconds: 5 } },
      [
        "spec.completion.assumeAfterSeconds: Invalid value: completion.assumeAfterSeconds is for operators that do not report: remove it, or set completion.protocol to HeldSpec",
      ],
    ],
    [
      "export without a Service",
      { network: { headlessService: "Never", serviceExport: "Always" } },
      [
        "spec.network.serviceExport: Invalid value: network.serviceExport: Always needs a Service: set network.serviceName, or set headlessService to Auto or Always",
      ],
    ],
    [
      "restart at an invalid time",
      { restartedAt: "yesterday" },
      [
        'spec.restartedAt: Invalid value: "yesterday": spec.restartedAt in body must be of type date-time: "yesterday"',
        SKIPPED,
      ],
    ],
  ];
  it.each(cases)("%s", (_name, spec, expected) => {
    expect(errorsOf(manifest(spec))).toEqual(expected);
  });

  it("refuses objects of another kind, or without a name or namespace", () => {
    expect(errorsOf("x")).toEqual(["<nil>: Invalid value: must be an object"]);
    expect(errorsOf({})).toEqual([
      'apiVersion: Unsupported value: null: supported values: "apps.karmada.io/v1alpha1"',
      'kind: Unsupported value: null: supported values: "CrossClusterStatefulset"',
      "metadata.name: Required value",
    ]);
    expect(errorsOf({ ...manifest({}), metadata: { name: "etcd" } })).toEqual(["metadata.namespace: Required value"]);
  });
});

describe("an immutable field of a CrossClusterStatefulset", () => {
  const schema = compileSchema(objectSchema(CROSS_CLUSTER_STATEFULSET));
  const change = (from: JsonObject, to: JsonObject): string[] => {
    const [old, value] = [manifest(from), manifest(to)];
    schema.applyDefaults(old);
    schema.applyDefaults(value);
    return schema.validate(value, old).map((error) => `${error.path}: ${error.message}`);
  };
  const to = (fields: JsonObject): Json => ({ ...SELECTOR, ...fields });
  const IMMUTABLE =
    "spec.resourceSelector: Invalid value: resourceSelector is immutable (only the version in apiVersion may change): create another CrossClusterStatefulset for another object";

  it.each([
    ["kind", to({ kind: "Deployment" })],
    ["name", to({ name: "other" })],
    ["group", to({ apiVersion: "apps.my.io/v1" })],
    ["name for labels", { apiVersion: "apps/v1", kind: "StatefulSet", labelSelector: { matchLabels: { a: "b" } } }],
  ])("cannot be changed: the selected object's %s", (_name, resourceSelector) => {
    expect(change({}, { resourceSelector })).toEqual([IMMUTABLE]);
  });

  it("still lets the version of the selected object change, and its namespace be added", () => {
    expect(change({}, { resourceSelector: to({ apiVersion: "apps/v2", namespace: "db" }) })).toEqual([]);
  });

  it("cannot be changed or removed: identity; a cluster ID may be added", () => {
    expect(change({ identity: { mode: "Dense" } }, { identity: { mode: "Blocks" } })).toEqual([
      'spec.identity.mode: Invalid value: "Blocks": identity.mode is immutable: it would rename running instances',
    ]);
    expect(change({ identity: { mode: "Dense" } }, {})).toEqual([
      "spec.identity: Invalid value: identity.mode is immutable: it cannot be removed once it is set",
    ]);
    expect(change({}, { identity: { mode: "Dense" } })).toEqual([]);
    expect(change({}, { identity: { blockSize: 50 } })).toEqual([
      "spec.identity.blockSize: Invalid value: 50: identity.blockSize is immutable: it would renumber running instances",
    ]);
    const ids = (clusterIDs: JsonObject): JsonObject => ({ identity: { clusterIDs } });
    expect(change(ids({ a: "x" }), ids({ a: "x", b: "y" }))).toEqual([]);
    expect(change(ids({ a: "x" }), ids({ a: "z" }))).toEqual([
      'spec.identity.clusterIDs[a]: Invalid value: "z": identity.clusterIDs: an ID is immutable, addresses contain it',
    ]);
  });
});

describe("parsing another kind", () => {
  it("accepts a RolloutApproval with name, revision and a wave from 1 on, and names what is missing", () => {
    const approval = (spec: JsonObject) => ({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "RolloutApproval",
      metadata: { name: "a", namespace: "db" },
      spec,
    });
    expect(parseRolloutApproval(approval({ name: "etcd", revision: "r1", wave: 1 })).ok).toBe(true);
    expect(parseRolloutApproval(approval({ name: "etcd", revision: "r1", wave: 0 })).ok).toBe(false);
    expect(parseRolloutApproval(approval({ name: "etcd" }))).toEqual({
      ok: false,
      errors: [
        { kind: "Required", path: "spec.revision", message: "Required value" },
        { kind: "Required", path: "spec.wave", message: "Required value" },
        { kind: "Invalid", path: "<nil>", message: SKIPPED.slice("<nil>: ".length) },
      ],
    });
  });

  it("accepts the ExploreReview that a webhook returns, and drops unknown fields", () => {
    const review = (response: JsonObject) =>
      parseExploreReview({ apiVersion: "config.karmada.io/v1alpha1", kind: "ExploreReview", response });
    expect(review({ uid: "u", healthy: true, extra: 1 })).toEqual({
      ok: true,
      value: {
        apiVersion: "config.karmada.io/v1alpha1",
        kind: "ExploreReview",
        response: { uid: "u", healthy: true },
      },
    });
    expect(review({ uid: "u", status: { any: { thing: [1] } } })).toMatchObject({
      value: { response: { status: { any: { thing: [1] } } } },
    });
    expect(review({ uid: "u", healthy: "yes" }).ok).toBe(false);
    expect(review({ healthy: true }).ok).toBe(false);
    expect(parseExploreReview(null).ok).toBe(false);
  });
});
