import type { Dispatched, ObjectRef } from "../../engine/index.ts";

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

export function isSameRef(a: ObjectRef, b: ObjectRef): boolean {
  return a.kind === b.kind && a.name === b.name && a.namespace === b.namespace && a.apiVersion === b.apiVersion;
}
