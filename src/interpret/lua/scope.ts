import type { FunctionNode, Name, UpvalueSource, Variable } from "./ast.ts";

/** Finds, while a function is being parsed, what a name in it means, and records what inner functions capture. */
export class FunctionScope {
  readonly upvalues: UpvalueSource[] = [];
  usesVarargs = false;
  hasCaptured = false;
  slots = 0;
  readonly outer: FunctionScope | undefined;
  readonly isVararg: boolean;
  private readonly blocks: Map<string, Variable>[] = [new Map()];
  private readonly upvalueIndex = new Map<Variable, number>();

  constructor(outer: FunctionScope | undefined, isVararg: boolean) {
    this.outer = outer;
    this.isVararg = isVararg;
  }

  openBlock(): void {
    this.blocks.push(new Map());
  }

  closeBlock(): void {
    this.blocks.pop();
  }

  declare(name: string): Variable {
    const variable: Variable = { name, slot: this.slots++, captured: false };
    this.blocks.at(-1)?.set(name, variable);
    return variable;
  }

  resolve(name: string, line: number): Name {
    const variable = this.local(name);
    if (variable !== undefined) return { kind: "variable", variable, line };
    for (let scope = this.outer; scope !== undefined; scope = scope.outer) {
      const outside = scope.local(name);
      if (outside !== undefined) return { kind: "upvalue", index: this.capture(outside, scope), name, line };
    }
    return { kind: "global", name, line };
  }

  private local(name: string): Variable | undefined {
    for (let i = this.blocks.length - 1; i >= 0; i--) {
      const variable = this.blocks[i]?.get(name);
      if (variable !== undefined) return variable;
    }
    return undefined;
  }

  /** Every function between this one and the owner passes the variable on. */
  private capture(variable: Variable, owner: FunctionScope): number {
    const known = this.upvalueIndex.get(variable);
    if (known !== undefined) return known;
    variable.captured = true;
    owner.hasCaptured = true;
    const outer = this.outer;
    const source: UpvalueSource =
      outer === undefined || outer === owner
        ? { from: "box", slot: variable.slot }
        : { from: "upvalue", index: outer.capture(variable, owner) };
    this.upvalues.push(source);
    this.upvalueIndex.set(variable, this.upvalues.length - 1);
    return this.upvalues.length - 1;
  }

  finish(node: FunctionNode): FunctionNode {
    node.slots = this.slots;
    node.hasBoxes = this.hasCaptured;
    if (this.usesVarargs) node.argTable = undefined;
    return node;
  }
}
