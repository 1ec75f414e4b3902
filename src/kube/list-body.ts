/**
 * Splits the text of a list into its items, so that each can be parsed separately with pauses in between: JSON.parse of
 * a whole page of large objects blocks the event loop for tens of milliseconds.
 */
export interface ListBody {
  /** The list without its items, as JSON. */
  readonly envelope: string;
  /** Where each item begins and ends. */
  readonly items: readonly CutItem[];
}

export interface CutItem {
  readonly start: number;
  readonly end: number;
  /** Texts inside it that are not wanted, with their quotes: starts and ends in turn. */
  readonly unwanted: readonly number[];
}

/** The item's JSON, with empty texts in the place of unwanted ones. */
export function itemText(text: string, { start, end, unwanted }: CutItem): string {
  let wanted = "";
  let from = start;
  for (let index = 0; index < unwanted.length; index += 2) {
    wanted += `${text.slice(from, unwanted[index])}""`;
    from = unwanted[index + 1] ?? end;
  }
  return wanted + text.slice(from, end);
}

/** Keys whose texts are not wanted, by the length of the key with its quotes. */
export type UnwantedKeys = ReadonlyMap<number, ReadonlySet<string>>;

/** Keys without characters that JSON escapes. */
export function unwantedKeys(keys: Iterable<string>): UnwantedKeys {
  const byLength = new Map<number, Set<string>>();
  for (const key of keys) {
    const quoted = JSON.stringify(key);
    const same = byLength.get(quoted.length);
    if (same) same.add(quoted);
    else byLength.set(quoted.length, new Set([quoted]));
  }
  return byLength;
}

const NO_KEYS: UnwantedKeys = new Map();

/** Undefined for text that is not a well-formed list; the caller then parses it as a whole and gets the error. */
export function cutList(text: string, unwanted = NO_KEYS): ListBody | undefined {
  let at = skipSpace(text, 0);
  if (text[at] !== "{") return undefined;
  at = skipSpace(text, at + 1);
  while (text[at] === '"') {
    const keyEnd = skipString(text, at);
    const colon = skipSpace(text, keyEnd);
    if (keyEnd < 0 || text[colon] !== ":") return undefined;
    const valueStart = skipSpace(text, colon + 1);
    if (text.slice(at, keyEnd) === '"items"' && text[valueStart] === "[") return cutItems(text, valueStart, unwanted);
    at = skipSpace(text, skipValue(text, valueStart));
    if (text[at] !== ",") return undefined;
    at = skipSpace(text, at + 1);
  }
  return undefined;
}

function cutItems(text: string, arrayStart: number, keys: UnwantedKeys): ListBody | undefined {
  const items: CutItem[] = [];
  let at = skipSpace(text, arrayStart + 1);
  while (text[at] !== "]") {
    const unwanted: number[] = [];
    const end = skipValue(text, at, keys, unwanted);
    if (end <= at) return undefined;
    items.push({ start: at, end, unwanted });
    at = skipSpace(text, end);
    if (text[at] === ",") {
      at = skipSpace(text, at + 1);
      if (text[at] === "]") return undefined;
    } else if (text[at] !== "]") return undefined;
  }
  return { envelope: `${text.slice(0, arrayStart)}[]${text.slice(at + 1)}`, items };
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;

function skipSpace(text: string, from: number): number {
  let at = from;
  for (let code = text.charCodeAt(at); code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09; ) {
    code = text.charCodeAt(++at);
  }
  return at;
}

/**
 * The index behind the value; 0 or less if it has no end. Values are not validated: parsing does that. `unwanted`
 * receives where the texts of these keys are.
 */
function skipValue(text: string, start: number, keys = NO_KEYS, unwanted: number[] = []): number {
  const first = text[start];
  if (first === '"') return skipString(text, start);
  if (first !== "{" && first !== "[") {
    let at = start;
    while (at < text.length && !",]} \n\r\t".includes(text[at] ?? "")) at++;
    return at;
  }
  let depth = 0;
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = skipString(text, at);
      if (end < 0) return -1;
      // A text that is followed by a colon is a key.
      if (text.charCodeAt(end) === COLON && keys.get(end - at)?.has(text.slice(at, end))) {
        const valueStart = skipSpace(text, end + 1);
        const valueEnd = text.charCodeAt(valueStart) === QUOTE ? skipString(text, valueStart) : valueStart;
        if (valueEnd < 0) return -1;
        if (valueEnd > valueStart) unwanted.push(valueStart, valueEnd);
        at = valueEnd - 1;
      } else at = end - 1;
    } else if (code === 0x7b || code === 0x5b) depth++;
    else if ((code === 0x7d || code === 0x5d) && --depth === 0) return at + 1;
  }
  return -1;
}

/** The index behind the closing quote, -1 without one. */
function skipString(text: string, start: number): number {
  for (let quote = text.indexOf('"', start + 1); quote >= 0; quote = text.indexOf('"', quote + 1)) {
    let backslashes = 0;
    while (text.charCodeAt(quote - 1 - backslashes) === BACKSLASH) backslashes++;
    if (backslashes % 2 === 0) return quote + 1;
  }
  return -1;
}
