import { parseFloatText, parseInteger, payForReading, toInt, withoutBlanks } from "../numbers.ts";
import { toText } from "../operators.ts";
import type { LuaTable } from "../table.ts";
import { allOf, firstOf, LuaFunction, LuaThrow, type LuaValue, NOTHING, raise, typeName } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Arguments, Builtin } from "./arguments.ts";

/** Karmada replaces these by functions that refuse, with the reason. */
const REFUSED = (
  "collectgarbage dofile getfenv getmetatable load loadfile loadstring rawequal rawget rawset setfenv setmetatable " +
  "module newproxy"
).split(" ");

export function baseLibrary(vm: Vm): Record<string, Builtin> {
  const refused = Object.fromEntries(
    REFUSED.map((name): [string, Builtin] => [
      name,
      (_args, check) =>
        check.raise(`call function ${name} is not supported in karmada customized resourceinterpreter.`),
    ]),
  );
  return {
    ...refused,
    assert: (args, check) => {
      const value = args[0];
      if (value === undefined || value === false) check.raise(check.stringOr(args, 2, "assertion failed!"));
      return args;
    },
    error: (args, check) => {
      const value = check.any(args, 1);
      const { line } = vm.meter;
      const level = check.integerOr(args, 2, 1);
      if (typeof value === "string" && level > 0) raise(line, value);
      throw new LuaThrow(value, line);
    },
    ipairs: (args, check) => [vm.iterators.ipairsNext, check.table(args, 1), 0],
    next: (args, check) => nextEntry(check.table(args, 1), args[1]),
    pairs: (args, check) => [vm.iterators.next, check.table(args, 1), undefined],
    pcall: (args, check) => {
      vm.meter.list(args.length);
      return protectedCall(vm, check.any(args, 1), args.slice(1));
    },
    /** There is no terminal here: printed text is dropped. */
    print: () => NOTHING,
    select: (args, check) => select(vm, args, check),
    tonumber: (args, check) => toNumber(vm, args, check),
    tostring: (args, check) => toText(vm, check.any(args, 1)),
    type: (args, check) => typeName(check.any(args, 1)),
    unpack: (args, check) => unpack(vm, args, check),
    xpcall: (args, check) => handledCall(vm, check.function(args, 1), check.function(args, 2)),
  };
}

/** The iterator that ipairs returns. */
export const ipairsNext: Builtin = (args, check) => {
  const position = check.integer(args, 2) + 1;
  const value = check.table(args, 1).getInt(position);
  return value === undefined ? NOTHING : [position, value];
};

function nextEntry(table: LuaTable, key: LuaValue): LuaValue | LuaValue[] {
  const position = table.entryFrom(table.positionAfter(key));
  return position < 0 ? undefined : [table.keyAt(position), table.valueAt(position)];
}

/** The cost of throwing and catching, and of each step of compiled code that the error passes. */
const THROW_FUEL = 100;
const UNWIND_FUEL = 30;

/** Limits are not LuaThrow: they pass through every pcall. */
function protectedCall(vm: Vm, callee: LuaValue, args: LuaValue[]): LuaValue[] {
  const { meter } = vm;
  if (!(callee instanceof LuaFunction)) return [false, `attempt to call a ${typeName(callee)} value`];
  const { depth } = meter;
  try {
    const results = allOf(vm.call(callee, args));
    meter.list(results.length);
    return [true, ...results];
  } catch (thrown) {
    if (!(thrown instanceof LuaThrow)) throw thrown;
    meter.burn(THROW_FUEL + (meter.depth - depth + 1) * vm.deepest * UNWIND_FUEL);
    if (typeof thrown.value === "string") meter.text(thrown.value.length);
    meter.depth = depth;
    return [false, thrown.value];
  }
}

function handledCall(vm: Vm, callee: LuaFunction, handler: LuaFunction): LuaValue[] {
  const results = protectedCall(vm, callee, []);
  if (results[0] === true) return results;
  return [false, firstOf(vm.call(handler, results.slice(1)))];
}

function select(vm: Vm, args: LuaValue[], check: Arguments): LuaValue | LuaValue[] {
  const index = args[0];
  if (index === "#") return args.length - 1;
  if (typeof index === "string") return check.fail(1, `invalid string '${index}'`);
  if (typeof index !== "number") return check.fail(1, `number or string expected, got ${typeName(index)}`);
  const whole = toInt(index);
  const from = whole < 0 ? args.length + whole : Math.min(whole, args.length);
  if (from < 1) check.fail(1, "index out of range");
  vm.meter.list(args.length - from);
  return args.slice(from);
}

/** Only text with a point is read as a fraction; 1e3 is not a number here, as in gopher-lua. */
function toNumber(vm: Vm, args: LuaValue[], check: Arguments): LuaValue {
  const base = check.integerOr(args, 2, 10);
  const value = check.any(args, 1);
  if (typeof value === "number") return value;
  if (typeof value !== "string") return undefined;
  payForReading(vm.meter, value);
  const text = withoutBlanks(value);
  if (text.includes(".")) return parseFloatText(text);
  if (args[1] === undefined && text.slice(0, 2).toLowerCase() === "0x") return parseInteger(text.slice(2), 16);
  return parseInteger(text, base);
}

function unpack(vm: Vm, args: LuaValue[], check: Arguments): LuaValue[] {
  const table = check.table(args, 1);
  const start = check.integerOr(args, 2, 1);
  const end = check.integerOr(args, 3, table.length());
  const count = Math.max(end - start + 1, 0);
  vm.meter.list(count);
  const values: LuaValue[] = [];
  for (let i = start; i <= end; i++) values.push(i < 1 ? undefined : table.getInt(i));
  return values;
}
