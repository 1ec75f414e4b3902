import { describe, expect, it } from "vitest";
import { bench } from "../testing/interpreter.ts";
import { differences } from "./compare.ts";
import { yamlDiff } from "./diff.ts";
import { runSuite } from "./suite.ts";
import { FileProblem, readYamlObjects } from "./yaml.ts";

const CUSTOMIZATIONS = `
apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: foo}
spec:
  target: {apiVersion: foo.example.com/v1, kind: Foo}
  customizations:
    healthInterpretation:
      luaScript: |
        function InterpretHealth(o)
          return o.status.ready
        end
    replicaResource:
      luaScript: >
        function GetReplicas(o)
          return o.spec.replicas, {resourceRequest = o.spec.request}
        end
    replicaRevision:
      luaScript: |
        function ReviseReplica(o, n)
          o.spec.replicas = n
          o.spec.at = os.time()
          return o
        end
    statusAggregation:
      luaScript: |
        function AggregateStatus(o, items)
          if items == nil then o.status = {none = true} else o.status = {count = #items} end
          return o
        end
`;
const FOO =
  "{apiVersion: foo.example.com/v1, kind: Foo, metadata: {name: a}, spec: {replicas: 2, request: {cpu: 500m}}, status: {ready: true}}";

function run(tests: string, customizations = CUSTOMIZATIONS) {
  const suite = () => bench().interpreter;
  return runSuite(suite, { path: "customizations.yaml", text: customizations }, [{ path: "a-test.yaml", text: tests }]);
}

describe("a test file", () => {
  it("passes when every expected result is found", () => {
    const results = run(`
name: healthy
observedObj: ${FOO}
operation: InterpretHealth
output: {healthy: true}
---
name: the proposal's name and another case, and a quantity written differently
desiredObj: ${FOO}
operation: explorereplica
output: {replica: 2, requires: {resourceRequest: {cpu: "0.5"}}}
---
name: nothing expected
desiredObj: ${FOO}
operation: InterpretReplica
---
name: a field that may be anything
desiredObj: ${FOO}
inputReplicas: 5
operation: ReviseReplica
output:
  revised: {apiVersion: foo.example.com/v1, kind: Foo, metadata: {name: a}, spec: {replicas: 5, at: "{{EXCLUDE}}", request: {cpu: 500m}}, status: {ready: true}}
---
name: no items are nil
desiredObj: {apiVersion: foo.example.com/v1, kind: Foo}
operation: AggregateStatus
output: {aggregatedStatus: {apiVersion: foo.example.com/v1, kind: Foo, status: {none: true}}}
---
name: an empty list is a table
desiredObj: {apiVersion: foo.example.com/v1, kind: Foo}
statusItems: []
operation: AggregateStatus
output: {aggregatedStatus: {apiVersion: foo.example.com/v1, kind: Foo, status: {count: 0}}}
`);
    expect(results.map(({ failure }) => failure)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
  });

  it("fails with a diff at its file and line", () => {
    const [result] = run(`
name: wrong
desiredObj: ${FOO}
operation: InterpretReplica
output: {replica: 3, requires: {resourceRequest: {cpu: 500m}}}
`);
    expect(result).toEqual({
      title: "foo/InterpretReplica: wrong",
      file: "a-test.yaml",
      line: 2,
      failure: ["replica: - expected, + found", "- 3", "+ 2"],
    });
  });

  it("fails for an unknown expected result, for a second object, and for a missing script", () => {
    const failures = run(`
name: a
observedObj: ${FOO}
operation: InterpretHealth
output: {health: true}
---
name: b
observedObj: ${FOO}
desiredObj: ${FOO}
operation: InterpretHealth
---
name: c
observedObj: ${FOO}
operation: InterpretStatus
---
name: d
operation: Retain
desiredObj: ${FOO}
`).map(({ failure }) => failure?.join());
    expect(failures).toEqual([
      expect.stringContaining("output.health: InterpretHealth has no such result; it has healthy"),
      expect.stringContaining("takes one object"),
      expect.stringContaining("add statusReflection.luaScript with function ReflectStatus"),
      expect.stringContaining("needs both objects"),
    ]);
  });

  it("that is malformed names file, line, field and remedy", () => {
    const problem = (tests: string, customizations?: string) => {
      try {
        run(tests, customizations);
      } catch (error) {
        if (error instanceof FileProblem) return error.message;
      }
      return "no problem";
    };
    expect(problem("name: a\nopration: x")).toMatch(
      /^a-test.yaml:2: opration is not a field of a test case; known are name/,
    );
    expect(problem("name: a\noperation: Heal")).toMatch(/^a-test.yaml:2: operation must be one of .*InterpretHealth/);
    expect(problem("name: a\noperation: Retain\ndesiredObj: 1")).toMatch(
      /^a-test.yaml:3: desiredObj must be an object/,
    );
    expect(problem("a: [")).toMatch(/^a-test.yaml:\d+: is not YAML/);
    const noEnd = CUSTOMIZATIONS.replace("return o.status.ready\n        end", "return o.status.ready");
    expect(problem("", noEnd)).toMatch(
      /^customizations.yaml:1[12]: spec.customizations.healthInterpretation.luaScript: .*end/,
    );
    const folded = CUSTOMIZATIONS.replace("return o.spec.replicas,", "return return");
    expect(problem("", folded)).toMatch(
      /^customizations.yaml:14: .*replicaResource.luaScript: line \d of the script: /,
    );
    expect(problem("", "kind: Secret")).toMatch(
      /^customizations.yaml:1: kind must be ResourceInterpreterCustomization/,
    );
    expect(problem("", "")).toMatch(/is empty/);
  });
});

describe("YAML", () => {
  const read = (text: string) => readYamlObjects("f.yaml", text).map(({ value }) => value);

  it("is read as Kubernetes reads it", () => {
    expect(read("a: yes\nb: 0755\nc: 2001-01-01\nd: 1:30\ne: on")).toEqual([
      { a: true, b: 493, c: "2001-01-01", d: "1:30", e: true },
    ]);
    expect(read("---\n---\na: 1\n---\n# nothing\n")).toEqual([{ a: 1 }]);
    expect(read("kind: List\nitems: [{a: 1}, {a: 2}]")).toEqual([{ a: 1 }, { a: 2 }]);
  });

  it("lets a quoted text continue without indentation, as Go's YAML does", () => {
    expect(read("a:\n  b: 'it''s ''here''\n  and there'\n  c: 1")).toEqual([
      { a: { b: "it's 'here' and there", c: 1 } },
    ]);
    expect(read('a:\n  b: "here\n  and there"\n  c: 1')).toEqual([{ a: { b: "here and there", c: 1 } }]);
    expect(() => read("a: 'never closed\nb: 1\n")).toThrow(/f.yaml:\d+: is not YAML/);
  });
});

describe("a diff", () => {
  it("shows what changed with a few lines around it", () => {
    const before = { a: 1, b: 2, c: 3, d: 4, e: 5, f: 6, g: 7, h: 8, i: 9 };
    expect(yamlDiff(before, { ...before, e: 50 })).toEqual([
      "  b: 2",
      "  c: 3",
      "  d: 4",
      "- e: 5",
      "+ e: 50",
      "  f: 6",
      "  g: 7",
      "  h: 8",
    ]);
    expect(yamlDiff(before, { ...before, a: 0, i: 0 })).toContain("  ...");
    expect(yamlDiff({ b: 1, a: 2 }, { a: 2, b: 1 })).toEqual([]);
    expect(yamlDiff({ list: ["a", "b", "c"] }, { list: ["a", "c", "d"] })).toEqual([
      "  list:",
      "    - a",
      "-   - b",
      "    - c",
      "+   - d",
    ]);
  });

  it("compares unordered lists in any order", () => {
    const one = { apiVersion: "v1", kind: "Secret", name: "a" };
    const two = { apiVersion: "v1", kind: "ConfigMap", name: "b" };
    expect(differences("dependencies", [one, two], [two, one])).toEqual([]);
    expect(differences("dependencies", [one], [two, one])).not.toEqual([]);
    const component = (name: string, cpu: string) => ({
      name,
      replicas: 1,
      replicaRequirements: { resourceRequest: { cpu } },
    });
    expect(
      differences(
        "components",
        [component("a", "1"), component("b", "1")],
        [component("b", "1000m"), component("a", "1")],
      ),
    ).toEqual([]);
    expect(differences("components", [component("a", "1")], [component("a", "2")])).not.toEqual([]);
    expect(differences("status", { list: [1, 2] }, { list: [2, 1] })).not.toEqual([]);
  });

  it("excludes a field inside a list, at any position", () => {
    const expected = { conditions: [{ type: "Ready", at: "{{EXCLUDE}}" }] };
    expect(differences("aggregatedStatus", expected, { conditions: [{ type: "Ready", at: "now" }] })).toEqual([]);
    expect(differences("aggregatedStatus", expected, { conditions: [{ type: "Ready" }] })).toEqual([]);
    expect(differences("aggregatedStatus", expected, { conditions: [{ type: "Other", at: "now" }] })).not.toEqual([]);
  });
});
