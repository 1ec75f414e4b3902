/** Foreign scripts, objects and answers never crash the interpreter: each ends in an outcome with a typed reason. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { Json, JsonObject } from "../runtime/index.ts";
import { BUNDLED } from "./bundled/generated.ts";
import { type Inputs, OPERATIONS, type Operation } from "./operations.ts";
import type { Outcome } from "./outcome.ts";
import { answering, bench, customization, exploring, foo, interpreting } from "./testing/interpreter.ts";

/** The same cases in every run; FUZZ_SEED selects others. */
const SEED = Number(process.env.FUZZ_SEED ?? 6);
const RUNS = { numRuns: 300, seed: SEED };

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<Json>;
const fields = [
  "replicas",
  "observedGeneration",
  "conditions",
  "phase",
  "template",
  "containers",
  "crossCluster",
  "__proto__",
];
const mangled: fc.Arbitrary<JsonObject> = fc.dictionary(fc.constantFrom(...fields), json, { noNullPrototype: true });

const kinds = fc.constantFrom(
  ["apps/v1", "Deployment"],
  ["apps/v1", "StatefulSet"],
  ["apps/v1", "ReplicaSet"],
  ["apps/v1", "DaemonSet"],
  ["batch/v1", "Job"],
  ["batch/v1", "CronJob"],
  ["v1", "Pod"],
  ["v1", "Service"],
  ["v1", "ServiceAccount"],
  ["v1", "Secret"],
  ["v1", "PersistentVolume"],
  ["v1", "PersistentVolumeClaim"],
  ["networking.k8s.io/v1", "Ingress"],
  ["policy/v1", "PodDisruptionBudget"],
  ["autoscaling/v2", "HorizontalPodAutoscaler"],
  ["multicluster.x-k8s.io/v1alpha1", "ServiceImport"],
  ...BUNDLED.map((object) => {
    const { apiVersion, kind } = (object.spec as { target: { apiVersion: string; kind: string } }).target;
    return [apiVersion, kind];
  }),
);

/** Objects with valid outer fields: otherwise they would fail at the first field. */
const objects: fc.Arbitrary<JsonObject> = fc.oneof(
  fc
    .tuple(kinds, fc.oneof(mangled, json), fc.oneof(mangled, json), fc.oneof(mangled, json))
    .map(
      ([[apiVersion, kind], metadata, spec, status]) => ({ apiVersion, kind, metadata, spec, status }) as JsonObject,
    ),
  mangled,
);

function inputOf(object: JsonObject, observed: JsonObject, status: Json, replicas: number) {
  return { object, observed, replicas, items: [{ clusterName: "east", status }, { clusterName: "west" }] };
}

function expectTyped(outcome: Outcome<Operation>): void {
  if (outcome.state === "failed") {
    expect(outcome.code).toMatch(/^[A-Z][A-Za-z]+$/);
    expect(outcome.code, outcome.reason).not.toBe("Internal");
    expect(outcome.reason.length).toBeGreaterThan(0);
  } else expect(outcome.state).toBe("known");
}

it("no object of any kind crashes the interpreter", () => {
  const { interpreter } = bench({ bundled: BUNDLED });
  fc.assert(
    fc.property(
      objects,
      objects,
      json,
      fc.nat(9),
      fc.constantFrom(...OPERATIONS),
      (object, observed, status, replicas, operation) => {
        const input: Inputs[Operation] = inputOf(object, observed, status, replicas);
        expectTyped(interpreter.interpret(operation, input as never));
      },
    ),
    { numRuns: 3_000, seed: SEED },
  );
});

const tokens = fc.constantFrom(
  "function InterpretHealth(o)",
  "function Retain(d, o)",
  "return",
  "end",
  "if",
  "then",
  "while true do",
  "for k, v in pairs(o) do",
  "local x =",
  "o.status",
  "nil",
  "{}",
  "(",
  ")",
  "..",
  '"text"',
  "1e308",
  "#o",
  "error(o)",
  "string.rep('x', 1e9)",
  "kube.getResourceQuantity(o)",
  "o()",
  "=",
  "\n",
);

it("no script crashes the interpreter", () => {
  fc.assert(
    fc.property(
      fc.oneof(
        fc.array(tokens, { maxLength: 30 }).map((parts) => parts.join(" ")),
        fc.string(),
      ),
      objects,
      (text, object) => {
        const { interpreter } = bench();
        const target = `${String(object.apiVersion)}/${String(object.kind)}`;
        interpreter.setCustomizations([
          customization("fuzz", target, { healthInterpretation: text, retention: text, replicaResource: text }),
        ]);
        for (const { problems } of interpreter.reports())
          for (const { reason } of problems) expect(reason).not.toBe("");
        expectTyped(interpreter.interpret("InterpretHealth", { object }));
        expectTyped(interpreter.interpret("Retain", { object, observed: object }));
      },
    ),
    RUNS,
  );
});

it("no answer of a script crashes the interpreter", () => {
  const literal = (value: Json): string => {
    if (value === null) return "nil";
    if (typeof value === "string") return `"${value.replace(/[^ -~]|["\\]/g, "?")}"`;
    if (Array.isArray(value)) return `{${value.map(literal).join(",")}}`;
    if (typeof value === "object") {
      return `{${Object.entries(value)
        .map(([key, child]) => `["${key.replace(/[^ -~]|["\\]/g, "?")}"]=${literal(child ?? null)}`)
        .join(",")}}`;
    }
    return String(value);
  };
  fc.assert(
    fc.property(json, fc.constantFrom(...OPERATIONS), (value, operation) => {
      const { interpreter } = bench();
      const answer = `return ${literal(value)}, ${literal(value)}`;
      interpreter.setCustomizations([
        customization("fuzz", "foo.example.com/v1alpha1/Foo", {
          healthInterpretation: `function InterpretHealth() ${answer} end`,
          retention: `function Retain() ${answer} end`,
          replicaResource: `function GetReplicas() ${answer} end`,
          replicaRevision: `function ReviseReplica() ${answer} end`,
          componentResource: `function GetComponents() ${answer} end`,
          dependencyInterpretation: `function GetDependencies() ${answer} end`,
          statusReflection: `function ReflectStatus() ${answer} end`,
          statusAggregation: `function AggregateStatus() ${answer} end`,
          progressInterpretation: `function GetProgress() ${answer} end`,
          leaderInterpretation: `function GetLeader() ${answer} end`,
        }),
      ]);
      expectTyped(interpreter.interpret(operation, inputOf(foo(), foo(), value, 1) as never));
    }),
    RUNS,
  );
});

const response = fc.record(
  {
    healthy: json,
    replicas: json,
    replicaRequirements: json,
    components: json,
    dependencies: json,
    rawStatus: json,
    status: json,
    patchType: fc.oneof(fc.constant("JSONPatch"), json),
    patch: fc.oneof(
      json,
      fc
        .array(
          fc.record({
            op: fc.constantFrom("add", "remove", "replace", "move", "copy", "test", "x"),
            path: fc.constantFrom(
              "",
              "/",
              "/spec",
              "/spec/a",
              "/metadata",
              "/__proto__/x",
              "/constructor/prototype/x",
              "//",
              "/~2",
            ),
            from: fc.constantFrom("", "/spec", "/metadata/name", "/none"),
            value: json,
          }),
          { maxLength: 4 },
        )
        .map((patch) => Buffer.from(JSON.stringify(patch)).toString("base64")),
    ),
  },
  { requiredKeys: [] },
) as fc.Arbitrary<JsonObject>;

it("no answer of a webhook crashes the interpreter", async () => {
  const answers = fc.oneof(
    response.map((fields) => answering(fields)),
    fc
      .oneof(
        fc.string(),
        json.map((value) => JSON.stringify(value)),
      )
      .map((body) => () => ({ body })),
    fc.integer({ min: 100, max: 599 }).map((status) => () => ({ status, body: "" })),
  );
  await fc.assert(
    fc.asyncProperty(
      answers,
      fc.constantFrom(exploring, interpreting),
      fc.constantFrom(...OPERATIONS),
      async (webhook, configuration, operation) => {
        const { interpreter } = bench({ webhook });
        interpreter.setWebhooks([configuration("fuzz")]);
        expectTyped(await interpreter.interpretNow(operation, inputOf(foo("1", { spec: {} }), foo(), {}, 1) as never));
        expect(({} as JsonObject).x).toBeUndefined();
      },
    ),
    RUNS,
  );
});

it("no configuration crashes the interpreter", () => {
  const webhook = fc.record(
    {
      name: fc.oneof(fc.constant("a.b.c"), json),
      rules: fc.oneof(
        json,
        fc.array(
          fc.record({
            operations: json,
            apiGroups: json,
            apiVersions: json,
            kinds: json,
            resources: json,
            scope: json,
          }),
          { maxLength: 2 },
        ),
      ),
      clientConfig: fc.oneof(json, fc.record({ url: fc.oneof(fc.webUrl(), json), service: json, caBundle: json })),
      failurePolicy: json,
      timeoutSeconds: json,
      exploreReviewVersions: json,
      interpreterContextVersions: json,
    },
    { requiredKeys: [] },
  );
  const configuration = fc.record({
    kind: fc.constantFrom("ResourceExploringWebhookConfiguration", "ResourceInterpreterWebhookConfiguration"),
    metadata: fc.oneof(fc.constant({ name: "x" }), json),
    webhooks: fc.oneof(json, fc.array(fc.oneof(webhook, json), { maxLength: 3 })),
  }) as fc.Arbitrary<JsonObject>;
  const custom = fc.record({
    metadata: json,
    spec: fc.oneof(json, fc.record({ target: json, customizations: json })),
  }) as fc.Arbitrary<JsonObject>;
  fc.assert(
    fc.property(
      fc.array(configuration, { maxLength: 3 }),
      fc.array(custom, { maxLength: 3 }),
      (configurations, customizations) => {
        const { interpreter } = bench();
        interpreter.setWebhooks(configurations);
        interpreter.setCustomizations(customizations);
        for (const { problems } of interpreter.reports()) {
          for (const { field, reason } of problems) expect([field, reason]).not.toContain("");
        }
      },
    ),
    RUNS,
  );
});
