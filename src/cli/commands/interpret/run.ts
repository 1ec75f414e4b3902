/** What `lockstep interpret` does, apart from reading the command line. */
import { readdirSync, readFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import {
  type Arguments,
  type CaseResult,
  evaluate,
  FileProblem,
  Interpreter,
  loadCustomizations,
  locateFailure,
  OPERATIONS,
  parseOperation,
  parseStatusItems,
  readYamlObjects,
  readYamlValue,
  runSuite,
  type SourceFile,
  type StatusItem,
  toYaml,
  yamlDiff,
} from "../../../interpret/index.ts";
import { type JsonObject, silentLog, systemClock, systemRandom, TransportError } from "../../../runtime/index.ts";

export interface Terminal {
  out(line: string): void;
  error(line: string): void;
}

export interface InterpretArguments {
  readonly filename?: string;
  readonly operation?: string;
  readonly desired?: string;
  readonly observed?: string;
  readonly statusItems?: string;
  readonly replicas?: string;
  readonly output?: string;
}

/** Only customizations: no bundled ones, no network. */
function offlineInterpreter(): Interpreter {
  return new Interpreter({
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    bundled: [],
    transports: () => {
      throw new TransportError("webhooks are not called offline", { neverSent: true });
    },
  });
}

/** Returns the exit code. */
export function evaluateCommand(options: InterpretArguments, terminal: Terminal): number {
  return withProblems(terminal, () => {
    const format = options.output ?? "text";
    if (format !== "text" && format !== "json")
      throw new FileProblem("--output", undefined, `must be text or json, found ${format}`);
    const { filename } = options;
    if (filename === undefined) throw new FileProblem("--filename", undefined, "is required: -f CUSTOMIZATION");
    const interpreter = offlineInterpreter();
    const objects = loadCustomizations(interpreter, readSource(filename));
    if (options.operation === undefined) {
      for (const { severity, field, reason } of interpreter.reports().flatMap(({ problems }) => problems)) {
        terminal.out(`${filename}: ${severity}: ${field}: ${reason}`);
      }
      terminal.out(
        `${filename}: ${objects.length} ${objects.length === 1 ? "customization compiles" : "customizations compile"}`,
      );
      return 0;
    }
    const operation = parseOperation(options.operation);
    if (operation === undefined) {
      const known = OPERATIONS.filter((name) => name !== "Prune").join(", ");
      throw new FileProblem("--operation", undefined, `"${options.operation}" is not known; use one of ${known}`);
    }
    const evaluation = evaluate(interpreter, operation, readArguments(options));
    if (!evaluation.ok) {
      const { reason, failure } = evaluation;
      const where = failure && locateFailure(objects, operation, failure);
      throw where ?? new FileProblem(filename, undefined, `${operation}: ${reason}`);
    }
    if (format === "json") terminal.out(JSON.stringify({ operation, ...evaluation.results }, null, 2));
    else for (const line of shown(evaluation.results, evaluation.before)) terminal.out(line);
    return 0;
  });
}

/** A changed object as a diff against the input; every other result as YAML. */
function shown(results: JsonObject, before: JsonObject | undefined): string[] {
  if (before === undefined) return [toYaml(results).trimEnd()];
  return Object.entries(results).flatMap(([name, after]) => {
    const diff = yamlDiff(before, after);
    return diff.length === 0 ? [`${name}: no change`] : [`${name}: - before, + after`, ...diff];
  });
}

function readArguments({ desired, observed, statusItems, replicas }: InterpretArguments): Arguments {
  if (replicas !== undefined && !/^\d{1,9}$/.test(replicas)) {
    throw new FileProblem("--replicas", undefined, `must be a whole number, found "${replicas}"`);
  }
  return {
    ...(desired !== undefined && { desired: readObject(desired) }),
    ...(observed !== undefined && { observed: readObject(observed) }),
    ...(statusItems !== undefined && {
      statusItems: readItems(statusItems),
    }),
    ...(replicas !== undefined && { replicas: Number(replicas) }),
  };
}

function readItems(file: string): StatusItem[] {
  const { path, text } = readSource(file);
  return parseStatusItems(readYamlValue(path, text) ?? [], path);
}

function readObject(file: string): JsonObject {
  const { path, text } = readSource(file);
  const [object, second] = readYamlObjects(path, text);
  if (object === undefined) throw new FileProblem(file, undefined, "is empty; it must contain one object");
  if (second !== undefined) throw new FileProblem(file, second.lineOf([]), "contains a second object; pass only one");
  return object.value;
}

function readSource(path: string): SourceFile {
  try {
    return { path, text: readFileSync(path, "utf8") };
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new FileProblem(path, undefined, `cannot be read (${reason}); check the path`);
  }
}

/** Returns the exit code: 0 only if every case passed and there was at least one. */
export function testCommand(folder: string, terminal: Terminal): number {
  return withProblems(terminal, () => {
    const suites = findSuites(folder);
    if (suites.length === 0) {
      throw new FileProblem(
        folder,
        undefined,
        "contains no customizations.yaml with test files in testdata/ or in the same folder",
      );
    }
    let passed = 0;
    let failed = 0;
    for (const { customizations, tests } of suites) {
      for (const result of runFiles(customizations, tests)) {
        if (result.failure === undefined) passed++;
        else {
          failed++;
          terminal.out(`FAILED ${result.title}`);
          terminal.out(`  ${result.file}:${result.line}`);
          for (const line of result.failure) terminal.out(`  ${line}`);
        }
      }
    }
    terminal.out(`${passed} passed, ${failed} failed`);
    return failed === 0 && passed > 0 ? 0 : 1;
  });
}

/** A file that cannot be read is one failure and does not prevent the others from running. */
function runFiles(customizations: string, tests: readonly string[]): CaseResult[] {
  try {
    return runSuite(offlineInterpreter, readSource(customizations), tests.map(readSource));
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    return [{ title: customizations, file: error.file, line: error.line ?? 1, failure: [error.message] }];
  }
}

interface SuiteFiles {
  readonly customizations: string;
  readonly tests: string[];
}

/** Test files are those under testdata/, as in Karmada's repository, and `*-test.yaml` next to the customizations. */
function findSuites(folder: string): SuiteFiles[] {
  const files = listFiles(folder).sort();
  return files
    .filter((file) => basename(file) === "customizations.yaml" && !dirname(file).split("/").includes("testdata"))
    .map((customizations) => {
      const own = dirname(customizations);
      const tests = files.filter(
        (file) =>
          (file.startsWith(join(own, "testdata/")) && /\.ya?ml$/.test(file)) ||
          (dirname(file) === own && /[-_]tests?\.ya?ml$/.test(file)),
      );
      return { customizations, tests };
    })
    .filter(({ tests }) => tests.length > 0);
}

function listFiles(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true, recursive: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name));
  } catch (error) {
    const reason = error instanceof Error && "code" in error ? String(error.code) : "unknown";
    throw new FileProblem(folder, undefined, `cannot be read (${reason}); give a folder`);
  }
}

function withProblems(terminal: Terminal, run: () => number): number {
  try {
    return run();
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    terminal.error(error.message);
    return 1;
  }
}
