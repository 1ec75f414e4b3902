import type { Json } from "../../runtime/index.ts";
import { CompileBudget } from "./budget.ts";
import { bytesToText, textToBytes } from "./bytes.ts";
import { compileMain, runClosure } from "./compile/functions.ts";
import { luaToJson, NotJson } from "./convert.ts";
import { LuaLimitError, LuaRuntimeError } from "./errors.ts";
import type { Closure } from "./frame.ts";
import { Library } from "./library.ts";
import { DEFAULT_LUA_LIMITS, type LuaLimits } from "./limits.ts";
import type { LuaUsage } from "./meter.ts";
import { toText } from "./operators.ts";
import { parse } from "./parser.ts";
import { jsonToLua } from "./table.ts";
import { allOf, CHUNK_NAME, LuaFunction, LuaThrow, type LuaValue, typeName } from "./values.ts";
import { Vm } from "./vm.ts";

export interface LuaCompileOptions {
  /** The script's name in errors, such as `ResourceInterpreterCustomization kafka: healthInterpretation`. */
  readonly name: string;
}

export interface LuaCallOptions {
  readonly limits?: Partial<LuaLimits>;
  /** The current time for os.time and os.date. Without it, a script that reads the time fails. */
  readonly clock?: { now(): number };
  /**
   * Objects of the same kind as the result. Lua cannot distinguish {} and []. So an empty table in the result becomes
   * {} if a reference has {} at that path, [] if one has [], and is left out if none has either, as in Karmada.
   */
  readonly references?: readonly Json[];
  /** What a result that is itself an empty table becomes; by default "object". */
  readonly emptyResult?: "object" | "array";
}

/** A script may raise an error of any length; it appears in conditions and logs. */
const MAX_REASON_CHARACTERS = 2_000;
/** Enough bytes for that many characters, and for the position before them. */
const MAX_ERROR_BYTES = 4 * MAX_REASON_CHARACTERS + 100;

/** One compiled script. Calls share nothing: globals that one call sets are gone in the next. */
export class LuaScript {
  readonly name: string;
  /** How many steps compiling took: in proportion to the memory that the cached script takes. */
  readonly size: number;
  readonly #vm: Vm;
  readonly #library: Library;
  readonly #main: Closure;

  private constructor(name: string, size: number, vm: Vm, library: Library, main: Closure) {
    this.name = name;
    this.size = size;
    this.#vm = vm;
    this.#library = library;
    this.#main = main;
  }

  /** Throws LuaSyntaxError, and LuaLimitError for a script that is too large to be compiled. */
  static compile(source: string, options: LuaCompileOptions): LuaScript {
    const { name } = options;
    const budget = new CompileBudget(name);
    budget.checkLength(source);
    try {
      const bytes = textToBytes(source);
      const main = parse(bytes, name, budget);
      const vm = new Vm(name);
      const library = new Library(vm, bytes);
      return new LuaScript(name, budget.spent, vm, library, compileMain(vm, main));
    } catch (error) {
      if (error instanceof RangeError) throw new LuaLimitError(name, 1, "depth", "the script nests too deeply");
      throw error;
    }
  }

  /** Whether running the script defines a global function of this name. Throws what the script's own lines throw. */
  has(functionName: string, options: Pick<LuaCallOptions, "limits" | "clock"> = {}): boolean {
    return this.#protect(() => this.#start(options, functionName) instanceof LuaFunction);
  }

  /** What the last call used of its limits. */
  usage(): LuaUsage {
    return this.#vm.meter.usage();
  }

  /**
   * Runs the script, then the named global function. Results are JSON, nil is null. Throws LuaRuntimeError and
   * LuaLimitError.
   */
  call(functionName: string, args: readonly Json[], options: LuaCallOptions = {}): Json[] {
    return this.#protect(() => {
      const vm = this.#vm;
      const callee = this.#start(options, functionName);
      if (callee === undefined) throw new LuaRuntimeError(this.name, 1, `not found function ${functionName}`);
      if (!(callee instanceof LuaFunction)) {
        throw new LuaRuntimeError(this.name, 1, `${functionName} is not a function: ${typeName(callee)}`);
      }
      const values = args.map((arg) => jsonToLua(vm.meter, arg));
      const results = allOf(callee.invoke(values));
      vm.meter.list(results.length);
      const { references = [], emptyResult = "object" } = options;
      try {
        return results.map((value) => luaToJson(vm, value, { references, emptyResult }));
      } catch (error) {
        if (!(error instanceof NotJson)) throw error;
        const line = callee.closure?.prototype.line ?? 1;
        throw new LuaRuntimeError(this.name, line, `the result of ${functionName} has no JSON form: ${error.reason}`);
      }
    });
  }

  /** Runs the script from a clean state and returns the value of the global name. */
  #start(options: LuaCallOptions, functionName: string): LuaValue {
    const vm = this.#vm;
    vm.meter.refill(options.limits === undefined ? DEFAULT_LUA_LIMITS : { ...DEFAULT_LUA_LIMITS, ...options.limits });
    vm.clock = options.clock;
    this.#library.install();
    runClosure(vm, this.#main, []);
    return vm.globals.getString(textToBytes(functionName));
  }

  /** Converts what the script threw into the errors of this room. */
  #protect<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      if (error instanceof LuaThrow) throw this.#runtimeError(error);
      // Deep recursion through expressions can exhaust the stack before the count of calls does.
      if (error instanceof RangeError) {
        throw new LuaLimitError(this.name, this.#vm.meter.line, "depth", "stack overflow: calls nest too deeply");
      }
      throw error;
    } finally {
      this.#library.uninstall();
    }
  }

  #runtimeError({ value, line }: LuaThrow): LuaRuntimeError {
    const whole = toText(this.#vm, value);
    this.#vm.meter.text(whole.length);
    const text = bytesToText(whole.slice(0, MAX_ERROR_BYTES));
    const prefix = `${CHUNK_NAME}:${line}: `;
    const reason = text.startsWith(prefix) ? text.slice(prefix.length) : text;
    const isLong = reason.length > MAX_REASON_CHARACTERS;
    return new LuaRuntimeError(this.name, line, isLong ? `${reason.slice(0, MAX_REASON_CHARACTERS)}...` : reason);
  }
}
