/** The maximum length of an error in a script: it may quote a name of any length, and appears in conditions. */
const SHOWN_CHARACTERS = 300;

/** Thrown when a script does not compile: its text is not Lua, or it nests deeper than the engine allows. */
export class LuaSyntaxError extends Error {
  readonly script: string;
  readonly line: number;
  readonly reason: string;

  constructor(script: string, line: number, reason: string) {
    const shown = reason.length > SHOWN_CHARACTERS ? `${reason.slice(0, SHOWN_CHARACTERS)}...` : reason;
    super(`${script}:${line}: ${shown}`);
    this.name = "LuaSyntaxError";
    this.script = script;
    this.line = line;
    this.reason = shown;
  }
}

/** Thrown when a script fails while it runs, or returns what has no JSON form. `reason` is the text without position. */
export class LuaRuntimeError extends Error {
  readonly script: string;
  readonly line: number;
  readonly reason: string;

  constructor(script: string, line: number, reason: string) {
    super(`${script}:${line}: ${reason}`);
    this.name = "LuaRuntimeError";
    this.script = script;
    this.line = line;
    this.reason = reason;
  }
}

export type LuaLimitName = "fuel" | "memory" | "depth" | "size";

/** Thrown when a script exceeded one of its limits. No pcall inside the script can catch it. */
export class LuaLimitError extends Error {
  readonly script: string;
  readonly line: number;
  readonly limit: LuaLimitName;

  constructor(script: string, line: number, limit: LuaLimitName, detail: string) {
    super(`${script}:${line}: ${detail}`);
    this.name = "LuaLimitError";
    this.script = script;
    this.line = line;
    this.limit = limit;
  }
}
