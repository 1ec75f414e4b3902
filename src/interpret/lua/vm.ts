import { PatternCache } from "./lib/pattern.ts";
import { ENTRY_BYTES, Meter } from "./meter.ts";
import { LuaTable } from "./table.ts";
import { firstOf, type LuaFunction, type LuaResult, type LuaValue, NOTHING } from "./values.ts";

/**
 * What the compiled code of one script works on. A script is never re-entered, so one Vm serves all its calls; `begin`
 * in script.ts gives every call fresh globals, libraries and limits.
 */
export class Vm {
  readonly meter: Meter;
  readonly patterns = new PatternCache();
  globals: LuaTable;
  /** The library that methods of strings are found in. */
  strings: LuaTable;
  /** The values of the return statement that ended a function. */
  returned: LuaResult = NOTHING;
  /** The function and arguments of a call in tail position, which the caller runs in place of the finished function. */
  tailCallee: LuaFunction | undefined;
  tailArgs: LuaValue[] = NOTHING;
  /** The label that a goto looks for. */
  label = "";
  /** What os.time and os.date ask; a script without one has no time. */
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
  private identities = new Map<LuaTable | LuaFunction, number>();

  constructor(script: string) {
    this.meter = new Meter(script);
    this.meter.memoryBytes = Number.POSITIVE_INFINITY;
    this.meter.fuel = Number.POSITIVE_INFINITY;
    this.globals = new LuaTable(this.meter);
    this.strings = new LuaTable(this.meter);
  }

  identityOf(object: LuaTable | LuaFunction): number {
    const known = this.identities.get(object);
    if (known !== undefined) return known;
    this.meter.allocate(ENTRY_BYTES);
    this.identities.set(object, this.identities.size + 1);
    return this.identities.size;
  }

  forgetIdentities(): void {
    if (this.identities.size > 0) this.identities = new Map();
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
