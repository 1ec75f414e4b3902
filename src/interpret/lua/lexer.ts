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

// Longest first, so that "..." is not read as "..".
const SYMBOLS = "... .. == ~= <= >= :: + - * / % ^ # < > = ( ) { } [ ] ; : , .".split(" ");

const BLANK = /[ \t\r\n\v\f]*/y;
const NAME = /[A-Za-z_][A-Za-z0-9_]*/y;
const NUMBER = /0[xX][0-9a-fA-F]+|(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?/y;
const LONG_BRACKET = /\[(=*)\[/y;
const DECIMAL_ESCAPE = /[0-9]{1,3}/y;

const ESCAPES: Record<string, string> = { a: "\x07", b: "\b", f: "\f", n: "\n", r: "\r", t: "\t", v: "\v" };

/** Cuts a script, given as bytes, into tokens. Throws LuaSyntaxError. */
export class Lexer {
  private readonly source: string;
  private readonly script: string;
  private at = 0;
  private line = 1;

  constructor(source: string, script: string) {
    this.source = source;
    this.script = script;
  }

  next(): Token {
    this.skipBlanksAndComments();
    const { line } = this;
    if (this.at >= this.source.length) return { kind: "symbol", text: "<eof>", line };
    const name = this.take(NAME);
    if (name !== undefined) return { kind: KEYWORDS.has(name) ? "symbol" : "name", text: name, line };
    const number = this.take(NUMBER);
    if (number !== undefined) return { kind: "number", value: this.numberOf(number), text: number, line };
    const character = this.source.charAt(this.at);
    if (character === '"' || character === "'") return { kind: "string", text: this.quoted(character), line };
    const long = this.longBracket();
    if (long !== undefined) return { kind: "string", text: long, line };
    const symbol = SYMBOLS.find((each) => this.source.startsWith(each, this.at));
    if (symbol === undefined) throw this.error(`unexpected character '${character}'`);
    this.at += symbol.length;
    return { kind: "symbol", text: symbol, line };
  }

  private skipBlanksAndComments(): void {
    for (;;) {
      this.countLines(this.take(BLANK) ?? "");
      if (!this.source.startsWith("--", this.at)) return;
      this.at += 2;
      if (this.longBracket() !== undefined) continue;
      const end = this.source.indexOf("\n", this.at);
      this.at = end < 0 ? this.source.length : end;
    }
  }

  private numberOf(text: string): number {
    // A number runs into a name only by mistake, as in 3x.
    NAME.lastIndex = this.at;
    if (NAME.test(this.source)) throw this.error(`malformed number near '${text}'`);
    return Number(text);
  }

  private quoted(quote: string): string {
    let text = "";
    this.at++;
    for (;;) {
      const character = this.source.charAt(this.at);
      if (character === "" || character === "\n" || character === "\r") throw this.error("unterminated string");
      this.at++;
      if (character === quote) return text;
      text += character === "\\" ? this.escape() : character;
    }
  }

  /** An escape that means nothing stands for its own character, as gopher-lua reads it. */
  private escape(): string {
    const digits = this.take(DECIMAL_ESCAPE);
    if (digits !== undefined) return String.fromCharCode(Number(digits) & 0xff);
    const character = this.source.charAt(this.at);
    if (character === "") throw this.error("unterminated string");
    this.at++;
    if (character === "\r" || character === "\n") {
      if (character === "\r" && this.source.charAt(this.at) === "\n") this.at++;
      this.line++;
      return "\n";
    }
    return ESCAPES[character] ?? character;
  }

  private longBracket(): string | undefined {
    LONG_BRACKET.lastIndex = this.at;
    const open = LONG_BRACKET.exec(this.source);
    if (open === null) return undefined;
    const close = `]${open[1]}]`;
    const start = this.at + open[0].length;
    const end = this.source.indexOf(close, start);
    if (end < 0) throw this.error("unterminated multiline string or comment");
    const text = this.source.slice(start, end);
    this.at = end + close.length;
    this.countLines(text);
    return text.replace(/^\r?\n/, "").replaceAll("\r\n", "\n");
  }

  private take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at;
    const match = pattern.exec(this.source)?.[0];
    if (match === undefined) return undefined;
    this.at += match.length;
    return match;
  }

  private countLines(text: string): void {
    for (let at = text.indexOf("\n"); at >= 0; at = text.indexOf("\n", at + 1)) this.line++;
  }

  private error(reason: string): LuaSyntaxError {
    return new LuaSyntaxError(this.script, this.line, reason);
  }
}
