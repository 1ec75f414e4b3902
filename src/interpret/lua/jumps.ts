import type { Block } from "./ast.ts";
import { LuaSyntaxError } from "./errors.ts";

/** A goto may reach labels of the blocks around it, and break needs a loop, both inside one function. */
export function checkJumps(block: Block, script: string, labels: readonly string[] = [], inLoop = false): void {
  const visible = [...labels];
  for (const statement of block) {
    if (statement.kind !== "label") continue;
    if (visible.includes(statement.label)) {
      throw new LuaSyntaxError(script, statement.line, `label '${statement.label}' already defined`);
    }
    visible.push(statement.label);
  }
  for (const statement of block) {
    const { line } = statement;
    switch (statement.kind) {
      case "goto":
        if (!visible.includes(statement.label)) {
          throw new LuaSyntaxError(script, line, `no visible label '${statement.label}' for goto`);
        }
        break;
      case "break":
        if (!inLoop) throw new LuaSyntaxError(script, line, "no loop to break");
        break;
      case "do":
        checkJumps(statement.body, script, visible, inLoop);
        break;
      case "if":
        for (const clause of statement.clauses) checkJumps(clause.body, script, visible, inLoop);
        if (statement.otherwise !== undefined) checkJumps(statement.otherwise, script, visible, inLoop);
        break;
      case "while":
      case "repeat":
      case "numericFor":
      case "genericFor":
        checkJumps(statement.body, script, visible, true);
        break;
    }
  }
}
