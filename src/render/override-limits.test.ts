import { describe, expect, it } from "vitest";
import type { Json, JsonObject } from "../runtime/index.ts";
import { applyOverrides, OverrideError } from "./overrides.ts";
import { cluster } from "./testing/fixtures.ts";

const member1 = cluster("member1");

function policy(overriders: JsonObject, rules = 1): JsonObject {
  return {
    kind: "OverridePolicy",
    metadata: { name: "p", namespace: "shop" },
    spec: { overrideRules: Array<Json>(rules).fill({ overriders }) },
  };
}

function workload(containers: Json[] = []): JsonObject {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "db", namespace: "shop" },
    spec: { template: { spec: { containers } } },
  };
}

function file(text: string): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c", namespace: "shop" }, data: { file: text } };
}

/** The error that ends it, or "applied". */
function ending(object: JsonObject, ...policies: JsonObject[]): string {
  try {
    applyOverrides(object, member1, policies);
    return "applied";
  } catch (error) {
    if (error instanceof OverrideError) return error.message;
    throw error;
  }
}

function times(count: number, entry: Json): Json[] {
  return Array<Json>(count).fill(entry);
}

const PLACE = "OverridePolicy shop/p, spec.overrideRules[0].overriders.";

describe("the effect of override policies on one object is limited, and the error names policy, field and limit", () => {
  it("a value that is added again and again", () => {
    const entries = Array.from({ length: 40 }, (_, at) => ({
      operator: "add",
      path: `/metadata/annotations/a${at}`,
      value: "x".repeat(100_000),
    }));
    expect(ending(workload(), policy({ plaintext: entries.slice(0, 10) }))).toBe("applied");
    const message = ending(workload(), policy({ plaintext: entries }));
    expect(message).toContain(`${PLACE}plaintext[31] at /metadata/annotations/a31: add: what is added to one object`);
    expect(message).toContain("more than 3145728 bytes");
  });

  it("thousands of overriders", () => {
    const entry = { operator: "add", path: "/metadata/annotations/a", value: "x" };
    expect(ending(workload(), policy({ plaintext: times(999, entry) }))).toBe("applied");
    const message = ending(workload(), policy({ plaintext: times(1_001, entry) }));
    expect(message).toContain(`${PLACE}plaintext[999]: more than 1000 rules and overriders`);
  });

  it("thousands of rules, over several policies", () => {
    expect(ending(workload(), policy({}, 1_000))).toBe("applied");
    expect(ending(workload(), policy({}, 600), policy({}, 600))).toContain(
      "OverridePolicy shop/p, spec.overrideRules[400]: more than 1000 rules and overriders",
    );
  });

  it("many labels at once", () => {
    const value = Object.fromEntries(Array.from({ length: 10_001 }, (_, at) => [`l${at}`, "x"]));
    const message = ending(workload(), policy({ labelsOverrider: [{ operator: "add", value }] }));
    expect(message).toContain(`${PLACE}labelsOverrider[0] at /metadata/labels/l10000: add: more than 10000 operations`);
  });

  it("many words for many containers of one name", () => {
    const containers = times(5_000, { name: "a", image: "i" });
    const entry = { containerName: "a", operator: "add", value: times(5_000, "word") };
    const message = ending(workload(containers), policy({ commandOverrider: [entry] }));
    expect(message).toContain(`${PLACE}commandOverrider[0] at /spec/template/spec/containers/`);
    expect(message).toContain("more than 2000000 elements of lists");
  });

  it("many overriders that search for a container among thousands", () => {
    const containers = times(20_000, { name: "a", image: "i" });
    const entry = { containerName: "b", operator: "add", value: [] };
    const message = ending(workload(containers), policy({ argsOverrider: times(500, entry) }));
    expect(message).toContain(`${PLACE}argsOverrider[100] at /spec/template/spec/containers: more than 2000000`);
  });

  it("removing many words from a long command takes time in proportion to both", () => {
    const words = Array.from({ length: 200_000 }, (_, at) => `w${at}`);
    const entry = { containerName: "a", operator: "remove", value: words };
    expect(ending(workload([{ name: "a", command: words }]), policy({ commandOverrider: [entry] }))).toBe("applied");
  });

  it("a long text that is read again and again", () => {
    const text = JSON.stringify({ a: "x".repeat(400_000) });
    const entry = { fieldPath: "/data/file", json: [{ subPath: "/b", operator: "add", value: 1 }] };
    const message = ending(file(text), policy({ fieldOverrider: times(20, entry) }));
    expect(message).toMatch(
      /fieldOverrider\[7\] at \/data\/file: .*(JSON text|added to one object).* more than 3145728/,
    );
  });

  it("a long YAML text", () => {
    const entry = { fieldPath: "/data/file", yaml: [{ subPath: "/b", operator: "add", value: 1 }] };
    const overriding = policy({ fieldOverrider: [entry] });
    expect(ending(file("a: 1\nb: 2"), overriding)).toBe("applied");
    const message = ending(file(`a: ${"x".repeat(70_000)}`), overriding);
    expect(message).toContain(`${PLACE}fieldOverrider[0] at /data/file: the YAML text`);
    expect(message).toContain("more than 65536 bytes");
  });

  it.each([
    ["aliases of one long list", `a: &a [${"1, ".repeat(5_000)}]\n${letters(90, (name) => `${name}: *a`)}`],
    ["aliases of aliases", `a0: &a0 [x, x, x, x]\n${nestedAliases(30)}`],
    ["a document that nests", `a: ${"[".repeat(400)}${"]".repeat(400)}`],
  ])("YAML with %s", (_what, text) => {
    const entry = { fieldPath: "/data/file", yaml: [{ subPath: "/b", operator: "add", value: 1 }] };
    const message = ending(file(text), policy({ fieldOverrider: [entry] }));
    expect(message).toMatch(/at \/data\/file: the (document has more than 131072 bytes|text there is not YAML)/);
  });

  it("JSON that nests deeper than any object", () => {
    const entry = { fieldPath: "/data/file", json: [{ subPath: "/b", operator: "add", value: 1 }] };
    const text = `{"a":${"[".repeat(5_000)}${"]".repeat(5_000)}}`;
    expect(ending(file(text), policy({ fieldOverrider: [entry] }))).toContain("nests deeper than 200 levels");
  });

  it("thousands of selectors read the labels of an object once", () => {
    const selector = { apiVersion: "apps/v1", kind: "StatefulSet", labelSelector: { matchLabels: { none: "x" } } };
    let reads = 0;
    const labels = new Proxy(
      { a: "b" },
      {
        ownKeys: (target) => {
          reads++;
          return Reflect.ownKeys(target);
        },
      },
    );
    const object = { ...workload(), metadata: { name: "db", namespace: "shop", labels } };
    const selecting = { ...policy({}), spec: { resourceSelectors: times(5_000, selector) } };
    expect(ending(object, selecting)).toBe("applied");
    expect(reads).toBe(1);
  });

  it("a path that is as long as a policy may be is not quoted in full", () => {
    const path = `/data/${"x".repeat(500_000)}`;
    expect(ending(file("x"), policy({ plaintext: [{ operator: "remove", path }] })).length).toBeLessThan(1_000);
  });
});

function letters(count: number, line: (name: string) => string): string {
  return Array.from({ length: count }, (_, at) => line(`b${at}`)).join("\n");
}

function nestedAliases(levels: number): string {
  const aliases = (level: number): string => times(4, `*a${level}`).join(", ");
  return Array.from({ length: levels }, (_, at) => `a${at + 1}: &a${at + 1} [${aliases(at)}]`).join("\n");
}
