import { beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import { type Authority, newAuthority } from "../testing/https.ts";
import { answering, bench, exploring, foo, interpreting } from "../testing/interpreter.ts";
import { parseConfiguration, serviceByDnsName } from "./configuration.ts";

let authority: Authority;
beforeAll(async () => {
  authority = await newAuthority();
});

const parse = (object: JsonObject) => parseConfiguration(object, serviceByDnsName, 0);
const base64 = (text: string) => Buffer.from(text).toString("base64");

/** The proposal's example, unchanged. */
const example = (caBundle: string): JsonObject => ({
  apiVersion: "config.karmada.io/v1alpha1",
  kind: "ResourceExploringWebhookConfiguration",
  metadata: { name: "example" },
  webhooks: [
    {
      name: "foo.example.com",
      rules: [
        {
          operations: ["ExploreRetaining", "ExploreHealthy"],
          apiGroups: ["foo.example.com"],
          apiVersions: ["*"],
          resources: ["foos"],
          scope: "Namespaced",
        },
      ],
      clientConfig: { url: "https://xxx:443/explore-foo", caBundle },
      failurePolicy: "Fail",
      exploreReviewVersions: ["v1alpha1"],
      timeoutSeconds: 3,
    },
    {
      name: "bar.example.com",
      rules: [
        {
          operations: ["ExploreDependencies", "ExploreHealthy"],
          apiGroups: ["bar.example.com"],
          apiVersions: ["*"],
          resources: ["bars"],
          scope: "Cluster",
        },
      ],
      clientConfig: { url: "https://xxx:443/explore-bar", caBundle },
      failurePolicy: "Fail",
      exploreReviewVersions: ["v1alpha1"],
      timeoutSeconds: 3,
    },
  ],
});

describe("a webhook configuration", () => {
  it("is read as the proposal writes it", () => {
    const { webhooks, problems } = parse(example(base64(authority.pem)));
    expect(problems).toEqual([]);
    expect(webhooks).toMatchObject([
      {
        id: "example/foo.example.com",
        protocol: "explore",
        endpoint: { origin: "https://xxx", path: "/explore-foo", caPem: authority.pem },
        failurePolicy: "Fail",
        timeoutSeconds: 3,
        rules: [{ operations: new Set(["Retain", "InterpretHealth"]), scope: "Namespaced" }],
      },
      { id: "example/bar.example.com", rules: [{ scope: "Cluster" }] },
    ]);
  });

  it("has Kubernetes' defaults", () => {
    const { webhooks } = parse(
      interpreting("hook", {
        clientConfig: { service: { namespace: "ops", name: "reader" } },
        timeoutSeconds: undefined,
      }),
    );
    expect(webhooks).toMatchObject([
      {
        protocol: "interpreter",
        endpoint: { origin: "https://reader.ops.svc:443", path: "/" },
        failurePolicy: "Fail",
        timeoutSeconds: 10,
      },
    ]);
  });

  it("uses the hub's own answer for a Service", () => {
    const resolve = () => ({ origin: "https://10.0.0.7:8443", servername: "reader.ops.svc" });
    const service = { namespace: "ops", name: "reader", port: 8443, path: "/x" };
    expect(parseConfiguration(interpreting("hook", { clientConfig: { service } }), resolve, 0).webhooks).toMatchObject([
      { endpoint: { origin: "https://10.0.0.7:8443", servername: "reader.ops.svc", path: "/x" } },
    ]);
  });

  it("that is invalid is reported with its field", () => {
    const url = "https://hooks.test/";
    const cases: [JsonObject, string][] = [
      [exploring("h", { name: "" }), "webhooks[0].name"],
      [exploring("h", { failurePolicy: "Maybe" }), "webhooks[0].failurePolicy"],
      [exploring("h", { timeoutSeconds: 0 }), "webhooks[0].timeoutSeconds"],
      [exploring("h", { timeoutSeconds: 31 }), "webhooks[0].timeoutSeconds"],
      [exploring("h", { timeoutSeconds: 1.5 }), "webhooks[0].timeoutSeconds"],
      [exploring("h", { exploreReviewVersions: ["v1"] }), "webhooks[0].exploreReviewVersions"],
      [interpreting("h", { interpreterContextVersions: [] }), "webhooks[0].interpreterContextVersions"],
      [exploring("h", { clientConfig: {} }), "webhooks[0].clientConfig"],
      [exploring("h", { clientConfig: { url, service: {} } }), "webhooks[0].clientConfig"],
      [exploring("h", { clientConfig: { url: "http://x/" } }), "webhooks[0].clientConfig.url"],
      [exploring("h", { clientConfig: { url: "https://me:pw@x/" } }), "webhooks[0].clientConfig.url"],
      [exploring("h", { clientConfig: { url: "https://x/?a=b" } }), "webhooks[0].clientConfig.url"],
      [exploring("h", { clientConfig: { service: { name: "x" } } }), "webhooks[0].clientConfig.service.namespace"],
      [
        exploring("h", { clientConfig: { service: { name: "x", namespace: "y", port: 70000 } } }),
        "webhooks[0].clientConfig.service.port",
      ],
      [exploring("h", { clientConfig: { url, caBundle: "no base64!" } }), "webhooks[0].clientConfig.caBundle"],
      [exploring("h", { clientConfig: { url, caBundle: base64("not PEM") } }), "webhooks[0].clientConfig.caBundle"],
      [
        exploring("h", {
          clientConfig: { url, caBundle: base64("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n") },
        }),
        "webhooks[0].clientConfig.caBundle",
      ],
      [exploring("h", {}, { operations: ["InterpretHealth"] }), "webhooks[0].rules[0].operations"],
      [interpreting("h", {}, { operations: ["ExploreHealthy"] }), "webhooks[0].rules[0].operations"],
      [exploring("h", {}, { operations: ["*", "ExploreHealthy"] }), "webhooks[0].rules[0].operations"],
      [exploring("h", {}, { apiGroups: [] }), "webhooks[0].rules[0].apiGroups"],
      [exploring("h", {}, { resources: [1] }), "webhooks[0].rules[0].resources"],
      [exploring("h", {}, { scope: "Some" }), "webhooks[0].rules[0].scope"],
    ];
    for (const [object, field] of cases) {
      expect(parse(object).problems, field).toEqual([expect.objectContaining({ severity: "error", field })]);
    }
    expect(parse({ kind: "ResourceExploringWebhookConfiguration" }).problems).toMatchObject([{ field: "webhooks" }]);
  });

  it("with an expired CA is reported", () => {
    const clientConfig = { url: "https://x/", caBundle: base64(authority.pem) };
    const later = Date.now() + 10 * 24 * 60 * 60 * 1000;
    const { problems } = parseConfiguration(exploring("h", { clientConfig }), serviceByDnsName, later);
    expect(problems).toMatchObject([{ severity: "warning", reason: expect.stringContaining("expired") }]);
  });
});

describe("webhook configurations together", () => {
  it("whose rules overlap are reported, and the first by name is called", async () => {
    const { interpreter, asked } = bench({ webhook: answering({ healthy: true }) });
    interpreter.setWebhooks([
      interpreting("b", {}, { operations: ["InterpretHealth", "Retain"] }),
      exploring("a", {}, { operations: ["ExploreHealthy"] }),
      exploring("c", {}, { operations: ["ExploreHealthy"], scope: "Cluster" }),
    ]);
    const problems = interpreter.reports().map(({ name, problems }) => [name, problems.map(({ reason }) => reason)]);
    expect(problems).toEqual([
      ["b", [expect.stringMatching(/b\/foo.example.com and a\/foo.example.com overlap for InterpretHealth: only a/)]],
      ["a", []],
      ["c", [expect.stringMatching(/only b/)]],
    ]);
    expect(await interpreter.interpretNow("InterpretHealth", { object: foo() })).toMatchObject({
      source: "a/foo.example.com",
    });
    expect(asked).toHaveLength(1);
  });

  it("keep the last valid version of one that became invalid, and report that", async () => {
    const { interpreter } = bench({ webhook: answering({ healthy: true }) });
    interpreter.setWebhooks([exploring("a")]);
    interpreter.setWebhooks([exploring("a", { clientConfig: { url: "https://x/", caBundle: "?" } })]);
    expect(interpreter.reports()).toMatchObject([{ name: "a", inForce: "old", problems: [{ severity: "error" }] }]);
    expect(await interpreter.interpretNow("InterpretHealth", { object: foo() })).toMatchObject({ state: "known" });
  });

  it("that were never valid fail their own operations by their failure policy, and no others", async () => {
    const { interpreter, asked } = bench({ webhook: answering({ healthy: true }) });
    interpreter.setWebhooks([
      exploring("a", { clientConfig: { url: "https://x/", caBundle: "?" } }),
      interpreting("b", {}, { apiGroups: ["bar.example.com"], kinds: ["Bar"] }),
    ]);
    expect(await interpreter.interpretNow("InterpretHealth", { object: foo() })).toMatchObject({
      state: "failed",
      code: "NotCallable",
      reason: expect.stringContaining("caBundle"),
    });
    const bar = { apiVersion: "bar.example.com/v1", kind: "Bar", metadata: { name: "bar" } };
    expect(await interpreter.interpretNow("InterpretHealth", { object: bar })).toMatchObject({ state: "known" });
    expect(asked).toHaveLength(1);
  });
});
