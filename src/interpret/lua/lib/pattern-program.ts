/** Thrown for an invalid pattern. Never leaves the engine. */
export class BadPattern {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

/** Which of the 256 bytes match: 1 at their position. */
export type CharacterClass = Uint8Array;

/** What the matcher runs. Positions of the program are pc, positions of the text are sp. */
export type Instruction =
  | { op: "char"; code: number }
  | { op: "byte"; matches: CharacterClass }
  | { op: "split"; first: number; second: number }
  | { op: "jump"; to: number }
  | { op: "save"; slot: number }
  | { op: "position"; slot: number }
  | { op: "balance"; open: number; close: number }
  | { op: "back"; slot: number }
  | { op: "end" }
  | { op: "match" };

export interface Pattern {
  readonly program: Instruction[];
  /** Starts with ^: matches only at the start position. */
  readonly anchored: boolean;
  /** Two for the whole match and two for each capture. */
  readonly slots: number;
}
