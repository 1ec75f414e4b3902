import type { CelInput } from "@bufbuild/cel";
import { isJsonObject, type Json, ownField, sameJson } from "../../runtime/index.ts";
import { CelBudget, CelCompileError, CelCompiler, type CelProgram } from "./cel.ts";
import { toCelValue } from "./cel-values.ts";
import { fieldNames } from "./json.ts";
import type { RuleSource, SchemaNode } from "./node.ts";
import { type FieldError, SchemaError } from "./types.ts";
import { oldItemFinder } from "./values.ts";
import { wording } from "./wording.ts";

/** The part of a schema's tree that leads to rules; branches without rules are left out. */
export interface RuleTree {
  readonly node: SchemaNode;
  readonly isObjectRoot: boolean;
  readonly rules: readonly CompiledRule[];
  readonly properties: ReadonlyMap<string, RuleTree>;
  readonly additional: RuleTree | undefined;
  readonly items: RuleTree | undefined;
  /**
   * Values that break no rule of this branch if they do not change: an object is written far more often than its spec.
   */
  readonly settled: WeakSet<object>;
}

interface CompiledRule {
  readonly source: RuleSource;
  readonly program: CelProgram;
  readonly message: CelProgram | undefined;
  /** Appended to the path of the value: `.replicas`, `[key]`. */
  readonly subPath: string;
}

/** Throws SchemaError if a rule does not compile. */
export function compileRules(root: SchemaNode): RuleTree | undefined {
  return compileTree(root, true, new CelCompiler());
}

function compileTree(node: SchemaNode, isObjectRoot: boolean, compiler: CelCompiler): RuleTree | undefined {
  const properties = new Map<string, RuleTree>();
  node.properties.forEach((property, name) => {
    const tree = compileTree(property, false, compiler);
    if (tree) properties.set(name, tree);
  });
  const additional =
    node.additional && node.additional !== "anything" ? compileTree(node.additional, false, compiler) : undefined;
  const items = node.items ? compileTree(node.items, false, compiler) : undefined;
  const rules = node.rules.map((source) => compileRule(source, node, isObjectRoot, compiler));
  if (rules.length === 0 && properties.size === 0 && !additional && !items) return undefined;
  return { node, isObjectRoot, rules, properties, additional, items, settled: new WeakSet() };
}

function compileRule(source: RuleSource, node: SchemaNode, isObjectRoot: boolean, compiler: CelCompiler): CompiledRule {
  const compile = (keyword: string, expression: string) => {
    try {
      return compiler.compile(expression, node, isObjectRoot);
    } catch (error) {
      if (!(error instanceof CelCompileError)) throw error;
      throw new SchemaError(`${source.path}.${keyword}`, `compilation failed: ${error.message}`);
    }
  };
  return {
    source,
    program: compile("rule", source.rule),
    message: source.messageExpression ? compile("messageExpression", source.messageExpression) : undefined,
    subPath: source.fieldPath ? subPathOf(source.fieldPath, node, `${source.path}.fieldPath`) : "",
  };
}

/** Turns `.a.b['c']` into a path suffix, if the schema has such a field. */
function subPathOf(fieldPath: string, node: SchemaNode, at: string): string {
  let current: SchemaNode | undefined = node;
  let path = "";
  let rest = fieldPath;
  while (rest !== "") {
    const match: RegExpExecArray | null = /^\.([^.[\]']+)|^\['((?:[^'\\]|\\.)*)'\]/.exec(rest);
    const name: string | undefined = match?.[1] ?? match?.[2]?.replace(/\\(.)/g, "$1");
    if (!match || name === undefined) throw new SchemaError(at, `must be a path such as .a.b or .a['b']: ${fieldPath}`);
    const property: SchemaNode | undefined = current?.properties.get(name);
    path += property ? `.${name}` : `[${name}]`;
    current = property ?? (current?.additional === "anything" ? undefined : current?.additional);
    if (current === undefined) throw new SchemaError(at, `does not refer to a valid field: ${fieldPath}`);
    rest = rest.slice(match[0].length);
  }
  return path;
}

/** Runs every rule on the values it applies to; transition rules only if the old value is known. */
export function checkRules(tree: RuleTree, value: Json, old: Json | undefined): FieldError[] {
  const run = new RuleRun();
  run.visit(tree, value, "", old, false);
  return run.errors;
}

// As in Kubernetes: a longer result of a messageExpression is not used.
const LONGEST_MESSAGE_BYTES = 5 * 1024;

class RuleRun {
  readonly errors: FieldError[] = [];
  readonly #budget = new CelBudget();

  visit(tree: RuleTree, value: Json | undefined, path: string, old: Json | undefined, isUnchanged: boolean): void {
    if (value === undefined || value === null || this.#budget.isSpent) return;
    const isSame = value === old && typeof value === "object";
    if (isSame && tree.settled.has(value)) return;
    const errorsBefore = this.errors.length;
    const unchanged = isUnchanged || (old !== undefined && sameJson(value, old));
    this.#visitAll(tree, value, path, old, unchanged);
    if (isSame && this.errors.length === errorsBefore && !this.#budget.isSpent) tree.settled.add(value);
  }

  #visitAll(tree: RuleTree, value: Json, path: string, old: Json | undefined, unchanged: boolean): void {
    if (tree.rules.length > 0) this.#evaluate(tree, value, path, old ?? undefined, unchanged);
    if (Array.isArray(value)) {
      const items = tree.items;
      if (!items) return;
      const oldItem = oldItemFinder(tree.node, old);
      value.forEach((item, index) => {
        this.visit(items, item, `${path}[${index}]`, oldItem(item), unchanged);
      });
    } else if (isJsonObject(value)) {
      const oldFields = isJsonObject(old) ? old : {};
      for (const name of fieldNames(value)) {
        const property = tree.properties.get(name);
        const at = property ? (path === "" ? name : `${path}.${name}`) : `${path}[${name}]`;
        const next = property ?? (tree.node.properties.has(name) ? undefined : tree.additional);
        if (next) this.visit(next, ownField(value, name), at, ownField(oldFields, name), unchanged);
      }
    }
  }

  #evaluate(tree: RuleTree, value: Json, path: string, old: Json | undefined, isUnchanged: boolean): void {
    // A transition rule needs both values; every other rule was checked when this value was stored.
    const due = tree.rules.filter(({ program }) => (program.usesOldSelf ? old !== undefined : !isUnchanged));
    if (due.length === 0) return;
    const self = toCelValue(tree.node, value, tree.isObjectRoot);
    const oldSelf = old === undefined ? undefined : toCelValue(tree.node, old, tree.isObjectRoot);
    for (const rule of due) {
      const outcome = rule.program.run(self, oldSelf, this.#budget);
      if (this.#budget.isSpent) {
        const detail = "validation failed due to running out of cost budget, no further validation rules will be run";
        this.errors.push(wording.invalid(path, typeName(tree.node), detail));
        return;
      }
      if (!outcome.ok) {
        const text = rule.source.message ?? rule.source.rule;
        this.errors.push(wording.invalid(path, typeName(tree.node), `${outcome.reason} evaluating rule: ${text}`));
      } else if (outcome.value !== true) {
        this.errors.push(violation(rule, value, path, this.#messageOf(rule, self, oldSelf)));
      }
    }
  }

  #messageOf(rule: CompiledRule, self: CelInput, oldSelf: CelInput | undefined): string {
    const outcome = rule.message?.run(self, oldSelf, this.#budget);
    if (outcome?.ok && typeof outcome.value === "string") {
      const text = outcome.value.trim();
      if (text !== "" && !text.includes("\n") && Buffer.byteLength(text) <= LONGEST_MESSAGE_BYTES) return text;
    }
    return rule.source.message ?? `failed rule: ${rule.source.rule}`;
  }
}

function violation(rule: CompiledRule, value: Json, path: string, detail: string): FieldError {
  const at = path === "" && rule.subPath.startsWith(".") ? rule.subPath.slice(1) : `${path}${rule.subPath}`;
  const isWhole = typeof value === "object";
  switch (rule.source.reason) {
    case "FieldValueForbidden":
      return wording.forbidden(at, detail);
    case "FieldValueRequired":
      return wording.required(at, detail);
    case "FieldValueDuplicate":
      return isWhole ? wording.duplicateWhole(at) : wording.duplicate(at, value);
    default:
      return isWhole ? wording.invalidWhole(at, detail) : wording.invalid(at, value, detail);
  }
}

function typeName(node: SchemaNode): string {
  return node.type ?? "";
}
