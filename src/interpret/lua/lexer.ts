import type { CompileBudget } from "./budget.ts";
import { LuaSyntaxError } from "./errors.ts";

export type Token =
  | { kind: "name"; text: string; line: number }
  | { kind: "string"; text: string; line: number }
  | { kind: "number"; value: number; text: string; line: number }
  /** Keywords, operators and punctuation, each named by its own text; "<eof>" ends the script. */
  | { kind: "symbol"; text: string; line: number };

const KEYWORDS = new Set(
  "and break do else elseif end false for function goto if in local nil not or repeat return then true until while".split(
    " ",
  ),
);

/** The symbols by their first character, longest first, so that "..." is not read as "..". */
const SYMBOLS = new Map<string, string[]>();
for (const symbol of "... .. == ~= <= >= :: + - * / % ^ # < > = ( ) { } [ ] ; : , .".split(" ")) {
  const first = symbol.charAt(0);
  SYMBOLS.set(first, [...(SYMBOLS.get(first) ?? []), symbol]);
}

// Each of these matches at the current position, and never backtracks.
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
/** No script needs more equals signs to distinguish closing brackets. */
const LONG_BRACKET = /\[(={0,16})\[/y;
const DECIMAL_ESCAPE = /[0-9]{1,3}/y;

const ESCAPES: Record<string, string> = { a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/** Splits a script, given as bytes, into tokens. Throws LuaSyntaxError. */
export class Lexer {
  readonly #source: string;
  readonly #script: string;
  readonly #budget: CompileBudget;
  #at = 0;
  #line = 1;

  constructor(source: string, script: string, budget: CompileBudget) {
    this.#source = source;
    this.#script = script;
    this.#budget = budget;
  }

  next(): Token {
    this.#skipBlanksAndComments();
    const line = this.#line;
    this.#budget.spend(1, line);
    if (this.#at >= this.#source.length) return { kind: "symbol", text: "<eof>", line };
    const code = this.#source.charCodeAt(this.#at);
    if (isLetter(code)) {
      const name = this.#take(NAME) ?? "";
      return { kind: KEYWORDS.has(name) ? "symbol" : "name", text: name, line };
    }
    const isNumber = isDigit(code) || (code === 0x2e && isDigit(this.#source.charCodeAt(this.#at + 1)));
    if (isNumber) {
      const number = this.#take(NUMBER) ?? "";
      return { kind: "number", value: this.#numberOf(number), text: number, line };
    }
    const character = this.#source.charAt(this.#at);
    if (character === '"' || character === "'") return { kind: "string", text: this.#quoted(character), line };
    const long = character === "[" ? this.#longBracket() : undefined;
    if (long !== undefined) return { kind: "string", text: long, line };
    const symbol = SYMBOLS.get(character)?.find((each) => this.#source.startsWith(each, this.#at));
    if (symbol === undefined) throw this.#error(`unexpected character '${character}'`);
    this.#at += symbol.length;
    return { kind: "symbol", text: symbol, line };
  }

  #skipBlanksAndComments(): void {
    for (;;) {
      this.#skipBlanks();
      if (!this.#source.startsWith("--", this.#at)) return;
      this.#at += 2;
      if (this.#longBracket() !== undefined) continue;
      const end = this.#source.indexOf("\n", this.#at);
      this.#at = end < 0 ? this.#source.length : end;
    }
  }

  #skipBlanks(): void {
    for (; this.#at < this.#source.length; this.#at++) {
      const code = this.#source.charCodeAt(this.#at);
      if (code === 0x0a) this.#line++;
      else if (code !== 0x20 && !(code >= 0x09 && code <= 0x0d)) return;
    }
  }

  #numberOf(text: string): number {
    // A number runs into a name only by mistake, as in 3x.
    if (isLetter(this.#source.charCodeAt(this.#at))) throw this.#error(`malformed number near '${text.slice(0, 40)}'`);
    return Number(text);
  }

  #quoted(quote: string): string {
    const pieces: string[] = [];
    this.#at++;
    let start = this.#at;
    for (;;) {
      const character = this.#source.charAt(this.#at);
      if (character === "" || character === "\n" || character === "\r") throw this.#error("unterminated string");
      this.#at++;
      if (character === quote) {
        pieces.push(this.#source.slice(start, this.#at - 1));
        return pieces.length === 1 ? (pieces[0] ?? "") : pieces.join("");
      }
      if (character !== "\\") continue;
      pieces.push(this.#source.slice(start, this.#at - 1), this.#escape());
      start = this.#at;
    }
  }

  /** An unknown escape stands for its own character, as in gopher-lua. */
  #escape(): string {
    const digits = this.#take(DECIMAL_ESCAPE);
    if (digits !== undefined) return String.fromCharCode(Number(digits) & 0xff);
    const character = this.#source.charAt(this.#at);
    if (character === "") throw this.#error("unterminated string");
    this.#at++;
    if (character === "\r" || character === "\n") {
      if (character === "\r" && this.#source.charAt(this.#at) === "\n") this.#at++;
      this.#line++;
      return "\n";
    }
    return ESCAPES[character] ?? character;
  }

  #longBracket(): string | undefined {
    LONG_BRACKET.lastIndex = this.#at;
    const open = LONG_BRACKET.exec(this.#source);
    if (open === null) return undefined;
    const close = `]${open[1]}]`;
    const start = this.#at + open[0].length;
    const end = this.#source.indexOf(close, start);
    if (end < 0) throw this.#error("unterminated multiline string or comment");
    const text = this.#source.slice(start, end);
    this.#at = end + close.length;
    this.#countLines(text);
    return text.replace(/^\r?\n/, "").replaceAll("\r\n", "\n");
  }

  #take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    const match = pattern.exec(this.#source)?.[0];
    if (match === undefined) return undefined;
    this.#at += match.length;
    return match;
  }

  #countLines(text: string): void {
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.#line++;
  }

  #error(reason: string): LuaSyntaxError {
    return new LuaSyntaxError(this.#script, this.#line, reason);
  }
}

function isLetter(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f;
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}
