import { describe, expect, it } from "vitest";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { parseCrossClusterStatefulset, parseResourceExploringWebhookConfiguration } from "../parse.ts";
import { compileSchema } from "../schema/compile.ts";
import { customResourceDefinitions, KINDS } from "./all.ts";
import type { CrossClusterStatefulsetSpec } from "./cross-cluster-statefulset.ts";
import { objectSchema } from "./definition.ts";

/** Every schema below a schema, with its path. */
function* schemas(schema: JsonObject, path = ""): Generator<[string, JsonObject]> {
  yield [path, schema];
  if (isJsonObject(schema.properties)) {
    for (const [name, child] of Object.entries(schema.properties)) {
      if (isJsonObject(child)) yield* schemas(child, `${path}.${name}`);
    }
  }
  if (isJsonObject(schema.items)) yield* schemas(schema.items, `${path}[]`);
  if (isJsonObject(schema.additionalProperties)) yield* schemas(schema.additionalProperties, `${path}{}`);
}

describe.each(KINDS.map((kind) => [kind.kind, objectSchema(kind)] as const))("%s", (_kind, schema) => {
  const all = [...schemas(schema)].filter(([path]) => path !== ".metadata");

  it("describes every field in a sentence", () => {
    const silent = all.filter(
      ([, { description }]) => typeof description !== "string" || !/^[A-Z'].*\.$/s.test(description),
    );
    expect(silent.map(([path]) => path)).toEqual([]);
  });

  it("names every default in the description", () => {
    const unnamed = all.filter(
      ([, { default: value, description }]) =>
        value !== undefined && typeof value !== "object" && !String(description).includes(`Defaults to ${value}.`),
    );
    expect(unnamed.map(([path]) => path)).toEqual([]);
  });

  it("bounds every list, map and string, so that rules stay within the API server's cost limits", () => {
    const unbounded = all.filter(
      ([path, { type, enum: options, maxLength, maxItems, maxProperties, additionalProperties }]) => {
        if (path === ".apiVersion" || path === ".kind") return false;
        if (type === "string") return options === undefined && maxLength === undefined;
        if (type === "array") return maxItems === undefined;
        return additionalProperties !== undefined && maxProperties === undefined;
      },
    );
    expect(unbounded.map(([path]) => path)).toEqual([]);
  });

  it("has defaults that are themselves valid, and requires nothing that has one", () => {
    const compiled = compileSchema(schema);
    for (const [path, { default: value, properties, required }] of all) {
      if (Array.isArray(required) && isJsonObject(properties)) {
        for (const name of required) {
          const property = properties[String(name)];
          expect(isJsonObject(property) && property.default, `${path}.${name}`).toBeUndefined();
        }
      }
      if (value === undefined || typeof value === "object") continue;
      const [, leaf] = all.find(([other]) => other === path) ?? [];
      const alone = compileSchema({ type: "object", properties: { field: { ...leaf } } });
      expect(alone.validate({ field: value }), path).toEqual([]);
    }
    expect(compiled.prune({})).toEqual([]);
  });
});

describe("the CRDs", () => {
  it("offer status and scale, and useful columns", () => {
    const [ccs] = customResourceDefinitions();
    expect(ccs).toMatchObject({
      metadata: { name: "crossclusterstatefulsets.apps.karmada.io" },
      spec: {
        names: { shortNames: ["ccs"] },
        scope: "Namespaced",
        versions: [
          {
            name: "v1alpha1",
            subresources: {
              status: {},
              scale: {
                specReplicasPath: ".spec.replicas",
                statusReplicasPath: ".status.replicas",
                labelSelectorPath: ".status.selector",
              },
            },
          },
        ],
      },
    });
  });

  it("point columns and scale at fields that exist", () => {
    for (const kind of KINDS) {
      const paths = new Set([...schemas(objectSchema(kind))].map(([path]) => path));
      const wanted = [...kind.columns.map((column) => column.jsonPath), ...Object.values(kind.scale ?? {})];
      const missing = wanted
        .map((path) => path.replace("[*]", "[]"))
        .filter((path) => !path.startsWith(".metadata") && !paths.has(path));
      expect(missing).toEqual([]);
    }
  });
});

describe("types, schema and defaults", () => {
  it("agree: every field of the type is present after defaulting", () => {
    // The compiler checks this literal against the type; the test checks it against schema and defaults.
    const defaulted: CrossClusterStatefulsetSpec = {
      resourceSelector: { apiVersion: "v1", kind: "Pod", name: "p", namespace: "n" },
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
    };
    const parsed = parseCrossClusterStatefulset({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name: "p", namespace: "n" },
      spec: { resourceSelector: { apiVersion: "v1", kind: "Pod", name: "p" } },
    });
    expect(parsed.ok && parsed.value.spec).toEqual(defaulted);
  });

  it("reach into lists too", () => {
    const parsed = parseCrossClusterStatefulset({
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name: "p", namespace: "n" },
      spec: {
        resourceSelector: { apiVersion: "v1", kind: "Pod", name: "p" },
        updateStrategy: {
          rollingUpdate: {
            leaderTransfer: {},
            waves: [{ clusters: ["a"] }],
            maintenanceWindows: [{ cron: "0 2 * * *", durationSeconds: 60 }],
          },
        },
      },
    });
    expect(parsed.ok && parsed.value.spec.updateStrategy.rollingUpdate).toMatchObject({
      leaderTransfer: { timeoutSeconds: 60 },
      waves: [{ clusters: ["a"], soakSeconds: 0, approval: "Automatic" }],
      maintenanceWindows: [{ cron: "0 2 * * *", durationSeconds: 60, timeZone: "UTC" }],
    });
  });
});

describe("ResourceExploringWebhookConfiguration", () => {
  const RULE = {
    operations: ["ExploreHealthy"],
    apiGroups: ["foo.example.com"],
    apiVersions: ["*"],
    resources: ["foos"],
  };
  const HOOK = {
    name: "foo.example.com",
    rules: [{ ...RULE, scope: "Namespaced" }],
    clientConfig: { url: "https://xxx:443/explore-foo", caBundle: "Zm9v" },
    failurePolicy: "Fail",
    exploreReviewVersions: ["v1alpha1"],
    timeoutSeconds: 3,
  };
  const parse = (...webhooks: JsonObject[]) =>
    parseResourceExploringWebhookConfiguration({
      apiVersion: "config.karmada.io/v1alpha1",
      kind: "ResourceExploringWebhookConfiguration",
      metadata: { name: "example" },
      webhooks,
    });
  const errorsOf = (...webhooks: JsonObject[]) => {
    const parsed = parse(...webhooks);
    return parsed.ok ? [] : parsed.errors.map((error) => `${error.path}: ${error.message}`);
  };

  it("accepts the proposal's example, and sets the defaults", () => {
    expect(errorsOf(HOOK, { ...HOOK, name: "bar.example.com" })).toEqual([]);
    const { failurePolicy: _policy, timeoutSeconds: _timeout, ...bare } = HOOK;
    expect(parse({ ...bare, rules: [RULE] })).toMatchObject({
      value: { webhooks: [{ failurePolicy: "Fail", timeoutSeconds: 10, rules: [{ scope: "*" }] }] },
    });
  });

  const cases: Array<[string, JsonObject, string]> = [
    [
      "timeout",
      { timeoutSeconds: 31 },
      "webhooks[0].timeoutSeconds: Invalid value: 31: webhooks[0].timeoutSeconds in body should be less than or equal to 30",
    ],
    [
      "policy",
      { failurePolicy: "Retry" },
      'webhooks[0].failurePolicy: Unsupported value: "Retry": supported values: "Fail", "Ignore"',
    ],
    [
      "versions",
      { exploreReviewVersions: ["v9"] },
      "webhooks[0].exploreReviewVersions: Invalid value: exploreReviewVersions must include a version that Lockstep supports: v1alpha1",
    ],
    [
      "star with other entries",
      { rules: [{ ...RULE, operations: ["*", "ExploreHealthy"] }] },
      "webhooks[0].rules[0].operations: Invalid value: operations: if '*' is present, it must be the only entry",
    ],
    [
      "short name",
      { name: "foo.com" },
      'webhooks[0].name: Invalid value: "foo.com": name must be fully qualified, for example foo.example.com',
    ],
    [
      "no address",
      { clientConfig: {} },
      "webhooks[0].clientConfig: Invalid value: clientConfig needs exactly one of url and service",
    ],
    [
      "plain http",
      { clientConfig: { url: "http://xxx" } },
      'webhooks[0].clientConfig.url: Invalid value: "http://xxx": clientConfig.url must begin with https:// and have no user, query or fragment',
    ],
  ];
  it.each(cases)("refuses a webhook with the mistake: %s", (_name, change, message) => {
    expect(errorsOf({ ...HOOK, ...change })[0]).toBe(message);
  });

  it("refuses two webhooks with the same name", () => {
    expect(errorsOf(HOOK, HOOK)).toEqual(['webhooks[1]: Duplicate value: {"name":"foo.example.com"}']);
  });
});
