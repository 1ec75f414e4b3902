/**
 * The part of a terminal that Lockstep's own output needs: text, colours, moving home or up, clearing, the second
 * screen.
 */

export interface Style {
  readonly bold: boolean;
  readonly dim: boolean;
  readonly colour: "red" | "green" | "yellow" | undefined;
}

/** Neighbouring characters of one style. */
export interface Run {
  readonly column: number;
  readonly text: string;
  readonly style: Style;
}

export type Line = readonly Run[];

interface Cell {
  readonly character: string;
  readonly style: Style;
}

const PLAIN: Style = { bold: false, dim: false, colour: undefined };
const COLOURS: Readonly<Record<string, Style["colour"]>> = {
  "31": "red",
  "32": "green",
  "33": "yellow",
  "39": undefined,
};
// biome-ignore lint/suspicious/noControlCharactersInRegex: control sequences begin with the escape character
const TOKEN = /\u001b\[(\??[0-9;]*)([A-Za-z])|[\s\S]/gu;

/** Thrown for an unknown sequence: a picture without it would not show what users see. */
export class UnknownSequence extends Error {
  override readonly name = "UnknownSequence";
}

export class Terminal {
  readonly #columns: number;
  #main: Cell[][] = [[]];
  #second: Cell[][] | undefined;
  #row = 0;
  #column = 0;
  #kept = { row: 0, column: 0 };
  #style = PLAIN;

  constructor(columns: number) {
    this.#columns = columns;
  }

  write(text: string): void {
    for (const [token, parameters = "", verb] of text.matchAll(TOKEN)) {
      if (verb !== undefined) this.#control(parameters, verb);
      else if (token === "\n") this.#newLine();
      else if (token === "\r") this.#column = 0;
      else this.#put(token);
    }
  }

  /** What is on the screen, without empty lines at its end. */
  lines(): Line[] {
    const lines = this.#cells.map(runsOf);
    while (lines.length > 0 && lines.at(-1)?.length === 0) lines.pop();
    return lines;
  }

  get #cells(): Cell[][] {
    return this.#second ?? this.#main;
  }

  #put(character: string): void {
    if (this.#column >= this.#columns) this.#newLine();
    const line = this.#line();
    while (line.length < this.#column) line.push({ character: " ", style: PLAIN });
    line[this.#column++] = { character, style: this.#style };
  }

  #newLine(): void {
    this.#row++;
    this.#column = 0;
    this.#line();
  }

  #line(): Cell[] {
    const cells = this.#cells;
    while (cells.length <= this.#row) cells.push([]);
    return cells[this.#row] ?? [];
  }

  #control(parameters: string, verb: string): void {
    const sequence = `${parameters}${verb}`;
    if (verb === "m") for (const code of parameters.split(";")) this.#paint(code);
    else if (sequence === "H") [this.#row, this.#column] = [0, 0];
    else if (sequence === "J") this.#clearDown();
    else if (verb === "A") this.#row = Math.max(0, this.#row - (Number(parameters) || 1));
    else if (sequence === "?1049h") {
      this.#kept = { row: this.#row, column: this.#column };
      this.#second = [[]];
      [this.#row, this.#column] = [0, 0];
    } else if (sequence === "?1049l") {
      this.#second = undefined;
      [this.#row, this.#column] = [this.#kept.row, this.#kept.column];
    } else throw new UnknownSequence(`the pictures' terminal does not know ESC [ ${sequence}`);
  }

  #clearDown(): void {
    this.#line().length = this.#column;
    this.#cells.length = this.#row + 1;
  }

  #paint(code: string): void {
    if (code === "" || code === "0") this.#style = PLAIN;
    else if (code === "1") this.#style = { ...this.#style, bold: true };
    else if (code === "2") this.#style = { ...this.#style, dim: true };
    else if (code === "22") this.#style = { ...this.#style, bold: false, dim: false };
    else if (Object.hasOwn(COLOURS, code)) this.#style = { ...this.#style, colour: COLOURS[code] };
    else throw new UnknownSequence(`the pictures' terminal does not know colour ${code}`);
  }
}

function runsOf(cells: readonly Cell[]): Line {
  const runs: { column: number; text: string; style: Style }[] = [];
  cells.forEach(({ character, style }, column) => {
    const last = runs.at(-1);
    if (last && sameStyle(last.style, style)) last.text += character;
    else runs.push({ column, text: character, style });
  });
  return runs
    .map((run) => ({
      ...run,
      column: run.column + (run.text.length - run.text.trimStart().length),
      text: run.text.trim(),
    }))
    .filter(({ text }) => text !== "");
}

function sameStyle(a: Style, b: Style): boolean {
  return a.bold === b.bold && a.dim === b.dim && a.colour === b.colour;
}

/** The line as plain text. */
export function textOf(line: Line): string {
  let text = "";
  for (const run of line) text = text.padEnd(run.column) + run.text;
  return text;
}
