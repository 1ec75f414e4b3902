import type { Block } from "./ast.ts";
import type { CompileBudget } from "./budget.ts";
import { LuaSyntaxError } from "./errors.ts";

/** The labels of a block; those of the blocks around it are visible too. */
interface Labels {
  readonly own: ReadonlySet<string>;
  readonly outer: Labels | undefined;
}

/** A goto may reach labels of the enclosing blocks, and break needs a loop, both inside one function. */
export function checkJumps(block: Block, script: string, budget: CompileBudget): void {
  new JumpCheck(script, budget).block(block, undefined, false);
}

class JumpCheck {
  readonly #script: string;
  readonly #budget: CompileBudget;

  constructor(script: string, budget: CompileBudget) {
    this.#script = script;
    this.#budget = budget;
  }

  block(block: Block, outer: Labels | undefined, inLoop: boolean): void {
    const labels = this.#labelsOf(block, outer);
    for (const statement of block) {
      const { line } = statement;
      switch (statement.kind) {
        case "goto":
          if (!this.#isVisible(statement.label, labels, line)) {
            throw new LuaSyntaxError(this.#script, line, `no visible label '${statement.label}' for goto`);
          }
          break;
        case "break":
          if (!inLoop) throw new LuaSyntaxError(this.#script, line, "no loop to break");
          break;
        case "do":
          this.block(statement.body, labels, inLoop);
          break;
        case "if":
          for (const clause of statement.clauses) this.block(clause.body, labels, inLoop);
          if (statement.otherwise !== undefined) this.block(statement.otherwise, labels, inLoop);
          break;
        case "while":
        case "repeat":
        case "numericFor":
        case "genericFor":
          this.block(statement.body, labels, true);
          break;
      }
    }
  }

  #labelsOf(block: Block, outer: Labels | undefined): Labels | undefined {
    const own = new Set<string>();
    for (const statement of block) {
      if (statement.kind !== "label") continue;
      if (own.has(statement.label) || this.#isVisible(statement.label, outer, statement.line)) {
        throw new LuaSyntaxError(this.#script, statement.line, `label '${statement.label}' already defined`);
      }
      own.add(statement.label);
    }
    return own.size === 0 ? outer : { own, outer };
  }

  #isVisible(label: string, labels: Labels | undefined, line: number): boolean {
    for (let each = labels; each !== undefined; each = each.outer) {
      this.#budget.spend(LOOK_STEPS, line);
      if (each.own.has(label)) return true;
    }
    return false;
  }
}

/** The cost of searching one block for a label; a token is one step. */
const LOOK_STEPS = 0.1;
