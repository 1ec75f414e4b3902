/** Thrown when a watch sends more text without a line end than any object can have. */
export class LineTooLongError extends Error {
  override readonly name = "LineTooLongError";
  constructor(limit: number) {
    super(`a watch sent a line of more than ${limit} characters`);
  }
}

/**
 * Splits text that arrives in pieces into lines. The text after the last line end is kept for the next piece, up to a
 * limit.
 */
export class LineSplitter {
  readonly #maxLength: number;
  #pieces: string[] = [];
  #length = 0;

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  *push(text: string): Generator<string, void, undefined> {
    let start = 0;
    for (let end = text.indexOf("\n"); end >= 0; end = text.indexOf("\n", start)) {
      this.#keep(text.slice(start, end));
      start = end + 1;
      const line = this.#pieces.length === 1 ? (this.#pieces[0] ?? "") : this.#pieces.join("");
      this.#pieces = [];
      this.#length = 0;
      if (line.trim() !== "") yield line;
    }
    if (start < text.length) this.#keep(start === 0 ? text : text.slice(start));
  }

  /** Whether an incomplete line is waiting. */
  get hasRest(): boolean {
    return this.#length > 0;
  }

  #keep(piece: string): void {
    this.#length += piece.length;
    if (this.#length > this.#maxLength) throw new LineTooLongError(this.#maxLength);
    this.#pieces.push(piece);
  }
}
