/**
 * The states that were visited, by number, in the order in which they were found; how each was found, and what leads
 * where.
 */
export class Graph {
  readonly #ids = new Map<string, number>();
  readonly #parents: number[] = [];
  readonly #picks: number[] = [];
  /** Where the edges of each state begin in `#edges`; states are expanded in the order of their numbers. */
  readonly #firstEdge: number[] = [];
  readonly #edges: number[] = [];

  get size(): number {
    return this.#ids.size;
  }

  /**
   * The number of a state, and whether it was found just now: by the `pick`-th move of `parent`. A start has no parent.
   */
  find(key: string, parent: number, pick: number): { readonly id: number; readonly isNew: boolean } {
    const known = this.#ids.get(key);
    if (known !== undefined) return { id: known, isNew: false };
    const id = this.#ids.size;
    this.#ids.set(key, id);
    this.#parents.push(parent);
    this.#picks.push(pick);
    return { id, isNew: true };
  }

  /** The edges of the next state follow: its moves that need no external event. */
  expand(): void {
    this.#firstEdge.push(this.#edges.length);
  }

  edge(to: number): void {
    this.#edges.push(to);
  }

  /** The picks that lead from a start to the state, and which start that is. */
  pathTo(id: number): { readonly start: number; readonly picks: number[] } {
    const picks: number[] = [];
    let at = id;
    for (let parent = this.#parents[at] ?? -1; parent >= 0; parent = this.#parents[at] ?? -1) {
      picks.push(this.#picks[at] ?? 0);
      at = parent;
    }
    return { start: at, picks: picks.reverse() };
  }

  /** States of one circle of edges, or undefined: every way along the edges ends. */
  circle(): number[] | undefined {
    const size = this.#firstEdge.length;
    const into = new Int32Array(size);
    for (const to of this.#edges) into[to] = (into[to] ?? 0) + 1;
    const free: number[] = [];
    for (let id = 0; id < size; id++) if (into[id] === 0) free.push(id);
    let freed = 0;
    for (let id = free.pop(); id !== undefined; id = free.pop()) {
      freed++;
      for (const to of this.#from(id)) {
        const left = (into[to] ?? 0) - 1;
        into[to] = left;
        if (left === 0) free.push(to);
      }
    }
    if (freed === size) return undefined;
    // Every state that is left lies on a circle or behind one. Backwards there is always one more, until a circle is
    // closed.
    const from = new Map<number, number>();
    for (let id = 0; id < size; id++) {
      if (into[id] === 0) continue;
      for (const to of this.#from(id)) if (into[to] !== 0) from.set(to, id);
    }
    const seen = new Set<number>();
    let at = from.keys().next().value ?? 0;
    while (!seen.has(at)) {
      seen.add(at);
      at = from.get(at) ?? at;
    }
    const circle = [at];
    for (let each = from.get(at) ?? at; each !== at; each = from.get(each) ?? at) circle.unshift(each);
    return circle;
  }

  #from(id: number): number[] {
    return this.#edges.slice(this.#firstEdge[id], this.#firstEdge[id + 1]);
  }
}
