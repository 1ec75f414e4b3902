/** Text pushed by one side and read as it comes by the other: the body of an open watch. */
export class Channel implements AsyncIterable<string> {
  readonly #waiting: string[] = [];
  #ended = false;
  #failure: unknown;
  #wake: (() => void) | undefined;

  push(text: string): void {
    if (this.#ended) return;
    this.#waiting.push(text);
    this.#wake?.();
  }

  /** Text that was pushed before is still read; then reading ends, or throws the failure. */
  end(failure?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#failure = failure;
    this.#wake?.();
  }

  get ended(): boolean {
    return this.#ended;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<string, void, undefined> {
    try {
      for (;;) {
        const next = this.#waiting.shift();
        if (next !== undefined) yield next;
        else if (this.#failure !== undefined) throw this.#failure;
        else if (this.#ended) return;
        else {
          await new Promise<void>((resolve) => {
            this.#wake = resolve;
          });
        }
      }
    } finally {
      this.#ended = true;
    }
  }
}
