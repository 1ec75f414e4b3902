/** Sets of indexes as Kubernetes writes them: `0-3,7`. Kept as sorted, separate ranges, so a million indexes are small. */
export type IndexSet = readonly IndexRange[];
/** Both ends belong to it. */
export type IndexRange = readonly [first: number, last: number];

/** More ranges than this are no set that Lockstep keeps: a ledger is one small object. */
export const MAX_RANGES = 5_000;

/** A Job's completions are at most 2^31 - 1. */
const MAX_INDEX = 2 ** 31 - 2;

/** Undefined: not a set of indexes. */
export function parseIndexes(text: string): IndexSet | undefined {
  if (text === "") return [];
  const ranges: IndexRange[] = [];
  for (const part of text.split(",", MAX_RANGES + 1)) {
    const match = /^(\d{1,10})(?:-(\d{1,10}))?$/.exec(part);
    if (!match || ranges.length === MAX_RANGES) return undefined;
    const first = Number(match[1]);
    const last = match[2] === undefined ? first : Number(match[2]);
    if (last < first || last > MAX_INDEX) return undefined;
    ranges.push([first, last]);
  }
  return normal(ranges);
}

export function indexesText(set: IndexSet): string {
  return set.map(([first, last]) => (first === last ? `${first}` : `${first}-${last}`)).join(",");
}

export function upTo(total: number): IndexSet {
  return total > 0 ? [[0, total - 1]] : [];
}

export function sizeOf(set: IndexSet): number {
  return set.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

export function union(a: IndexSet, b: IndexSet): IndexSet {
  return normal([...a, ...b]);
}

export function minus(a: IndexSet, b: IndexSet): IndexSet {
  const left: IndexRange[] = [];
  for (const [first, last] of a) {
    let from = first;
    for (const [start, end] of b) {
      if (end < from || start > last) continue;
      if (start > from) left.push([from, start - 1]);
      from = end + 1;
    }
    if (from <= last) left.push([from, last]);
  }
  return left;
}

/** The first so many of them. */
export function take(set: IndexSet, count: number): IndexSet {
  const taken: IndexRange[] = [];
  let left = count;
  for (const [first, last] of set) {
    if (left <= 0) break;
    const end = Math.min(last, first + left - 1);
    taken.push([first, end]);
    left -= end - first + 1;
  }
  return taken;
}

/** A Job runs 0 to n-1: the members of `set` at these positions. Positions beyond its end are none of its own. */
export function atPositions(set: IndexSet, positions: IndexSet): IndexSet {
  const found: IndexRange[] = [];
  let offset = 0;
  for (const [first, last] of set) {
    const size = last - first + 1;
    for (const [start, end] of positions) {
      const from = Math.max(start, offset);
      const to = Math.min(end, offset + size - 1);
      if (from <= to) found.push([first + from - offset, first + to - offset]);
    }
    offset += size;
  }
  return normal(found);
}

function normal(ranges: readonly IndexRange[]): IndexSet {
  const sorted = [...ranges].sort(([a], [b]) => a - b);
  const merged: [number, number][] = [];
  for (const [first, last] of sorted) {
    const before = merged.at(-1);
    if (before && first <= before[1] + 1) before[1] = Math.max(before[1], last);
    else merged.push([first, last]);
  }
  return merged;
}
