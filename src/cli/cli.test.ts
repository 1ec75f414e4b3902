/** What every command has in common: help, errors, colours, and what each kind of process loads. */
import { build } from "esbuild";
import { describe, expect, it } from "vitest";
import { ApiServer } from "../apiserver/index.ts";
import { seededRandom } from "../runtime/index.ts";
import { createProgram, runCli } from "./program.ts";
import { InstantClock, runAlone as run, testIo } from "./testing/harness.ts";

describe("help", () => {
  it("goes to standard output, names every command, and ends with 0", async () => {
    const { code, out, err } = await run(["--help"]);
    expect({ code, err }).toEqual({ code: 0, err: "" });
    for (const { name } of commands()) expect(out).toContain(`  ${name}`);
    expect((await run([])).out).toBe(out);
  });

  it.each(commands())("of $name shows examples and the global options", async ({ name }) => {
    const { code, out } = await run([name, "--help"]);
    expect(code).toBe(0);
    expect(out).toContain("--kubeconfig <file>");
    if (!["interpret", "simulate"].includes(name)) expect(out).toContain(`Examples:`);
  });

  it("shows kubectl's form when called as a kubectl plugin", async () => {
    const { out } = await run(["status", "--help"], { program: "kubectl lockstep" });
    expect(out).toContain("Usage: kubectl lockstep status");
    expect(out).toContain("  kubectl lockstep status xline -w");
  });
});

describe("mistakes", () => {
  it.each([
    [["stats"], "unknown command 'stats'\n(Did you mean status?)"],
    [["status", "--wach"], "unknown option '--wach'\n(Did you mean --watch?)"],
    [["why"], "missing required argument 'name'"],
    [["status", "web", "more"], "too many arguments"],
    [["plan"], "say what to look at"],
    [["plan", "-f", "nope.yaml"], "nope.yaml cannot be read (ENOENT)"],
    [["plan", "--offline"], "say what to look at"],
    [["status", "--request-timeout", "soon"], "--request-timeout 'soon' is not a duration; give one such as 10s"],
    [["controller", "--engine", "fleet"], "--engine 'fleet' is not known; use karmada or ocm"],
    [["controller", "--log-level", "loud"], "--log-level 'loud' is not known"],
    [["controller", "--concurrency", "0"], "--concurrency '0' must be a whole number from 1 to 256"],
    [["controller", "--max-streams", "63"], "--max-streams '63' must be a whole number from 64 to 4096"],
    [["why", "--outptu"], "Run 'lockstep why --help' for usage."],
    [["demo", "updat"], "Run 'lockstep demo --help' for usage."],
    [["status", "-o", "jsn"], "--output 'jsn' is not known here; did you mean 'json'?"],
    [["history", "web", "-o", "table"], "--output 'table' is not known here; use json, yaml, wide, name"],
    [["simulate", "-f", "nope.yaml"], "nope.yaml cannot be read (ENOENT)"],
    [["completion", "bsh"], "'bsh' is not known; did you mean 'bash'?"],
    [["install", "--workload", "xline"], "--workload 'xline': give PLURAL.GROUP"],
  ])("%j fails with the remedy on standard error, and exit code 1", async (args, said) => {
    const { code, out, err } = await run(args);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(said);
    expect(err).not.toMatch(/^\s+at /m);
  });

  it("the error for an unreachable hub names it and the remedy, with a stack only with --debug", async () => {
    const plain = await run(["status"]);
    expect(plain.code).toBe(1);
    expect(plain.err).toMatch(/^error: the API server could not be reached: .*connection refused.*Check --kubeconfig/);
    expect(plain.err).not.toMatch(/^\s+at /m);
    expect((await run(["status", "--debug"])).err).toMatch(/^\s+at /m);
  });

  it("the error for a server without Lockstep's or Karmada's kinds names what it lacks", async () => {
    const clock = new InstantClock();
    const server = new ApiServer({ clock, random: seededRandom(1) });
    const ask = async (...args: string[]) => {
      const io = testIo(clock, server.transport());
      return { code: await runCli(args, io), err: io.err.join("") };
    };
    for (const args of [["status"], ["status", "web"], ["why", "web"], ["confirm-lost", "member1"]]) {
      const { code, err } = await ask(...args);
      expect(code).toBe(1);
      expect(err).toMatch(/CrossClusterStatefulset.*has 'lockstep install --apply' been run there\?/);
    }
    const install = await ask("install", "--apply");
    expect(install.err).toContain("this server serves neither Karmada's kinds nor those of Open Cluster Management");
    expect(await ask("doctor")).toMatchObject({ code: 1 });
  });

  it("in a file they name the file, the line and the field", async () => {
    const files = {
      "text.yaml": "just: text\n",
      "bad.yaml": `apiVersion: apps.karmada.io/v1alpha1
kind: CrossClusterStatefulset
metadata: {name: web}
spec:
  resourceSelector: {apiVersion: apps/v1, kind: StatefulSet}
`,
    };
    expect((await run(["plan", "--offline", "-f", "text.yaml"], { files })).err).toMatch(
      /^error: text\.yaml:1: .*apiVersion, kind/,
    );
    expect((await run(["plan", "--offline", "-f", "bad.yaml"], { files })).err).toContain(
      "resourceSelector needs exactly one of name and labelSelector",
    );
  });
});

describe("the manifests of install", () => {
  it("are valid YAML with every CRD, and grant the controller no wildcard", async () => {
    const { parseAllDocuments } = await import("yaml");
    const { code, out } = await run(["install", "--workload", "xlineclusters.apps.my.io"]);
    expect(code).toBe(0);
    const objects = parseAllDocuments(out).map((document) => document.toJS());
    const kinds = objects.map(({ kind }) => kind);
    expect(kinds.filter((kind) => kind === "CustomResourceDefinition")).toHaveLength(6);
    expect(kinds).toContain("ValidatingAdmissionPolicy");
    expect(kinds).toContain("ClusterOverridePolicy");
    const rules = objects.flatMap(({ rules: own = [] }) => own);
    expect(JSON.stringify(rules)).not.toContain("*");
    expect(rules).toContainEqual({
      apiGroups: ["apps.my.io"],
      resources: ["xlineclusters"],
      verbs: ["get", "list", "watch"],
    });
    expect((await run(["install", "--no-standing-hold"])).out).not.toContain("ClusterOverridePolicy");
  });
});

describe("a completion script", () => {
  it.each(["bash", "zsh", "fish"])("for %s asks lockstep itself for the candidates", async (shell) => {
    expect((await run(["completion", shell])).out).toContain("lockstep __complete -- ");
  });
});

describe("what a process loads", () => {
  const inputsOf = async (entry: string) => {
    const { metafile } = await build({
      entryPoints: [entry],
      bundle: true,
      write: false,
      metafile: true,
      format: "esm",
      platform: "node",
      logLevel: "silent",
    });
    return Object.keys(metafile.inputs);
  };

  it("the controller's process loads neither the embedded fleet, nor the API server, nor the simulator", async () => {
    const inputs = await inputsOf("src/cli/commands/controller/run.ts");
    expect(inputs).toContain("src/controllers/manager.ts");
    expect(inputs.filter((path) => /^src\/(embedded|apiserver|sim|dashboard)\//.test(path))).toEqual([]);
  });

  it("--help loads only commander and the commands' declarations, and nothing of the other rooms", async () => {
    const { metafile } = await build({
      entryPoints: ["src/cli/main.ts"],
      bundle: true,
      splitting: true,
      outdir: "unused",
      write: false,
      metafile: true,
      format: "esm",
      platform: "node",
      logLevel: "silent",
    });
    const reached = new Set<string>();
    const follow = (path: string) => {
      const output = metafile.outputs[path];
      if (!output || reached.has(path)) return;
      reached.add(path);
      for (const { path: next, kind } of output.imports) if (kind === "import-statement") follow(next);
    };
    follow("unused/main.js");
    const loaded = [...reached].flatMap((path) => Object.keys(metafile.outputs[path]?.inputs ?? {}));
    const foreign = loaded.filter(
      (path) => !path.startsWith("src/cli/") && !path.includes("node_modules/commander/") && path !== "package.json",
    );
    expect(foreign).toEqual([]);
    expect(loaded.filter((path) => path.endsWith("/run.ts"))).toEqual([]);
  });
});

function commands(): { name: string }[] {
  const { program } = createProgram(testIo(new InstantClock(), undefined));
  return program.commands.map((command) => ({ name: command.name() })).filter(({ name }) => !name.startsWith("_"));
}
