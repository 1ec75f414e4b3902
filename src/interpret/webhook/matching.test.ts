import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../runtime/index.ts";
import { answering, bench, exploring, foo, interpreting } from "../testing/interpreter.ts";
import { guessResource } from "./matching.ts";

async function isAsked(
  configuration: JsonObject,
  object: JsonObject,
  resources?: { resource: string; namespaced: boolean },
) {
  const { interpreter, asked } = bench({
    webhook: answering({ healthy: true }),
    ...(resources && { resources: () => resources }),
  });
  interpreter.setWebhooks([configuration]);
  await interpreter.interpretNow("InterpretHealth", { object });
  return asked.length === 1;
}

describe("rules of the proposal", () => {
  it.each([
    [{}, true],
    [{ operations: ["ExploreHealthy"] }, true],
    [{ operations: ["ExploreStatus"] }, false],
    [{ apiGroups: ["*"] }, true],
    [{ apiGroups: [""] }, false],
    [{ apiVersions: ["v1alpha1"] }, true],
    [{ apiVersions: ["v1"] }, false],
    [{ resources: ["*"] }, true],
    [{ resources: ["*/*"] }, true],
    [{ resources: ["foos/*"] }, true],
    [{ resources: ["foos/status"] }, false],
    [{ resources: ["bars", "foos"] }, true],
    [{ resources: ["Foo"] }, false],
    [{ scope: "*" }, true],
    [{ scope: "Cluster" }, false],
  ])("with %j match: %s", async (rule, asked) => {
    expect(await isAsked(exploring("h", {}, rule), foo())).toBe(asked);
  });

  it("use discovery if it differs from the guess by the kind's name", async () => {
    const known = { resource: "fooz", namespaced: false };
    expect(await isAsked(exploring("h", {}, { resources: ["fooz"], scope: "Cluster" }), foo(), known)).toBe(true);
    expect(await isAsked(exploring("h"), foo(), known)).toBe(false);
  });

  it("guess the plural as Kubernetes does", () => {
    expect(["Foo", "Ingress", "NetworkPolicy", "Endpoints"].map(guessResource)).toEqual([
      "foos",
      "ingresses",
      "networkpolicies",
      "endpointses",
    ]);
  });
});

describe("rules of Karmada", () => {
  it.each([
    [{}, true],
    [{ operations: ["InterpretHealth"] }, true],
    [{ operations: ["Retain"] }, false],
    [{ kinds: ["*"] }, true],
    [{ kinds: ["Bar"] }, false],
    [{ apiVersions: ["v1"] }, false],
  ])("with %j match: %s", async (rule, asked) => {
    expect(await isAsked(interpreting("h", {}, rule), foo())).toBe(asked);
  });

  it("a webhook with several rules is called when any matches", async () => {
    const rules = [
      { operations: ["Retain"], apiGroups: ["*"], apiVersions: ["*"], kinds: ["*"] },
      { operations: ["InterpretHealth"], apiGroups: ["*"], apiVersions: ["*"], kinds: ["Foo"] },
    ];
    expect(await isAsked(interpreting("h", { rules }), foo())).toBe(true);
  });
});
