import type { Engine, MemberObject, ObjectRef } from "../../../engine/index.ts";
import type { Clock } from "../../../runtime/index.ts";

export interface SecondLooksOptions {
  readonly engine: Pick<Engine, "member">;
  readonly clock: Clock;
  /** A look has ended: the object has to be worked on again. */
  readonly changed: (key: string) => void;
}

interface Look {
  readonly sinceMs: number;
  isReading: boolean;
  readAtMs: number | undefined;
  found: MemberObject | undefined;
}

/** An engine delivers within a second or two: before that, what is missing is nothing to look into. */
const FIRST_AFTER_MS = 3_000;
const AGAIN_AFTER_MS = 5_000;
const CONCURRENT_READS = 8;
const BUSY_RETRY_MS = 200;

/**
 * The watch of a member shows only objects with Lockstep's label. What it does not show is read by its name: another
 * writer's object may have that name, or a user may have removed the label. The looks run beside the reconcile: a member
 * that is slow to answer holds up no CrossClusterJob.
 */
export class SecondLooks {
  readonly #options: SecondLooksOptions;
  readonly #looks = new Map<string, Map<string, Look>>();
  #reading = 0;

  constructor(options: SecondLooksOptions) {
    this.#options = options;
  }

  /** What the cluster last answered; undefined: it has not been asked, or has not answered. `isUrgent`: ask at once. */
  look(key: string, cluster: string, ref: ObjectRef, isUrgent: boolean): MemberObject | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    const looks = this.#looks.get(key) ?? new Map<string, Look>();
    this.#looks.set(key, looks);
    const id = `${cluster} ${ref.name}`;
    const look = looks.get(id) ?? { sinceMs: nowMs, isReading: false, readAtMs: undefined, found: undefined };
    looks.set(id, look);
    const dueMs = look.readAtMs === undefined ? look.sinceMs + (isUrgent ? 0 : FIRST_AFTER_MS) : nextMs(look);
    if (nowMs >= dueMs && !look.isReading && this.#reading < CONCURRENT_READS) void this.#read(key, cluster, ref, look);
    return look.found;
  }

  /** The watch shows it, or it does not matter any more. */
  ends(key: string, cluster: string, { name }: ObjectRef): void {
    this.#looks.get(key)?.delete(`${cluster} ${name}`);
  }

  forget(key: string): void {
    this.#looks.delete(key);
  }

  /** When the next look is due, from now; undefined: there is none. */
  dueInMs(key: string): number | undefined {
    const nowMs = this.#options.clock.monotonicMs();
    const waiting = [...(this.#looks.get(key)?.values() ?? [])].filter(({ isReading }) => !isReading);
    const due = waiting.map((look) => (look.readAtMs === undefined ? look.sinceMs + FIRST_AFTER_MS : nextMs(look)));
    return due.length === 0 ? undefined : Math.max(BUSY_RETRY_MS, Math.min(...due) - nowMs);
  }

  async #read(key: string, cluster: string, ref: ObjectRef, look: Look): Promise<void> {
    const { engine, clock, changed } = this.#options;
    look.isReading = true;
    this.#reading++;
    try {
      look.found = await engine.member(cluster).read(ref);
    } catch (error) {
      look.found = { kind: "unknown", message: error instanceof Error ? error.message : String(error) };
    } finally {
      this.#reading--;
      look.isReading = false;
      look.readAtMs = clock.monotonicMs();
    }
    // What was asked for a life or an attempt that is gone wakes nothing.
    if (this.#looks.get(key)?.get(`${cluster} ${ref.name}`) === look) changed(key);
  }
}

function nextMs({ readAtMs = 0 }: Look): number {
  return readAtMs + AGAIN_AFTER_MS;
}
