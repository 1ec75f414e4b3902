/** Work that several callers want at the same time is done once. */
export class Shared<T> {
  readonly #running = new Map<string, Promise<T>>();

  /** If the caller that started the work gives up or fails, another one that waits starts it again. */
  async do(key: string, signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    for (let running = this.#running.get(key); running; running = this.#running.get(key)) {
      const result = await running.then(
        (value) => ({ value }),
        () => undefined,
      );
      signal.throwIfAborted();
      if (result) return result.value;
    }
    const own = work();
    this.#running.set(key, own);
    try {
      return await own;
    } finally {
      this.#running.delete(key);
    }
  }
}
