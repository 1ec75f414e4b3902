import type { Clock } from "../../runtime/index.ts";

/** From the leader's silence to the next election. */
const ELECTION_MS = 300;

/**
 * The database itself, simulated: its instances talk to each other past every cluster's API server, vote, and have one
 * leader while a majority of the members is up. It is what an operator asks before it reports.
 */
export class XlineApplication {
  readonly #clock: Clock;
  readonly #members = new Set<string>();
  readonly #up = new Set<string>();
  readonly #listeners: (() => void)[] = [];
  #leader: string | undefined;
  #electing = false;
  /** Every leader so far, in order. */
  readonly leaders: string[] = [];
  /** How often fewer than a majority of the members were up once there had been a leader. */
  quorumLosses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get members(): readonly string[] {
    return [...this.#members];
  }

  /** Undefined: nobody leads at this moment. */
  get leader(): string | undefined {
    return this.#leader;
  }

  onChange(listener: () => void): void {
    this.#listeners.push(listener);
  }

  join(instance: string): void {
    if (this.#members.has(instance)) return;
    this.#members.add(instance);
    this.#changed();
  }

  leave(instance: string): void {
    if (!this.#members.delete(instance)) return;
    this.#changed();
  }

  /** A member's process came up or went down. */
  running(instance: string, isUp: boolean): void {
    if (this.#up.has(instance) === isUp) return;
    if (isUp) this.#up.add(instance);
    else this.#up.delete(instance);
    this.#look();
  }

  /** Whether `to` leads now. Only a member that is up can be handed the leadership. */
  transfer(to: string): boolean {
    if (this.#leader !== undefined && this.#voting().includes(to)) this.#lead(to);
    return this.#leader === to;
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
    this.#clock.sleep(ELECTION_MS).then(elected, elected);
  }

  #lead(instance: string | undefined): void {
    if (this.#leader === instance) return;
    this.#leader = instance;
    if (instance !== undefined) this.leaders.push(instance);
    for (const listener of this.#listeners) listener();
  }
}
