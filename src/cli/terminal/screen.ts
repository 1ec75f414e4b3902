import type { Output } from "./io.ts";

const HOME_AND_CLEAR_DOWN = "\u001b[H\u001b[J";
const ALTERNATE_SCREEN = "\u001b[?1049h";
const NORMAL_SCREEN = "\u001b[?1049l";

/** A picture that is redrawn in place, on the terminal's alternate screen. */
export class Screen {
  readonly #output: Output;
  #drawn = "";

  constructor(output: Output) {
    this.#output = output;
  }

  open(): void {
    this.#output.write(ALTERNATE_SCREEN);
  }

  /** Lines that exceed the screen would scroll, and the next picture would not cover them. */
  draw(lines: readonly string[]): void {
    const text = lines.join("\n");
    if (text === this.#drawn) return;
    this.#drawn = text;
    this.#output.write(`${HOME_AND_CLEAR_DOWN}${text}\n`);
  }

  /** These lines stay, below the earlier content of the terminal. */
  close(lines: readonly string[]): void {
    this.#output.write(`${NORMAL_SCREEN}${lines.join("\n")}\n`);
  }
}
