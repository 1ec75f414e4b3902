/** A customizations.yaml with its test files: every case, against the customizations of that file. */
import { CUSTOMIZATION_KIND } from "../customization.ts";
import type { Interpreter } from "../interpreter.ts";
import { luaOperation } from "../lua-operations.ts";
import type { Operation } from "../operations.ts";
import type { Failed } from "../outcome.ts";
import type { Problem } from "../problem.ts";
import { BadAnswer } from "../results.ts";
import { parseTestCase, type TestCase } from "./case.ts";
import { differences } from "./compare.ts";
import { evaluate } from "./evaluate.ts";
import { FileProblem, readYamlObjects, type YamlObject } from "./yaml.ts";

export interface SourceFile {
  readonly path: string;
  readonly text: string;
}

export interface CaseResult {
  /** `customization/operation: name`. */
  readonly title: string;
  readonly file: string;
  readonly line: number;
  /** Why it failed, line by line; undefined: passed. */
  readonly failure?: string[];
}

/** A fresh interpreter without bundled customizations, for one file of customizations. */
export type NewInterpreter = () => Interpreter;

/**
 * Reads customizations and passes them to the interpreter. Throws FileProblem for anything that would not be in force.
 */
export function loadCustomizations(interpreter: Interpreter, { path, text }: SourceFile): YamlObject[] {
  const objects = readYamlObjects(path, text);
  if (objects.length === 0) throw new FileProblem(path, undefined, "is empty; it must contain customizations");
  for (const { value, lineOf } of objects) {
    if (value.kind !== CUSTOMIZATION_KIND) {
      throw new FileProblem(path, lineOf(["kind"]), `kind must be ${CUSTOMIZATION_KIND}, found ${String(value.kind)}`);
    }
  }
  const names = objects.map(({ value }) => nameOf(value));
  for (const [index, { value, lineOf }] of objects.entries()) {
    if (names.indexOf(nameOf(value)) < index) {
      throw new FileProblem(
        path,
        lineOf(["metadata", "name"]),
        `"${nameOf(value)}" is also the name of an earlier one`,
      );
    }
  }
  interpreter.setCustomizations(objects.map(({ value }) => value));
  for (const { name, problems } of interpreter.reports()) {
    const error = problems.find(({ severity }) => severity === "error");
    const object = objects[names.indexOf(name)];
    if (error !== undefined && object !== undefined) throw located(object, error);
  }
  return objects;
}

/** Where in the file the script failed, as far as the file shows it. */
export function locateFailure(
  objects: readonly YamlObject[],
  operation: Operation,
  failure: Failed,
): FileProblem | undefined {
  const object = objects.find(({ value }) => nameOf(value) === failure.source);
  const rule = luaOperation(operation);
  if (object === undefined || rule === undefined) return undefined;
  const { line, reason } = failure;
  const field = `spec.customizations.${rule.key}.luaScript`;
  return located(object, { field, reason, ...(line !== undefined && { line }) });
}

function located(object: YamlObject, { field, line, reason }: Omit<Problem, "severity">): FileProblem {
  const path = field.split(".");
  const inScript = line === undefined ? undefined : object.lineInText(path, line);
  const note = line !== undefined && inScript === undefined ? `line ${line} of the script: ` : "";
  return new FileProblem(object.file, inScript ?? object.lineOf(path), `${field}: ${note}${reason}`);
}

function nameOf(value: YamlObject["value"]): string {
  const { metadata } = value;
  return typeof metadata === "object" && metadata !== null && !Array.isArray(metadata)
    ? String(metadata.name ?? "")
    : "";
}

/**
 * As in Karmada, every case runs once for every customization of the file with the kind and version of its object; a
 * case without such a customization fails.
 */
export function runSuite(
  newInterpreter: NewInterpreter,
  customizations: SourceFile,
  tests: readonly SourceFile[],
): CaseResult[] {
  const interpreter = newInterpreter();
  const objects = loadCustomizations(interpreter, customizations);
  const names = objects.map(({ value }) => nameOf(value)).join(", ");
  return tests.flatMap(({ path, text }) =>
    readYamlObjects(path, text).map((document) => {
      const testCase = parseTestCase(document);
      const failure = failureOf(interpreter, testCase);
      const title = `${names}/${testCase.operation}: ${testCase.name}`;
      return { title, file: testCase.file, line: testCase.line, ...(failure.length > 0 && { failure }) };
    }),
  );
}

function failureOf(interpreter: Interpreter, { operation, given, output }: TestCase): string[] {
  const evaluation = evaluate(interpreter, operation, given);
  if (!evaluation.ok) return [evaluation.reason];
  return Object.entries(output).flatMap(([name, expected]) => {
    const found = evaluation.results[name];
    if (found === undefined) {
      return [`output.${name}: ${operation} has no such result; it has ${Object.keys(evaluation.results).join(", ")}`];
    }
    try {
      const diff = differences(name, expected ?? null, found);
      return diff.length === 0 ? [] : [`${name}: - expected, + found`, ...diff];
    } catch (error) {
      if (error instanceof BadAnswer) return [`output.${error.message}`];
      throw error;
    }
  });
}
