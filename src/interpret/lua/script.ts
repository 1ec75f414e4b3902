import type { Json } from "../../runtime/index.ts";
import { bytesToText, textToBytes } from "./bytes.ts";
import { compileMain, runClosure } from "./compile/functions.ts";
import { luaToJson, NotJson } from "./convert.ts";
import { LuaLimitError, LuaRuntimeError } from "./errors.ts";
import type { Closure } from "./frame.ts";
import { Library } from "./library.ts";
import { DEFAULT_LUA_LIMITS, type LuaLimits } from "./limits.ts";
import { toText } from "./operators.ts";
import { parse } from "./parser.ts";
import { jsonToLua } from "./table.ts";
import { allOf, CHUNK_NAME, LuaFunction, LuaThrow, type LuaValue, typeName } from "./values.ts";
import { Vm } from "./vm.ts";

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

/** A script may raise an error of any length; it ends up in conditions and logs. */
const MAX_REASON_CHARACTERS = 2_000;

/** One compiled script. Calls share nothing: globals that one call sets are gone in the next. */
export class LuaScript {
  readonly name: string;
  private readonly vm: Vm;
  private readonly library: Library;
  private readonly main: Closure;

  private constructor(name: string, vm: Vm, library: Library, main: Closure) {
    this.name = name;
    this.vm = vm;
    this.library = library;
    this.main = main;
  }

  /** Throws LuaSyntaxError. */
  static compile(source: string, options: LuaCompileOptions): LuaScript {
    const bytes = textToBytes(source);
    const main = parse(bytes, options.name);
    const vm = new Vm(options.name);
    const library = new Library(vm, bytes);
    return new LuaScript(options.name, vm, library, compileMain(vm, main));
  }

  /** Whether running the script defines a global function of this name. A script that fails defines none. */
  has(functionName: string): boolean {
    try {
      return this.protect(() => this.start({}, functionName) instanceof LuaFunction);
    } catch (error) {
      if (error instanceof LuaRuntimeError || error instanceof LuaLimitError) return false;
      throw error;
    }
  }

  /**
   * Runs the script, then the named global function. Results are JSON, nil is null. Throws LuaRuntimeError and
   * LuaLimitError.
   */
  call(functionName: string, args: readonly Json[], options: LuaCallOptions = {}): Json[] {
    return this.protect(() => {
      const { vm } = this;
      const callee = this.start(options, functionName);
      if (callee === undefined) throw new LuaRuntimeError(this.name, 1, `not found function ${functionName}`);
      if (!(callee instanceof LuaFunction)) {
        throw new LuaRuntimeError(this.name, 1, `${functionName} is not a function: ${typeName(callee)}`);
      }
      const values = args.map((arg) => jsonToLua(vm.meter, arg));
      const results = allOf(callee.invoke(values));
      const { references = [], emptyResult = "object" } = options;
      try {
        return results.map((value) => luaToJson(vm, value, { references, emptyResult }));
      } catch (error) {
        if (!(error instanceof NotJson)) throw error;
        const line = callee.closure?.prototype.node.line ?? 1;
        throw new LuaRuntimeError(this.name, line, `the result of ${functionName} has no JSON form: ${error.reason}`);
      }
    });
  }

  /** Runs the script from a clean state and returns what the name then stands for. */
  private start(options: LuaCallOptions, functionName: string): LuaValue {
    const { vm } = this;
    vm.meter.refill(options.limits === undefined ? DEFAULT_LUA_LIMITS : { ...DEFAULT_LUA_LIMITS, ...options.limits });
    vm.clock = options.clock;
    vm.randomState = 0;
    vm.forgetIdentities();
    this.library.install();
    runClosure(vm, this.main, []);
    return vm.globals.getString(textToBytes(functionName));
  }

  /** Turns what the script threw into the errors of this room. */
  private protect<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof LuaThrow) throw this.runtimeError(error);
      // Deep recursion through expressions can exhaust the stack before the count of calls does.
      if (error instanceof RangeError) {
        throw new LuaLimitError(this.name, this.vm.meter.line, "depth", "stack overflow: calls nest too deeply");
      }
      throw error;
    }
  }

  private runtimeError({ value, line }: LuaThrow): LuaRuntimeError {
    const text = bytesToText(toText(this.vm, value));
    const prefix = `${CHUNK_NAME}:${line}: `;
    const reason = text.startsWith(prefix) ? text.slice(prefix.length) : text;
    const isLong = reason.length > MAX_REASON_CHARACTERS;
    return new LuaRuntimeError(this.name, line, isLong ? `${reason.slice(0, MAX_REASON_CHARACTERS)}...` : reason);
  }
}
