/** What the clients saw, as the program `probe` records it, and the figures that follow from it. Pure. */

/** Times are microseconds since the Unix epoch. */
export interface Attempt {
  readonly kind: "write" | "read";
  readonly client: number;
  readonly key: string;
  readonly start: number;
  readonly end: number;
  readonly try: 1 | 2;
  readonly error?: string;
}

/** What one member said about itself. */
export interface Look {
  readonly kind: "look";
  readonly endpoint: string;
  readonly start: number;
  readonly end: number;
  readonly id?: string;
  /** "0": it knows none. */
  readonly leader?: string;
  readonly term?: number;
  readonly learner?: boolean;
  readonly version?: string;
  readonly error?: string;
}

/** Who votes from here on, as etcd's own list says. */
export interface Members {
  readonly kind: "members";
  readonly end: number;
  readonly voters: readonly string[];
}

export interface ClientRecord {
  readonly attempts: readonly Attempt[];
  readonly looks: readonly Look[];
  /** In order. */
  readonly members: readonly Members[];
}

export interface Window {
  readonly fromUs: number;
  readonly toUs: number;
}

export interface Figures {
  readonly seconds: number;
  readonly requests: number;
  /** Requests whose first attempt failed. */
  readonly retried: number;
  /** Requests whose second attempt failed, too. */
  readonly failed: number;
  readonly longestWriteGapMs: number;
  /** How long no majority of the voters had a leader among them, and no write was acknowledged. */
  readonly withoutQuorumMs: number;
  readonly leaderChanges: number;
  readonly writeP50Ms: number;
  readonly writeP99Ms: number;
}

const QUORUM_STEP_US = 10_000;
/** A write that is acknowledged so soon afterwards proves a majority where members answer late, as on a busy machine. */
const PROOF_US = 250_000;
/** An answer that comes later than this is none. */
const LOOK_TIMEOUT_US = 1_000_000;

export function parseRecord(text: string): ClientRecord {
  const attempts: Attempt[] = [];
  const looks: Look[] = [];
  const members: Members[] = [];
  // The last line may be cut off while the program still writes.
  for (const line of text.slice(0, text.lastIndexOf("\n") + 1).split("\n")) {
    if (line === "") continue;
    const value = JSON.parse(line) as Attempt | Look | Members;
    if (value.kind === "look") looks.push(value);
    else if (value.kind === "members") members.push(value);
    else attempts.push(value);
  }
  return { attempts, looks, members };
}

/** Of the requests that ended in the window. */
export function figuresOf({ attempts, looks, members }: ClientRecord, window: Window): Figures {
  const inside = attempts.filter(({ end }) => end >= window.fromUs && end < window.toUs);
  const writes = inside.filter(({ kind, error }) => kind === "write" && error === undefined);
  const latencies = writes.map(({ start, end }) => (end - start) / 1000).sort((left, right) => left - right);
  return {
    seconds: (window.toUs - window.fromUs) / 1e6,
    requests: inside.filter((attempt) => attempt.try === 1).length,
    retried: inside.filter((attempt) => attempt.try === 2).length,
    failed: inside.filter((attempt) => attempt.try === 2 && attempt.error !== undefined).length,
    longestWriteGapMs: longestGapUs(writes, window) / 1000,
    withoutQuorumMs: withoutQuorumUs({ attempts: writes, looks, members }, window) / 1000,
    leaderChanges: leaderChanges(looks, window),
    writeP50Ms: quantile(latencies, 0.5),
    writeP99Ms: quantile(latencies, 0.99),
  };
}

/** Also from the window's start to the first write, and from the last one to its end. */
function longestGapUs(writes: readonly Attempt[], { fromUs, toUs }: Window): number {
  const ends = [fromUs, ...writes.map(({ end }) => end).sort((left, right) => left - right), toUs];
  return ends.reduce((longest, at, index) => Math.max(longest, at - (ends[index - 1] ?? at)), 0);
}

/** Every term that elected a leader after the first one seen is a change. */
export function leaderChanges(looks: readonly Look[], { fromUs, toUs }: Window): number {
  const terms = new Set<number>();
  for (const { end, leader, term } of looks) {
    if (end >= fromUs && end < toUs && term !== undefined && leader !== undefined && leader !== "0") terms.add(term);
  }
  return Math.max(0, terms.size - 1);
}

/**
 * A majority that has a leader, which is one of them, is a quorum. What a voter says holds from the answer before to the
 * one after: between two answers, it may have been either. A voter without an answer does not agree. If an answer is late,
 * and a write is acknowledged, the voter was one of those that agreed to the write.
 */
export function withoutQuorumUs({ attempts, looks, members }: ClientRecord, { fromUs, toUs }: Window): number {
  const acknowledged = attempts
    .filter(({ kind, error }) => kind === "write" && error === undefined)
    .map(({ end }) => end)
    .sort((left, right) => left - right);
  let proof = 0;
  const cursors = new Map<string, { readonly own: Look[]; at: number }>();
  for (const look of looks) {
    const cursor = cursors.get(look.endpoint) ?? { own: [], at: 0 };
    cursor.own.push(look);
    cursors.set(look.endpoint, cursor);
  }
  for (const { own } of cursors.values()) own.sort((left, right) => left.end - right.end);
  let without = 0;
  for (let [at, list] = [fromUs, 0]; at < toUs; at += QUORUM_STEP_US) {
    while ((members[list + 1]?.end ?? Number.POSITIVE_INFINITY) <= at) list++;
    const voters = members[list]?.voters ?? [];
    const said = voters.map((voter) => {
      const cursor = cursors.get(voter);
      if (!cursor) return [];
      while ((cursor.own[cursor.at]?.end ?? Number.POSITIVE_INFINITY) < at) cursor.at++;
      const [before, after] = [cursor.own[cursor.at - 1], cursor.own[cursor.at]];
      return [
        ...(before && before.end >= at - LOOK_TIMEOUT_US ? [before] : []),
        ...(after && after.start <= at + LOOK_TIMEOUT_US ? [after] : []),
      ];
    });
    while ((acknowledged[proof] ?? Number.POSITIVE_INFINITY) < at) proof++;
    const isProved = (acknowledged[proof] ?? Number.POSITIVE_INFINITY) < at + PROOF_US;
    const late = isProved ? said.filter((own) => own.length > 0 && own.every(isLate)).length : 0;
    if (!haveQuorum(said, late)) without += QUORUM_STEP_US;
  }
  return without;
}

/** By voter: what it may have said at one moment; and how many of them agreed, but were too late to say so. */
function haveQuorum(said: readonly (readonly Look[])[], late: number): boolean {
  const isMajority = (count: number) => count + late > said.length / 2;
  if (late > 0 && isMajority(0)) return true;
  const named = said.flat().filter(({ leader }) => leader !== undefined && leader !== "0");
  return named.some(({ id, leader, term }) => {
    const agreeing = said.filter((own) => own.some((look) => look.leader === leader && look.term === term));
    return isMajority(agreeing.length) && (id === leader || late > 0);
  });
}

/** It was asked and has not answered in time; one that does not run refuses at once. */
function isLate({ error }: Look): boolean {
  return error?.includes("deadline exceeded") === true;
}

function quantile(sorted: readonly number[], share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
