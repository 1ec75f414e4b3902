import type { Inputs, Interpreter, Operation, Outcome } from "../../interpret/index.ts";

/** An interpreter whose pending answers can be waited for: the controller is woken by them, a command has to wait. */
export class Answers implements Pick<Interpreter, "interpret" | "sourcesOf"> {
  readonly #interpreter: Interpreter;
  readonly #pending: Promise<unknown>[] = [];

  constructor(interpreter: Interpreter) {
    this.#interpreter = interpreter;
  }

  interpret<O extends Operation>(operation: O, input: Inputs[O]): Outcome<O> {
    const outcome = this.#interpreter.interpret(operation, input);
    if (outcome.state === "pending") this.#pending.push(this.#interpreter.interpretNow(operation, input));
    return outcome;
  }

  sourcesOf<O extends Operation>(operation: O, input: Inputs[O]): string {
    return this.#interpreter.sourcesOf(operation, input);
  }

  /** Waits for what was pending; false: nothing was. */
  async settle(): Promise<boolean> {
    const pending = this.#pending.splice(0);
    await Promise.all(pending);
    return pending.length > 0;
  }
}
