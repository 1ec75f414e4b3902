import { type CelInput, CelScalar, celEnv, celFunc, isCelError, parse, plan } from "@bufbuild/cel";
import { RE2JS } from "@bufbuild/re2";
import { checkReferences, type Expression } from "./cel-check.ts";
import { KUBERNETES_FUNCTIONS } from "./cel-functions.ts";
import type { SchemaNode } from "./node.ts";
import { messageOf } from "./parse.ts";

/**
 * The port to the CEL library: the rest of Lockstep does not know which library it is. A program is compiled once and
 * run often; running it never throws.
 */
export interface CelProgram {
  readonly usesOldSelf: boolean;
  run(self: CelInput, oldSelf: CelInput | undefined, budget: CelBudget): CelOutcome;
}

export type CelOutcome = { ok: true; value: unknown } | { ok: false; reason: string };

/** Thrown when an expression cannot be compiled. */
export class CelCompileError extends Error {
  override readonly name = "CelCompileError";
}

// Kubernetes allows a rule a million cost units, about 0.1 s; one iteration of a loop costs about ten.
const LOOP_TURNS_PER_VALIDATION = 100_000;

/** The limit for all rules of one validation together: a nested loop in a rule must not block the process. */
export class CelBudget {
  #left = LOOP_TURNS_PER_VALIDATION;

  get isSpent(): boolean {
    return this.#left < 0;
  }

  spend(): void {
    this.#left -= 1;
    if (this.isSpent) throw new Error("cost limit exceeded");
  }
}

/** Every loop condition calls this function, which counts the iterations. A rule cannot write its name. */
const TURN = "@turn";

// Patterns in rules are nearly always literals; the limit is for a rule that computes them.
const REMEMBERED_PATTERNS = 100;

/** Compiles the expressions of one schema; they share the functions, and the budget of the current validation. */
export class CelCompiler {
  #budget = new CelBudget();
  readonly #patterns = new Map<string, RE2JS>();
  readonly #env = celEnv({
    re2: { compile: (pattern) => this.#pattern(pattern) },
    funcs: [
      ...KUBERNETES_FUNCTIONS,
      celFunc(TURN, [CelScalar.DYN], CelScalar.DYN, (condition) => {
        this.#budget.spend();
        return condition;
      }),
    ],
  });

  /** Throws CelCompileError. */
  compile(source: string, node: SchemaNode, isObjectRoot: boolean): CelProgram {
    const parsed = attempt(() => parse(source));
    if (parsed.expr === undefined) throw new CelCompileError("the expression is empty");
    const isFunction = (name: string) => this.#env.funcs.find(name) !== undefined;
    const { problem, usesOldSelf } = checkReferences(parsed.expr, node, isObjectRoot, isFunction);
    if (problem) throw new CelCompileError(problem);
    countTurns(parsed.expr);
    const evaluate = attempt(() => plan(this.#env, parsed));
    return {
      usesOldSelf,
      run: (self, oldSelf, budget) => {
        this.#budget = budget;
        try {
          const result = evaluate(oldSelf === undefined ? { self } : { self, oldSelf });
          if (budget.isSpent) return { ok: false, reason: "cost limit exceeded" };
          return isCelError(result) ? { ok: false, reason: asKubernetes(result.message) } : { ok: true, value: result };
        } catch (error) {
          return { ok: false, reason: asKubernetes(messageOf(error)) };
        }
      },
    };
  }

  #pattern(source: string): RE2JS {
    const known = this.#patterns.get(source);
    if (known) return known;
    if (this.#patterns.size >= REMEMBERED_PATTERNS) this.#patterns.clear();
    const compiled = RE2JS.compile(source);
    this.#patterns.set(source, compiled);
    return compiled;
  }
}

function attempt<T>(step: () => T): T {
  try {
    return step();
  } catch (error) {
    throw new CelCompileError(messageOf(error));
  }
}

function asKubernetes(message: string): string {
  const missing = /^field not found: (.*)$/.exec(message);
  if (missing) return `no such key: ${missing[1]}`;
  const index = /^index (-?\d+) out of bounds/.exec(message);
  if (index) return `index out of bounds: ${index[1]}`;
  return message.startsWith("found no matching overload") ? `no such overload: ${message}` : message;
}

function countTurns(expression: Expression): void {
  const kind = expression.exprKind;
  if (kind.case === "comprehensionExpr" && kind.value.loopCondition) {
    const condition = kind.value.loopCondition;
    kind.value.loopCondition = {
      $typeName: "cel.expr.Expr",
      id: condition.id,
      exprKind: {
        case: "callExpr",
        value: { $typeName: "cel.expr.Expr.Call", function: TURN, args: [condition] },
      },
    };
    for (const part of [kind.value.iterRange, kind.value.accuInit, kind.value.loopStep, kind.value.result, condition]) {
      if (part) countTurns(part);
    }
  }
  if (kind.case === "callExpr") {
    if (kind.value.target) countTurns(kind.value.target);
    kind.value.args.forEach(countTurns);
  }
  if (kind.case === "selectExpr" && kind.value.operand) countTurns(kind.value.operand);
  if (kind.case === "listExpr") kind.value.elements.forEach(countTurns);
  if (kind.case === "structExpr") for (const entry of kind.value.entries) if (entry.value) countTurns(entry.value);
}
