import type { Json } from "../../../runtime/index.ts";

/** A script written to stop the controller. */
export interface HostileScript {
  /** What it attempts. */
  readonly name: string;
  /** Defines a function f(x). Every iteration of its loop, if it has one, starts with TICK. */
  readonly source: string;
  /** The object that the script gets. */
  readonly input?: Json;
  /** How it ends: out of fuel or memory, too deep, too large, not Lua, with an error, or with an answer. */
  readonly ends: "limit" | "depth" | "size" | "syntax" | "error" | "answers";
  /** The minimum charge of one iteration, in proportion to its work. */
  readonly round?: { readonly fuel?: number; readonly memoryBytes?: number };
}

/** Where a test counts iterations. It costs nothing when it is left out. */
export const TICK = "--[[tick]]";

export function body(text: string): string {
  return `function f(x)\n${text}\nend`;
}

/** An endless loop, after some preparation. */
export function forever(preparation: string, round: string): string {
  return body(`${preparation}\nwhile true do ${TICK} ${round} end`);
}

/** Lua that sets `name` to a string of 2^doublings times the text. */
export function repeated(name: string, text: string, doublings: number): string {
  return `local ${name} = ${JSON.stringify(text)} for i = 1, ${doublings} do ${name} = ${name} .. ${name} end`;
}
