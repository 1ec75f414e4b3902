import { type Clock, type Random, retryDelayMs } from "../../../runtime/index.ts";

/** Something on the hub that is read whenever it may have changed. */
export interface HubRead {
  readonly namespace: string;
  /** False: what came is older than what the watch has told of, and has to be read again. */
  read(signal: AbortSignal): Promise<boolean>;
  failed(message: string): void;
}

interface HubReadsOptions {
  readonly clock: Clock;
  readonly random: Random;
}

/** For one kind: a thousand objects in a few seconds, and of the sixteen connections for requests most stay free. */
const READS_AT_A_TIME = 4;
const RETRY_BASE_MS = 500;
const RETRY_MAX_MS = 30_000;

interface Progress {
  state: "waiting" | "running" | "resting";
  /** It may have changed while it was being read. */
  isAskedAgain: boolean;
  attempt: number;
}

/**
 * Reads of one kind, a few at a time and namespace by namespace: a tenant with much to read does not make others wait.
 */
export class HubReads {
  readonly #options: HubReadsOptions;
  readonly #signal: AbortSignal;
  /** Those that wait, by namespace. The first namespace is the next one, and goes to the end with what is left. */
  readonly #lines = new Map<string, Set<HubRead>>();
  readonly #progress = new Map<HubRead, Progress>();
  readonly #running = new Set<Promise<void>>();

  constructor(options: HubReadsOptions, signal: AbortSignal) {
    this.#options = options;
    this.#signal = signal;
  }

  /** How many are to be read, those under way and those that failed and will be tried again included. */
  get size(): number {
    return this.#progress.size;
  }

  add(read: HubRead): void {
    const known = this.#progress.get(read);
    if (known?.state === "running") known.isAskedAgain = true;
    if (known && known.state !== "resting") return;
    this.#progress.set(read, { state: "waiting", isAskedAgain: false, attempt: 0 });
    this.#line(read);
  }

  /** It is not of interest any more; one that is under way comes to nothing. */
  drop(read: HubRead): void {
    this.#progress.delete(read);
    const line = this.#lines.get(read.namespace);
    line?.delete(read);
    if (line?.size === 0) this.#lines.delete(read.namespace);
  }

  async stopped(): Promise<void> {
    await Promise.all(this.#running);
  }

  #line(read: HubRead): void {
    const line = this.#lines.get(read.namespace);
    if (line) line.add(read);
    else this.#lines.set(read.namespace, new Set([read]));
    this.#start();
  }

  #start(): void {
    while (this.#running.size < READS_AT_A_TIME && !this.#signal.aborted) {
      const [first] = this.#lines;
      if (!first) return;
      const [namespace, line] = first;
      const [read] = line;
      this.#lines.delete(namespace);
      if (!read) continue;
      line.delete(read);
      if (line.size > 0) this.#lines.set(namespace, line);
      const running = this.#run(read).finally(() => {
        this.#running.delete(running);
        this.#start();
      });
      this.#running.add(running);
    }
  }

  async #run(read: HubRead): Promise<void> {
    const progress = this.#progress.get(read);
    if (!progress) return;
    progress.state = "running";
    progress.isAskedAgain = false;
    let isDone = false;
    try {
      isDone = await read.read(this.#signal);
    } catch (error) {
      if (this.#signal.aborted || this.#progress.get(read) !== progress) return;
      read.failed(error instanceof Error ? error.message : String(error));
    }
    if (this.#progress.get(read) !== progress) return;
    if (isDone) this.#progress.delete(read);
    else if (progress.isAskedAgain) {
      progress.state = "waiting";
      this.#line(read);
    } else this.#rest(read, progress);
  }

  #rest(read: HubRead, progress: Progress): void {
    const { clock, random } = this.#options;
    progress.state = "resting";
    const pauseMs = retryDelayMs(progress.attempt++, RETRY_BASE_MS, RETRY_MAX_MS, random);
    const again = () => {
      if (this.#progress.get(read) !== progress || progress.state !== "resting") return;
      progress.state = "waiting";
      this.#line(read);
    };
    void clock.sleep(pauseMs, this.#signal).then(again, () => {});
  }
}
