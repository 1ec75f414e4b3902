import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { registerInterpret } from "./command.ts";
import { evaluateCommand, type InterpretArguments, testCommand } from "./run.ts";

let folder: string;
const at = (path: string) => join(folder, path);
function write(path: string, text: string): string {
  mkdirSync(dirname(at(path)), { recursive: true });
  writeFileSync(at(path), text);
  return at(path);
}

const customizations = (health: string) => `apiVersion: config.karmada.io/v1alpha1
kind: ResourceInterpreterCustomization
metadata: {name: foo}
spec:
  target: {apiVersion: foo.example.com/v1, kind: Foo}
  customizations:
    healthInterpretation:
      luaScript: |
        function InterpretHealth(o)
          ${health}
        end
    retention:
      luaScript: |
        function Retain(desired, observed)
          desired.spec.shard = observed.spec.shard
          return desired
        end
    statusAggregation:
      luaScript: |
        function AggregateStatus(o, items)
          o.status = {ready = 0}
          for _, item in ipairs(items) do o.status.ready = o.status.ready + item.status.ready end
          return o
        end
    replicaRevision:
      luaScript: |
        function ReviseReplica(o, n) o.spec.replicas = n return o end
`;
const foo = (spec: string) =>
  `{apiVersion: foo.example.com/v1, kind: Foo, metadata: {name: a}, spec: {${spec}}, status: {ready: true}}`;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-interpret-"));
  write("c.yaml", customizations("return o.status.ready"));
  write("desired.yaml", foo("replicas: 1"));
  write("observed.yaml", foo("shard: 7"));
  write("items.yaml", "- {clusterName: east, status: {ready: 2}}\n- {clusterName: west, status: {ready: 1}}\n");
});
afterAll(() => rmSync(folder, { recursive: true }));

function run(command: (terminal: { out(line: string): void; error(line: string): void }) => number) {
  const out: string[] = [];
  const errors: string[] = [];
  const code = command({ out: (line) => out.push(...line.split("\n")), error: (line) => errors.push(line) });
  return { code, out, errors: errors.map((line) => line.replaceAll(folder, "")) };
}
const evaluate = (options: Partial<InterpretArguments>) =>
  run((terminal) => evaluateCommand({ filename: at("c.yaml"), ...options }, terminal));

describe("lockstep interpret", () => {
  it("shows a plain result as YAML or JSON", () => {
    expect(evaluate({ operation: "InterpretHealth", observed: at("observed.yaml") })).toEqual({
      code: 0,
      out: ["healthy: true"],
      errors: [],
    });
    const json = evaluate({ operation: "ExploreHealthy", observed: at("observed.yaml"), output: "json" });
    expect(JSON.parse(json.out.join(""))).toEqual({ operation: "InterpretHealth", healthy: true });
  });

  it("shows the changes of an object", () => {
    const retained = evaluate({ operation: "Retain", desired: at("desired.yaml"), observed: at("observed.yaml") });
    expect(retained.out).toEqual([
      "retained: - before, + after",
      "    name: a",
      "  spec:",
      "    replicas: 1",
      "+   shard: 7",
      "  status:",
      "    ready: true",
    ]);
    const revised = evaluate({ operation: "ReviseReplica", desired: at("desired.yaml"), replicas: "1" });
    expect(revised.out).toEqual(["revised: no change"]);
    const aggregated = evaluate({
      operation: "AggregateStatus",
      desired: at("desired.yaml"),
      statusItems: at("items.yaml"),
    });
    expect(aggregated.out).toContain("+   ready: 3");
  });

  it("without an operation checks that the scripts compile", () => {
    expect(evaluate({})).toMatchObject({ code: 0, out: [expect.stringContaining("1 customization compiles")] });
  });

  it("names file, field, line and remedy of an error", () => {
    write("broken.yaml", customizations("if o then"));
    const broken = evaluate({
      filename: at("broken.yaml"),
      operation: "InterpretHealth",
      observed: at("observed.yaml"),
    });
    expect(broken).toMatchObject({ code: 1, out: [] });
    expect(broken.errors[0]).toMatch(/^\/broken.yaml:1[12]: spec.customizations.healthInterpretation.luaScript: /);
    write("fails.yaml", customizations("error('no idea')"));
    const failing = evaluate({
      filename: at("fails.yaml"),
      operation: "InterpretHealth",
      observed: at("observed.yaml"),
    });
    expect(failing.errors[0]).toMatch(
      /^\/fails.yaml:10: spec.customizations.healthInterpretation.luaScript: customization foo: line 2: no idea/,
    );
    const cases: [Partial<InterpretArguments>, RegExp][] = [
      [{ operation: "Heal" }, /--operation: "Heal" is not known; use one of InterpretReplica/],
      [{ operation: "Prune", desired: at("desired.yaml") }, /only webhooks and native code implement it/],
      [{ operation: "InterpretHealth" }, /needs an object/],
      [
        { operation: "InterpretReplica", desired: at("desired.yaml") },
        /add replicaResource.luaScript with function GetReplicas/,
      ],
      [{ operation: "ReviseReplica", desired: at("desired.yaml") }, /needs the number of replicas/],
      [
        { operation: "ReviseReplica", desired: at("desired.yaml"), replicas: "many" },
        /--replicas: must be a whole number/,
      ],
      [
        { operation: "InterpretHealth", observed: at("none.yaml") },
        /none.yaml: cannot be read \(ENOENT\); check the path/,
      ],
      [{ operation: "InterpretHealth", observed: at("items.yaml") }, /items.yaml:1: must be an object/],
      [
        { operation: "InterpretHealth", observed: at("observed.yaml"), output: "xml" },
        /--output: must be text or json/,
      ],
      [
        { operation: "AggregateStatus", desired: at("desired.yaml"), statusItems: at("desired.yaml") },
        /status items must be a list/,
      ],
      [
        { operation: "AggregateStatus", desired: at("desired.yaml"), statusItems: write("no.yaml", "a: [") },
        /no.yaml:1: is not YAML/,
      ],
      [
        { filename: write("twice.yaml", `${customizations("return true")}---\n${customizations("return true")}`) },
        /twice.yaml:\d+: "foo" is also the name of an earlier one/,
      ],
      [{ filename: at("desired.yaml") }, /desired.yaml:1: kind must be ResourceInterpreterCustomization/],
    ];
    for (const [options, message] of cases) {
      const { code, errors } = evaluate(options);
      expect(errors.join(), String(message)).toMatch(message);
      expect(code).toBe(1);
    }
  });
});

describe("lockstep interpret test", () => {
  const testFile = (healthy: boolean) =>
    `name: healthy\nobservedObj: ${foo("")}\noperation: InterpretHealth\noutput: {healthy: ${healthy}}\n`;

  it("counts and exits with 0 when all pass, in Karmada's layout and with test files in the same folder", () => {
    write("good/a/customizations.yaml", customizations("return o.status.ready"));
    write("good/a/testdata/health-test.yaml", testFile(true));
    write("good/b/customizations.yaml", customizations("return not o.status.ready"));
    write("good/b/health_test.yaml", testFile(false));
    expect(run((terminal) => testCommand(at("good"), terminal))).toEqual({
      code: 0,
      out: ["2 passed, 0 failed"],
      errors: [],
    });
  });

  it("shows failures as diffs and exits with 1; a broken file does not stop the others", () => {
    write("bad/a/customizations.yaml", customizations("return o.status.ready"));
    write("bad/a/testdata/a-test.yaml", `${testFile(true)}---\n${testFile(false)}`);
    write("bad/b/customizations.yaml", customizations("return ("));
    write("bad/b/testdata/b-test.yaml", testFile(true));
    const { code, out } = run((terminal) => testCommand(at("bad"), terminal));
    expect(code).toBe(1);
    expect(out.map((line) => line.replaceAll(folder, ""))).toEqual([
      "FAILED foo/InterpretHealth: healthy",
      "  /bad/a/testdata/a-test.yaml:6",
      "  healthy: - expected, + found",
      "  - false",
      "  + true",
      "FAILED /bad/b/customizations.yaml",
      expect.stringMatching(/^ {2}\/bad\/b\/customizations.yaml:1\d$/),
      expect.stringContaining("luaScript"),
      "1 passed, 2 failed",
    ]);
  });

  it("fails in a folder without tests, or for a path that is not a folder", () => {
    mkdirSync(at("empty"));
    expect(run((terminal) => testCommand(at("empty"), terminal))).toMatchObject({
      code: 1,
      errors: [expect.stringContaining("contains no customizations.yaml")],
    });
    expect(run((terminal) => testCommand(at("nowhere"), terminal))).toMatchObject({
      code: 1,
      errors: [expect.stringContaining("ENOENT")],
    });
  });
});

describe("the command line", () => {
  const parse = async (...args: string[]) => {
    const program = new Command("lockstep").exitOverride();
    registerInterpret(program);
    const out: string[] = [];
    const stdout = vi.spyOn(process.stdout, "write").mockImplementation((text) => out.push(String(text)) > 0);
    const stderr = vi.spyOn(process.stderr, "write").mockImplementation((text) => out.push(String(text)) > 0);
    try {
      await program.parseAsync(["interpret", ...args], { from: "user" });
      return { code: process.exitCode, out: out.join("") };
    } finally {
      stdout.mockRestore();
      stderr.mockRestore();
      process.exitCode = undefined;
    }
  };

  it("reaches both commands with their options", async () => {
    const options = [
      "--operation",
      "AggregateStatus",
      "--desired",
      at("desired.yaml"),
      "--status-items",
      at("items.yaml"),
    ];
    const { code, out } = await parse("-f", at("c.yaml"), ...options, "-o", "json");
    expect(JSON.parse(out)).toMatchObject({ aggregatedStatus: { status: { ready: 3 } } });
    expect(code).toBe(0);
    write("cli/customizations.yaml", customizations("return true"));
    write("cli/a-test.yaml", `name: a\nobservedObj: ${foo("")}\noperation: InterpretHealth\n`);
    expect(await parse("test", at("cli"))).toEqual({ code: 0, out: "1 passed, 0 failed\n" });
    expect(await parse("--operation", "InterpretHealth")).toMatchObject({
      code: 1,
      out: expect.stringContaining("-f CUSTOMIZATION"),
    });
  });
});
