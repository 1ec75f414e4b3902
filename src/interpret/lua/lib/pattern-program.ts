/** Thrown for a pattern that means nothing. Never leaves the engine. */
export class BadPattern {
  readonly reason: string;

  constructor(reason: string) {
    this.reason = reason;
  }
}

export type CharacterClass = (byte: number) => boolean;

/** What the matcher runs. Positions of the program are pc, positions of the text are sp. */
export type Instruction =
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
  /** Begins with ^: matches at the start position only. */
  readonly anchored: boolean;
}
