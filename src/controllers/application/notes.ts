import type { Dispatched, ObjectRef } from "../../engine/index.ts";
import { keyOfRef } from "./manifest.ts";

/** What is kept with each dispatch object on the hub. None of it reaches a member. */
export const NOTES = {
  /** A digest of the object without its epoch. */
  content: "content",
  /** The epoch under which it was written. */
  epoch: "epoch",
  /** `keep`: ending the dispatch leaves the member's object. */
  end: "end",
  /** How often it was sent again because the member had lost it. */
  again: "again",
  /** A hook's delete policies. */
  hook: "hook",
} as const;

export function epochNote(notes: Dispatched["notes"]): number {
  const text = notes[NOTES.epoch];
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : 0;
}

export function isKept({ notes }: Dispatched): boolean {
  return notes[NOTES.end] === "keep";
}

/** What is dispatched to one cluster, by its object. */
export class DispatchedObjects {
  readonly #byRef: ReadonlyMap<string, Dispatched>;

  constructor(list: readonly Dispatched[]) {
    this.#byRef = new Map(list.map((one) => [keyOfRef(one.ref), one]));
  }

  get list(): Iterable<Dispatched> {
    return this.#byRef.values();
  }

  of(ref: ObjectRef): Dispatched | undefined {
    return this.#byRef.get(keyOfRef(ref));
  }
}
