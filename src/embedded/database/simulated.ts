import type { Clock } from "../../runtime/index.ts";
import type { Application } from "./application.ts";

/** From the leader's silence to the next election. */
const ELECTION_MS = 300;

/** A simulated database: its members vote, and have one leader while a majority of them is up. */
export class SimulatedApplication implements Application {
  readonly #clock: Clock;
  readonly #members = new Set<string>();
  readonly #up = new Set<string>();
  readonly #listeners: (() => void)[] = [];
  #leader: string | undefined;
  #electing = false;
  readonly #stopped = new AbortController();
  /** Every leader so far, in order. */
  readonly leaders: string[] = [];
  /** How often fewer than a majority of the members were up after there had been a leader. */
  quorumLosses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get members(): readonly string[] {
    return [...this.#members];
  }

  get membership() {
    return this.#leader === undefined ? undefined : { members: this.members, atMs: this.#clock.now() };
  }

  /** Undefined: there is no leader now. */
  get leader(): string | undefined {
    return this.#leader;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  async join(instance: string): Promise<void> {
    if (this.#members.has(instance)) return;
    this.#members.add(instance);
    this.#changed();
  }

  async leave(instance: string): Promise<void> {
    if (!this.#members.delete(instance)) return;
    this.#changed();
  }

  running(instance: string, isUp: boolean): void {
    if (this.#up.has(instance) === isUp) return;
    if (isUp) this.#up.add(instance);
    else this.#up.delete(instance);
    this.#look();
  }

  async admit(instance: string): Promise<boolean> {
    return this.#members.has(instance);
  }

  async transfer(to: string): Promise<void> {
    if (this.#leader !== undefined && this.#voting().includes(to)) this.#lead(to);
  }

  async stop(): Promise<void> {
    this.#stopped.abort(new Error("the database is stopped"));
  }

  #changed(): void {
    this.#look();
    for (const listener of this.#listeners) listener();
  }

  #voting(): string[] {
    return [...this.#members].filter((instance) => this.#up.has(instance));
  }

  #hasQuorum(): boolean {
    return this.#voting().length > this.#members.size / 2;
  }

  #look(): void {
    const hadLeader = this.#leader !== undefined;
    const leaderIsUp = this.#leader !== undefined && this.#voting().includes(this.#leader);
    if (!this.#hasQuorum()) {
      if (hadLeader) this.quorumLosses++;
      this.#lead(undefined);
    } else if (!leaderIsUp) {
      this.#lead(undefined);
      this.#elect();
    }
  }

  #elect(): void {
    if (this.#electing) return;
    this.#electing = true;
    const elected = () => {
      this.#electing = false;
      const [first] = this.#voting();
      if (this.#leader === undefined && this.#hasQuorum()) this.#lead(first);
    };
    this.#clock.sleep(ELECTION_MS, this.#stopped.signal).then(elected, () => {});
  }

  #lead(instance: string | undefined): void {
    if (this.#leader === instance) return;
    this.#leader = instance;
    if (instance !== undefined) this.leaders.push(instance);
    for (const listener of this.#listeners) listener();
  }
}
