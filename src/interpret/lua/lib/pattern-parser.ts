import type { Meter } from "../meter.ts";
import { BadPattern, type CharacterClass, type Instruction, type Pattern } from "./pattern-program.ts";

/** Captures nested in one another; the parser recurses this deep. */
const MAX_NESTED_CAPTURES = 100;

/** A byte of a pattern becomes at most three instructions; a set is a table of 256 bytes. */
const BYTES_PER_BYTE = 256;
const FUEL_PER_BYTE = 16;
const SET_BYTES = 384;
const SET_FUEL = 64;

/** The cost of parsing, for any pattern of this length. */
export function payForParsing(meter: Meter, pattern: string): void {
  meter.allocate(pattern.length * BYTES_PER_BYTE);
  meter.burn(pattern.length * FUEL_PER_BYTE);
  for (let at = pattern.indexOf("["); at >= 0; at = pattern.indexOf("[", at + 1)) {
    meter.allocate(SET_BYTES);
    meter.burn(SET_FUEL);
  }
}

/** Parses a pattern as gopher-lua does, with its leniency: an unknown element stands for itself. */
export function parsePattern(pattern: string): Pattern {
  return new PatternParser(pattern).parse();
}

class PatternParser {
  readonly #pattern: string;
  readonly #program: Instruction[] = [{ op: "save", slot: 0 }];
  #at = 0;
  #slots = 2;
  #depth = 0;

  constructor(pattern: string) {
    this.#pattern = pattern;
  }

  parse(): Pattern {
    const anchored = this.#pattern.startsWith("^");
    if (anchored) this.#at++;
    const mustEnd = this.#sequence(true);
    if (mustEnd) this.#program.push({ op: "save", slot: 1 }, { op: "end" });
    else this.#program.push({ op: "save", slot: 1 }, { op: "match" });
    return { program: this.#program, anchored, slots: this.#slots };
  }

  /** Reads up to the end or the closing parenthesis; returns whether it ended in $. */
  #sequence(isTop: boolean): boolean {
    while (this.#at < this.#pattern.length) {
      const character = this.#pattern.charAt(this.#at);
      if (character === ")") {
        if (isTop) throw new BadPattern(`invalid ')' at ${Math.max(this.#at - 1, 0)}`);
        return false;
      }
      if (character === "(") this.#capture();
      else if (character === "$" && isTop && this.#at === this.#pattern.length - 1) return true;
      else if (character === "%" && /[0-9b]/.test(this.#pattern.charAt(this.#at + 1))) this.#special();
      else this.#single();
    }
    return false;
  }

  #capture(): void {
    this.#at++;
    const slot = this.#slots;
    this.#slots += 2;
    if (this.#pattern.charAt(this.#at) === ")") {
      this.#at++;
      this.#program.push({ op: "position", slot });
      return;
    }
    if (++this.#depth > MAX_NESTED_CAPTURES) throw new BadPattern("pattern too complex");
    this.#program.push({ op: "save", slot });
    this.#sequence(false);
    if (this.#pattern.charAt(this.#at) !== ")") throw new BadPattern("unfinished capture at EOS");
    this.#at++;
    this.#program.push({ op: "save", slot: slot + 1 });
    this.#depth--;
  }

  #special(): void {
    const letter = this.#pattern.charAt(this.#at + 1);
    this.#at += 2;
    if (letter === "0") throw new BadPattern(`invalid capture index at ${this.#at - 2}`);
    if (letter !== "b") {
      this.#program.push({ op: "back", slot: 2 * Number(letter) });
      return;
    }
    // Without its two characters %bxy never matches: NaN equals no byte.
    this.#program.push({
      op: "balance",
      open: this.#pattern.charCodeAt(this.#at),
      close: this.#pattern.charCodeAt(this.#at + 1),
    });
    this.#at = Math.min(this.#at + 2, this.#pattern.length);
  }

  #single(): void {
    const isLiteral = /[*+?-]/.test(this.#pattern.charAt(this.#at));
    const one = isLiteral ? literal(this.#pattern.charCodeAt(this.#at++)) : this.#characterClass();
    const here = this.#program.length;
    const quantifier = this.#pattern.charAt(this.#at);
    switch (quantifier) {
      case "*":
        this.#program.push({ op: "split", first: here + 1, second: here + 3 });
        this.#program.push(one, { op: "jump", to: here });
        break;
      case "+":
        this.#program.push(one, { op: "split", first: here, second: here + 2 });
        break;
      case "-":
        this.#program.push({ op: "split", first: here + 3, second: here + 1 });
        this.#program.push(one, { op: "jump", to: here });
        break;
      case "?":
        this.#program.push({ op: "split", first: here + 1, second: here + 2 }, one);
        break;
      default:
        this.#program.push(one);
        return;
    }
    this.#at++;
  }

  #characterClass(): Instruction {
    const character = this.#pattern.charAt(this.#at);
    if (character === ".") {
      this.#at++;
      return { op: "byte", matches: ANY };
    }
    if (character === "[") {
      this.#at++;
      return { op: "byte", matches: this.#set() };
    }
    return this.#plainClass();
  }

  /** A character or a class such as %a. */
  #plainClass(): Instruction {
    const code = this.#pattern.charCodeAt(this.#at++);
    if (code !== 0x25) return literal(code);
    return named(this.#pattern.charAt(this.#at++));
  }

  #set(): CharacterClass {
    const negated = this.#pattern.charAt(this.#at) === "^";
    if (negated) this.#at++;
    const members = new Uint8Array(256);
    // The last item is held back, because it may be the start of a range.
    let last: SetItem | undefined;
    let range = false;
    for (;;) {
      if (this.#at >= this.#pattern.length) throw new BadPattern(`unexpected EOS at ${this.#pattern.length - 1}`);
      const character = this.#pattern.charAt(this.#at);
      if (last !== undefined && character === "]") {
        this.#at++;
        break;
      }
      if (last !== undefined && character === "-") {
        this.#at++;
        range = true;
        continue;
      }
      const item = this.#setItem();
      if (range) last = rangeOf(last, item);
      else {
        addTo(members, last);
        last = item;
      }
      range = false;
    }
    addTo(members, last);
    if (range) members[0x2d] = 1;
    return negated ? members.map((member) => 1 - member) : members;
  }

  /** Only a character that is not escaped can start or end a range. */
  #setItem(): SetItem {
    const isEscaped = this.#pattern.charAt(this.#at) === "%";
    const item = this.#plainClass();
    if (item.op === "byte") return { matches: item.matches };
    const code = item.op === "char" ? item.code : -1;
    return { from: code, to: code, isEnd: !isEscaped };
  }
}

/** Bytes from one code to another, or a class. */
type SetItem = { from: number; to: number; isEnd: boolean } | { matches: CharacterClass };

/** An invalid range matches nothing, not even its ends. */
function rangeOf(first: SetItem | undefined, second: SetItem): SetItem {
  if (first === undefined || "matches" in first || "matches" in second || !first.isEnd || !second.isEnd) {
    return { from: -1, to: -1, isEnd: false };
  }
  return { from: first.from, to: second.to, isEnd: false };
}

function addTo(members: Uint8Array, item: SetItem | undefined): void {
  if (item === undefined) return;
  if ("matches" in item) addAll(members, item.matches);
  else if (item.from >= 0) members.fill(1, item.from, item.to + 1);
}

function addAll(members: Uint8Array, more: CharacterClass): void {
  for (let code = 0; code < members.length; code++) if (more[code] === 1) members[code] = 1;
}

function literal(code: number): Instruction {
  return { op: "char", code };
}

function classOf(belongs: (byte: number) => boolean): CharacterClass {
  return Uint8Array.from({ length: 256 }, (_, byte) => (belongs(byte) ? 1 : 0));
}

const ANY = classOf(() => true);

function between(from: number, to: number): (byte: number) => boolean {
  return (byte) => byte >= from && byte <= to;
}

const isUpper = between(65, 90);
const isLower = between(97, 122);
const isDigit = between(48, 57);
const isAlpha = (byte: number): boolean => isUpper(byte) || isLower(byte);

const NAMED: Record<string, CharacterClass> = {
  a: classOf(isAlpha),
  c: classOf((byte) => byte <= 0x1f || byte === 0x7f),
  d: classOf(isDigit),
  l: classOf(isLower),
  p: classOf((byte) => byte > 0x20 && byte < 0x7f && !isAlpha(byte) && !isDigit(byte)),
  s: classOf((byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d)),
  u: classOf(isUpper),
  w: classOf((byte) => isAlpha(byte) || isDigit(byte)),
  x: classOf((byte) => isDigit(byte) || (byte >= 65 && byte <= 70) || (byte >= 97 && byte <= 102)),
  z: classOf((byte) => byte === 0),
};

const OPPOSITES: Record<string, CharacterClass> = Object.fromEntries(
  Object.entries(NAMED).map(([letter, members]) => [letter.toUpperCase(), members.map((member) => 1 - member)]),
);

/** A letter without a class, such as % in %%, stands for itself; a pattern that ends in % never matches there. */
function named(letter: string): Instruction {
  const matches = NAMED[letter] ?? OPPOSITES[letter];
  return matches === undefined ? literal(letter === "" ? -1 : letter.charCodeAt(0)) : { op: "byte", matches };
}
