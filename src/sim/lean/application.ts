import type { Instance, TrueMember } from "../truth.ts";

export interface Place {
  readonly cluster: string;
  readonly ordinal: number;
}

/** The application that all instances form: who leads, and whom it counts as its members. */
export class Application {
  readonly #clusters: ReadonlyMap<string, TrueMember>;
  readonly #members = new Map<string, Place>();
  readonly #evicted = new Set<string>();
  #leader: Place | undefined;

  constructor(clusters: ReadonlyMap<string, TrueMember>) {
    this.#clusters = clusters;
  }

  /** Whoever led, for as long as it is up; then the first that is. */
  get leader(): Place | undefined {
    if (this.#leader && this.#isUp(this.#leader)) return this.#leader;
    this.#leader = undefined;
    for (const { name, instances } of this.#clusters.values()) {
      for (const { ordinal, up } of instances.values()) {
        if (up && !this.#leader) this.#leader = { cluster: name, ordinal };
      }
    }
    return this.#leader;
  }

  /** Asked to lead; whether it does now. */
  transferTo(place: Place): boolean {
    if (!this.#isUp(place)) return false;
    this.#leader = place;
    return true;
  }

  /** In the order in which they joined. */
  get members(): readonly Place[] {
    return [...this.#members.values()];
  }

  starts(cluster: string, { ordinal, joined }: Instance): void {
    if (!joined) this.#evicted.delete(keyOf({ cluster, ordinal }));
  }

  up(cluster: string, { ordinal }: Instance): void {
    const place = { cluster, ordinal };
    if (!this.#evicted.has(keyOf(place))) this.#members.set(keyOf(place), place);
  }

  /** An operator takes out whom its cluster is not to have any more, once they are gone. Whether there were any. */
  dismiss(cluster: string, isToLeave: (ordinal: number) => boolean): boolean {
    const out = [...this.#members].filter(([, place]) => place.cluster === cluster && isToLeave(place.ordinal));
    for (const [key] of out) this.#members.delete(key);
    return out.length > 0;
  }

  /** The others vote a cluster's instances out. Whether there were any. */
  evict(cluster: string): boolean {
    const out = [...this.#members].filter(([, place]) => place.cluster === cluster);
    for (const [key] of out) {
      this.#members.delete(key);
      this.#evicted.add(key);
    }
    return out.length > 0;
  }

  #isUp({ cluster, ordinal }: Place): boolean {
    return this.#clusters.get(cluster)?.instances.get(ordinal)?.up === true;
  }
}

function keyOf({ cluster, ordinal }: Place): string {
  return `${cluster}/${ordinal}`;
}
