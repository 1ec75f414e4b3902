import type { Instance, TrueMember } from "../world/truth.ts";

export interface InstanceId {
  readonly cluster: string;
  readonly ordinal: number;
}

/** The application that all instances form: its leader, and its members. */
export class Application {
  readonly #clusters: ReadonlyMap<string, TrueMember>;
  readonly #members = new Map<string, InstanceId>();
  readonly #evicted = new Set<string>();
  #leader: InstanceId | undefined;

  constructor(clusters: ReadonlyMap<string, TrueMember>) {
    this.#clusters = clusters;
  }

  /** The current leader, for as long as it is up; then the first instance that is up. */
  get leader(): InstanceId | undefined {
    if (this.#leader && this.#isUp(this.#leader)) return this.#leader;
    this.#leader = undefined;
    for (const { name, instances } of this.#clusters.values()) {
      for (const { ordinal, up } of instances.values()) {
        if (up && !this.#leader) this.#leader = { cluster: name, ordinal };
      }
    }
    return this.#leader;
  }

  /** Asked to lead; returns whether it does now. */
  transferTo(instance: InstanceId): boolean {
    if (!this.#isUp(instance)) return false;
    this.#leader = instance;
    return true;
  }

  /** In the order in which they joined. */
  get members(): readonly InstanceId[] {
    return [...this.#members.values()];
  }

  starts(cluster: string, { ordinal, joined }: Instance): void {
    if (!joined) this.#evicted.delete(keyOf({ cluster, ordinal }));
  }

  up(cluster: string, { ordinal }: Instance): void {
    const instance = { cluster, ordinal };
    if (!this.#evicted.has(keyOf(instance))) this.#members.set(keyOf(instance), instance);
  }

  /**
   * An operator removes the instances that its cluster should no longer have, once they are gone. Returns whether there
   * were any.
   */
  dismiss(cluster: string, isToLeave: (ordinal: number) => boolean): boolean {
    const out = [...this.#members].filter(
      ([, instance]) => instance.cluster === cluster && isToLeave(instance.ordinal),
    );
    for (const [key] of out) this.#members.delete(key);
    return out.length > 0;
  }

  /** The others vote a cluster's instances out. Returns whether there were any. */
  evict(cluster: string): boolean {
    const out = [...this.#members].filter(([, instance]) => instance.cluster === cluster);
    for (const [key] of out) {
      this.#members.delete(key);
      this.#evicted.add(key);
    }
    return out.length > 0;
  }

  #isUp({ cluster, ordinal }: InstanceId): boolean {
    return this.#clusters.get(cluster)?.instances.get(ordinal)?.up === true;
  }
}

function keyOf({ cluster, ordinal }: InstanceId): string {
  return `${cluster}/${ordinal}`;
}
