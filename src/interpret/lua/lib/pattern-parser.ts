import { BadPattern, type CharacterClass, type Instruction, type Pattern } from "./pattern-program.ts";

/** Captures nested in one another; the parser recurses this deep. */
const MAX_NESTED_CAPTURES = 100;

/** Parses a pattern the way gopher-lua does, with its leniency: what means nothing stands for itself. */
export function parsePattern(pattern: string): Pattern {
  return new PatternParser(pattern).parse();
}

class PatternParser {
  private readonly pattern: string;
  private readonly program: Instruction[] = [{ op: "save", slot: 0 }];
  private at = 0;
  private slots = 2;
  private depth = 0;

  constructor(pattern: string) {
    this.pattern = pattern;
  }

  parse(): Pattern {
    const anchored = this.pattern.startsWith("^");
    if (anchored) this.at++;
    const mustEnd = this.sequence(true);
    if (mustEnd) this.program.push({ op: "save", slot: 1 }, { op: "end" });
    else this.program.push({ op: "save", slot: 1 }, { op: "match" });
    return { program: this.program, anchored };
  }

  /** Reads up to the end or the closing parenthesis; tells whether it ended in $. */
  private sequence(isTop: boolean): boolean {
    while (this.at < this.pattern.length) {
      const character = this.pattern.charAt(this.at);
      if (character === ")") {
        if (isTop) throw new BadPattern(`invalid ')' at ${Math.max(this.at - 1, 0)}`);
        return false;
      }
      if (character === "(") this.capture();
      else if (character === "$" && isTop && this.at === this.pattern.length - 1) return true;
      else if (character === "%" && /[0-9b]/.test(this.pattern.charAt(this.at + 1))) this.special();
      else this.single();
    }
    return false;
  }

  private capture(): void {
    this.at++;
    const slot = this.slots;
    this.slots += 2;
    if (this.pattern.charAt(this.at) === ")") {
      this.at++;
      this.program.push({ op: "position", slot });
      return;
    }
    if (++this.depth > MAX_NESTED_CAPTURES) throw new BadPattern("pattern too complex");
    this.program.push({ op: "save", slot });
    this.sequence(false);
    if (this.pattern.charAt(this.at) !== ")") throw new BadPattern("unfinished capture at EOS");
    this.at++;
    this.program.push({ op: "save", slot: slot + 1 });
    this.depth--;
  }

  private special(): void {
    const letter = this.pattern.charAt(this.at + 1);
    this.at += 2;
    if (letter === "0") throw new BadPattern(`invalid capture index at ${this.at - 2}`);
    if (letter !== "b") {
      this.program.push({ op: "back", slot: 2 * Number(letter) });
      return;
    }
    // Without its two characters %bxy never matches: NaN equals no byte.
    this.program.push({
      op: "balance",
      open: this.pattern.charCodeAt(this.at),
      close: this.pattern.charCodeAt(this.at + 1),
    });
    this.at = Math.min(this.at + 2, this.pattern.length);
  }

  private single(): void {
    const isLiteral = /[*+?-]/.test(this.pattern.charAt(this.at));
    const matches = isLiteral ? literal(this.pattern.charCodeAt(this.at++)) : this.characterClass();
    const here = this.program.length;
    const quantifier = this.pattern.charAt(this.at);
    switch (quantifier) {
      case "*":
        this.program.push({ op: "split", first: here + 1, second: here + 3 });
        this.program.push({ op: "byte", matches }, { op: "jump", to: here });
        break;
      case "+":
        this.program.push({ op: "byte", matches }, { op: "split", first: here, second: here + 2 });
        break;
      case "-":
        this.program.push({ op: "split", first: here + 3, second: here + 1 });
        this.program.push({ op: "byte", matches }, { op: "jump", to: here });
        break;
      case "?":
        this.program.push({ op: "split", first: here + 1, second: here + 2 }, { op: "byte", matches });
        break;
      default:
        this.program.push({ op: "byte", matches });
        return;
    }
    this.at++;
  }

  private characterClass(): CharacterClass {
    const character = this.pattern.charAt(this.at);
    if (character === ".") {
      this.at++;
      return () => true;
    }
    if (character === "[") {
      this.at++;
      return this.set();
    }
    return this.plainClass().matches;
  }

  /** A character or a class such as %a; only a character can begin or end a range. */
  private plainClass(): { matches: CharacterClass; code: number | undefined } {
    const code = this.pattern.charCodeAt(this.at++);
    if (code !== 0x25) return { matches: literal(code), code };
    const letter = this.pattern.charAt(this.at++);
    return { matches: named(letter), code: undefined };
  }

  private set(): CharacterClass {
    const negated = this.pattern.charAt(this.at) === "^";
    if (negated) this.at++;
    const items: { matches: CharacterClass; code: number | undefined }[] = [];
    let range = false;
    for (;;) {
      if (this.at >= this.pattern.length) throw new BadPattern(`unexpected EOS at ${this.pattern.length - 1}`);
      const character = this.pattern.charAt(this.at);
      if (items.length > 0 && character === "]") {
        this.at++;
        break;
      }
      if (items.length > 0 && character === "-") {
        this.at++;
        range = true;
        continue;
      }
      items.push(this.plainClass());
      if (!range) continue;
      range = false;
      const to = items.pop()?.code;
      const from = items.pop()?.code;
      const matches = from === undefined || to === undefined ? () => false : between(from, to);
      items.push({ matches, code: undefined });
    }
    if (range) items.push({ matches: literal(0x2d), code: 0x2d });
    return (byte) => items.some((item) => item.matches(byte)) !== negated;
  }
}

function literal(code: number): CharacterClass {
  return (byte) => byte === code;
}

function between(from: number, to: number): CharacterClass {
  return (byte) => byte >= from && byte <= to;
}

const isUpper = between(65, 90);
const isLower = between(97, 122);
const isDigit = between(48, 57);
const isAlpha: CharacterClass = (byte) => isUpper(byte) || isLower(byte);

const NAMED: Record<string, CharacterClass> = {
  a: isAlpha,
  c: (byte) => byte <= 0x1f || byte === 0x7f,
  d: isDigit,
  l: isLower,
  p: (byte) => byte > 0x20 && byte < 0x7f && !isAlpha(byte) && !isDigit(byte),
  s: (byte) => byte === 0x20 || (byte >= 0x09 && byte <= 0x0d),
  u: isUpper,
  w: (byte) => isAlpha(byte) || isDigit(byte),
  x: (byte) => isDigit(byte) || (byte >= 65 && byte <= 70) || (byte >= 97 && byte <= 102),
  z: (byte) => byte === 0,
};

function named(letter: string): CharacterClass {
  const lower = letter.toLowerCase();
  const matches = NAMED[lower];
  if (matches === undefined) return literal(letter === "" ? -1 : letter.charCodeAt(0));
  return letter === lower ? matches : (byte) => !matches(byte);
}
