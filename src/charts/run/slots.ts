/**
 * Lets at most so many pieces of work run at a time. The others wait: in order within one group, and the groups take
 * turns. So what one tenant asks for a hundred times holds another tenant up once.
 */
export class Slots {
  #free: number;
  /** By group; the first group is the next one. */
  readonly #waiting = new Map<string, (() => void)[]>();

  constructor(count: number) {
    this.#free = count;
  }

  async within<T>(group: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    await this.#take(group, signal);
    try {
      return await work();
    } finally {
      const next = this.#next();
      if (next) next();
      else this.#free++;
    }
  }

  #next(): (() => void) | undefined {
    const [first] = this.#waiting;
    if (!first) return undefined;
    const [group, line] = first;
    const go = line.shift();
    this.#waiting.delete(group);
    if (line.length > 0) this.#waiting.set(group, line);
    return go;
  }

  #take(group: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#free > 0) {
      this.#free--;
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const go = () => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      };
      const onAbort = () => {
        const rest = (this.#waiting.get(group) ?? []).filter((each) => each !== go);
        if (rest.length > 0) this.#waiting.set(group, rest);
        else this.#waiting.delete(group);
        reject(signal.reason);
      };
      this.#waiting.set(group, [...(this.#waiting.get(group) ?? []), go]);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
}
