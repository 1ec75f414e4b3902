import { PatternCache } from "./lib/pattern.ts";
import { ENTRY_BYTES, Meter } from "./meter.ts";
import { LuaTable } from "./table.ts";
import { firstOf, type LuaFunction, type LuaResult, type LuaValue, NOTHING } from "./values.ts";

/**
 * The state of the compiled code of one script. A script is never re-entered, so one Vm serves all its calls. `start`
 * in script.ts gives every call fresh globals, libraries and limits, and `forget` releases what a call has created.
 */
export class Vm {
  readonly meter: Meter;
  patterns: PatternCache;
  globals: LuaTable;
  /** The library of string methods. */
  strings: LuaTable;
  /** The values of the return statement that ended a function. */
  returned: LuaResult = NOTHING;
  /** The function and arguments of a call in tail position, which the caller runs in place of the finished function. */
  tailCallee: LuaFunction | undefined;
  tailArgs: LuaValue[] = NOTHING;
  /** The label that a goto searches for. */
  label = "";
  /** The clock for os.time and os.date; a script without one has no time. */
  clock: { now(): number } | undefined;
  randomState = 0;
  /** Counts conversions to JSON, so that each can mark the tables it has seen. */
  conversions = 0;
  /** The kube module, once this call has required it. */
  loadedKube: LuaTable | undefined;
  /** The functions that pairs and ipairs return; a loop over one of them needs no calls. */
  iterators: { next: LuaFunction | undefined; ipairsNext: LuaFunction | undefined } = {
    next: undefined,
    ipairsNext: undefined,
  };
  /** How deep the code of this script nests inside one function: an error passes that many steps on its way out. */
  deepest = 0;
  #identities = new Map<LuaTable | LuaFunction, number>();

  constructor(script: string) {
    this.meter = new Meter(script);
    this.meter.memoryBytes = Number.POSITIVE_INFINITY;
    this.meter.fuel = Number.POSITIVE_INFINITY;
    this.patterns = new PatternCache(this.meter);
    this.globals = new LuaTable(this.meter);
    this.strings = new LuaTable(this.meter);
  }

  identityOf(object: LuaTable | LuaFunction): number {
    const known = this.#identities.get(object);
    if (known !== undefined) return known;
    this.meter.allocate(ENTRY_BYTES);
    this.#identities.set(object, this.#identities.size + 1);
    return this.#identities.size;
  }

  /** A script is kept for its next call; nothing that this call created may be kept with it. */
  forget(globals: LuaTable, strings: LuaTable): void {
    this.globals = globals;
    this.strings = strings;
    this.returned = NOTHING;
    this.tailCallee = undefined;
    this.tailArgs = NOTHING;
    this.clock = undefined;
    this.loadedKube = undefined;
    this.randomState = 0;
    if (!this.patterns.isEmpty) this.patterns = new PatternCache(this.meter);
    if (this.#identities.size > 0) this.#identities = new Map();
  }

  /** Calls back into the script from a library function. */
  call(callee: LuaFunction, args: LuaValue[]): LuaResult {
    const { meter } = this;
    if (++meter.depth > meter.callDepth) meter.tooDeep();
    meter.burn(1);
    const result = callee.invoke(args);
    meter.depth--;
    return result;
  }

  callOne(callee: LuaFunction, args: LuaValue[]): LuaValue {
    return firstOf(this.call(callee, args));
  }
}
