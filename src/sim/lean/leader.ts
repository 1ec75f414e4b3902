import type { TrueMember } from "../truth.ts";

/** Who leads the application: whoever led, for as long as it is up; then the first that is. */
export class Leadership {
  readonly #members: ReadonlyMap<string, TrueMember>;
  #leader: { cluster: string; ordinal: number } | undefined;

  constructor(members: ReadonlyMap<string, TrueMember>) {
    this.#members = members;
  }

  current(): { cluster: string; ordinal: number } | undefined {
    const { cluster = "", ordinal = -1 } = this.#leader ?? {};
    if (this.#members.get(cluster)?.instances.get(ordinal)?.up) return this.#leader;
    this.#leader = undefined;
    for (const member of this.#members.values()) {
      for (const { ordinal: each, up } of member.instances.values()) {
        if (up && !this.#leader) this.#leader = { cluster: member.name, ordinal: each };
      }
    }
    return this.#leader;
  }
}
