import { LuaLimitError } from "./errors.ts";
import { MAX_COMPILE_STEPS, MAX_SCRIPT_CHARACTERS } from "./limits.ts";

/** Counts down the cost of compiling one script. A script that is too large is refused before the work is done. */
export class CompileBudget {
  #steps = MAX_COMPILE_STEPS;
  readonly #script: string;

  constructor(script: string) {
    this.#script = script;
  }

  checkLength(source: string): void {
    if (source.length > MAX_SCRIPT_CHARACTERS) {
      throw this.#exceeded(1, `is longer than ${MAX_SCRIPT_CHARACTERS} characters`);
    }
  }

  get spent(): number {
    return Math.ceil(MAX_COMPILE_STEPS - this.#steps);
  }

  /** One step for each token, and for each block that is searched for a name or a label. */
  spend(steps: number, line: number): void {
    this.#steps -= steps;
    if (this.#steps < 0)
      throw this.#exceeded(line, `is too large: compiling takes more than ${MAX_COMPILE_STEPS} steps`);
  }

  #exceeded(line: number, detail: string): LuaLimitError {
    return new LuaLimitError(this.#script, line, "size", `the script ${detail}; make it shorter`);
  }
}
