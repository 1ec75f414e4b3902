import type { FunctionNode, Name, UpvalueSource, Variable } from "./ast.ts";
import type { CompileBudget } from "./budget.ts";

/** The cost of searching one block for a name, and of passing a variable to one inner function; a token is one step. */
const LOOK_STEPS = 0.1;
const CAPTURE_STEPS = 1;

/** Resolves names while a function is being parsed, and records what inner functions capture. */
export class FunctionScope {
  readonly upvalues: UpvalueSource[] = [];
  usesVarargs = false;
  hasCaptured = false;
  slots = 0;
  readonly outer: FunctionScope | undefined;
  readonly isVararg: boolean;
  readonly #blocks: Map<string, Variable>[] = [new Map()];
  readonly #upvalueIndex = new Map<Variable, number>();
  readonly #budget: CompileBudget;

  constructor(outer: FunctionScope | undefined, isVararg: boolean, budget: CompileBudget) {
    this.outer = outer;
    this.isVararg = isVararg;
    this.#budget = budget;
  }

  openBlock(): void {
    this.#blocks.push(new Map());
  }

  closeBlock(): void {
    this.#blocks.pop();
  }

  declare(name: string): Variable {
    const variable: Variable = { name, slot: this.slots++, captured: false };
    this.#blocks.at(-1)?.set(name, variable);
    return variable;
  }

  resolve(name: string, line: number): Name {
    const variable = this.#local(name, line);
    if (variable !== undefined) return { kind: "variable", variable, line };
    for (let scope = this.outer; scope !== undefined; scope = scope.outer) {
      const outside = scope.#local(name, line);
      if (outside !== undefined) return { kind: "upvalue", index: this.#capture(outside, scope, line), name, line };
    }
    return { kind: "global", name, line };
  }

  #local(name: string, line: number): Variable | undefined {
    this.#budget.spend(this.#blocks.length * LOOK_STEPS, line);
    for (let i = this.#blocks.length - 1; i >= 0; i--) {
      const variable = this.#blocks[i]?.get(name);
      if (variable !== undefined) return variable;
    }
    return undefined;
  }

  /** Every function between this one and the owner passes the variable on. */
  #capture(variable: Variable, owner: FunctionScope, line: number): number {
    const known = this.#upvalueIndex.get(variable);
    if (known !== undefined) return known;
    this.#budget.spend(CAPTURE_STEPS, line);
    variable.captured = true;
    owner.hasCaptured = true;
    const outer = this.outer;
    const source: UpvalueSource =
      outer === undefined || outer === owner
        ? { from: "box", slot: variable.slot }
        : { from: "upvalue", index: outer.#capture(variable, owner, line) };
    this.upvalues.push(source);
    this.#upvalueIndex.set(variable, this.upvalues.length - 1);
    return this.upvalues.length - 1;
  }

  finish(node: FunctionNode): FunctionNode {
    node.slots = this.slots;
    node.hasBoxes = this.hasCaptured;
    if (this.usesVarargs) node.argTable = undefined;
    return node;
  }
}
