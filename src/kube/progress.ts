import { compareVersions, newerVersion } from "./resource-version.ts";

interface Waiter {
  readonly version: string;
  /** Lists that had started when the wait started; only a later list proves anything about a version without order. */
  readonly listsBegun: number;
  readonly done: () => void;
}

/** How far a list-and-watch has progressed, and the callers that wait for a version. */
export class Progress {
  #version: string | undefined;
  #listsBegun = 0;
  #waiters: Waiter[] = [];

  /** Every change up to this resourceVersion has been seen. Undefined before the first list. */
  get version(): string | undefined {
    return this.#version;
  }

  listBegins(): void {
    this.#listsBegun++;
  }

  /** With `reset`, the server's history was reset, and earlier versions mean nothing any more. */
  listEnds(version: string, reset: boolean): void {
    this.#version = reset ? version : newerVersion(this.#version, version);
    this.#waiters = this.#waiters.filter((waiter) => {
      const isUnordered = compareVersions(waiter.version, version) === undefined;
      const done = reset || (isUnordered && waiter.listsBegun < this.#listsBegun);
      if (done) waiter.done();
      return !done;
    });
    this.#wake(version);
  }

  /** An event or a bookmark of this version was seen. */
  saw(version: string): void {
    this.#version = newerVersion(this.#version, version);
    this.#wake(version);
  }

  /** Whether everything up to this version is certainly in the cache. */
  hasSeen(version: string): boolean {
    if (this.#version === undefined) return false;
    const order = compareVersions(this.#version, version);
    return order !== undefined && order >= 0;
  }

  /** Resolves once the version was seen; for versions without order, when it appears or a whole new list was read. */
  waitFor(version: string, signal?: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.hasSeen(version)) return resolve();
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.#waiters = this.#waiters.filter((other) => other !== waiter);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        version,
        listsBegun: this.#listsBegun,
        done: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      this.#waiters.push(waiter);
      signal?.addEventListener("abort", onAbort, { once: true });
    });
  }

  #wake(seen: string): void {
    if (this.#waiters.length === 0) return;
    this.#waiters = this.#waiters.filter((waiter) => {
      const done = waiter.version === seen || this.hasSeen(waiter.version);
      if (done) waiter.done();
      return !done;
    });
  }
}
