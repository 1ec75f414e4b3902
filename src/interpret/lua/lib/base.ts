import { SLOT_BYTES } from "../meter.ts";
import { parseFloatText, parseInteger, toInt } from "../numbers.ts";
import { toText } from "../operators.ts";
import type { LuaTable } from "../table.ts";
import { allOf, firstOf, LuaFunction, LuaThrow, type LuaValue, NOTHING, raise, typeName } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Arguments, Builtin } from "./arguments.ts";

/** Karmada replaces these by functions that refuse; a script that calls one learns why. */
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
    pcall: (args, check) => protectedCall(vm, check.any(args, 1), args.slice(1)),
    /** There is no terminal here: what is printed is dropped. */
    print: () => NOTHING,
    select,
    tonumber: toNumber,
    tostring: (args, check) => toText(vm, check.any(args, 1)),
    type: (args, check) => typeName(check.any(args, 1)),
    unpack: (args, check) => unpack(vm, args, check),
    xpcall: (args, check) => handledCall(vm, check.function(args, 1), check.function(args, 2)),
  };
}

/** What ipairs returns to go through a table. */
export const ipairsNext: Builtin = (args, check) => {
  const position = check.integer(args, 2) + 1;
  const value = check.table(args, 1).getInt(position);
  return value === undefined ? NOTHING : [position, value];
};

function nextEntry(table: LuaTable, key: LuaValue): LuaValue | LuaValue[] {
  const position = table.entryFrom(table.positionAfter(key));
  return position < 0 ? undefined : [table.keyAt(position), table.valueAt(position)];
}

/** Limits are no LuaThrow: they pass through every pcall. */
function protectedCall(vm: Vm, callee: LuaValue, args: LuaValue[]): LuaValue[] {
  if (!(callee instanceof LuaFunction)) return [false, `attempt to call a ${typeName(callee)} value`];
  const { depth } = vm.meter;
  try {
    return [true, ...allOf(vm.call(callee, args))];
  } catch (thrown) {
    if (!(thrown instanceof LuaThrow)) throw thrown;
    vm.meter.depth = depth;
    return [false, thrown.value];
  }
}

function handledCall(vm: Vm, callee: LuaFunction, handler: LuaFunction): LuaValue[] {
  const [ok, ...values] = protectedCall(vm, callee, []);
  return ok === true ? [true, ...values] : [false, firstOf(vm.call(handler, values))];
}

function select(args: LuaValue[], check: Arguments): LuaValue | LuaValue[] {
  const index = args[0];
  if (index === "#") return args.length - 1;
  if (typeof index === "string") return check.fail(1, `invalid string '${index}'`);
  if (typeof index !== "number") return check.fail(1, `number or string expected, got ${typeName(index)}`);
  const whole = toInt(index);
  const from = whole < 0 ? args.length + whole : Math.min(whole, args.length);
  if (from < 1) check.fail(1, "index out of range");
  return args.slice(from);
}

const BLANKS = /^[ \n\t]+|[ \n\t]+$/g;

/** Only text with a point is read as a fraction; 1e3 is no number here, because it is none in gopher-lua. */
function toNumber(args: LuaValue[], check: Arguments): LuaValue {
  const base = check.integerOr(args, 2, 10);
  const value = check.any(args, 1);
  if (typeof value === "number") return value;
  if (typeof value !== "string") return undefined;
  const text = value.replace(BLANKS, "");
  if (text.includes(".")) return parseFloatText(text);
  if (args[1] === undefined && /^0x/i.test(text)) return parseInteger(text.slice(2), 16);
  return parseInteger(text, base);
}

function unpack(vm: Vm, args: LuaValue[], check: Arguments): LuaValue[] {
  const table = check.table(args, 1);
  const start = check.integerOr(args, 2, 1);
  const end = check.integerOr(args, 3, table.length());
  const count = Math.max(end - start + 1, 0);
  vm.meter.allocate(count * SLOT_BYTES);
  vm.meter.burn(count);
  const values: LuaValue[] = [];
  for (let i = start; i <= end; i++) values.push(i < 1 ? undefined : table.getInt(i));
  return values;
}
