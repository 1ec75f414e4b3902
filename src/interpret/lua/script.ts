import type { Json } from "../../runtime/index.ts";
import type { LuaLimits } from "./limits.ts";

export interface LuaCompileOptions {
  /** Names the script in errors, such as `ResourceInterpreterCustomization kafka: healthInterpretation`. */
  name: string;
}

export interface LuaCallOptions {
  limits?: Partial<LuaLimits>;
  /** What os.time and os.date take for now. Without it a script that asks for the time fails. */
  clock?: { now(): number };
  /**
   * Objects of the same kind as the result. Lua cannot tell {} from []: an empty table in the result becomes {} where a
   * reference has {} at that path, [] where one has [], and is left out where none has either, as in Karmada.
   */
  references?: readonly Json[];
  /** What a result that is itself an empty table becomes; "object" without it. */
  emptyResult?: "object" | "array";
}

/** One compiled script. Calls share nothing: globals that one call sets are gone in the next. */
export class LuaScript {
  readonly name: string;

  private constructor(name: string) {
    this.name = name;
  }

  /** Throws LuaSyntaxError. */
  static compile(_source: string, options: LuaCompileOptions): LuaScript {
    return new LuaScript(options.name);
  }

  /** Whether running the script defines a global function of this name. Throws what running it throws. */
  has(_functionName: string): boolean {
    throw new Error("not built yet");
  }

  /**
   * Runs the script, then the named global function. Results are JSON, nil is null. Throws LuaRuntimeError and
   * LuaLimitError.
   */
  call(_functionName: string, _args: readonly Json[], _options: LuaCallOptions = {}): Json[] {
    throw new Error("not built yet");
  }
}
