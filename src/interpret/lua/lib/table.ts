import { LONG_STRING_SHIFT, STRING_BYTES } from "../meter.ts";
import { textOfNumber } from "../numbers.ts";
import { lessThan } from "../operators.ts";
import type { LuaTable } from "../table.ts";
import { type LuaFunction, type LuaValue, NOTHING, typeName } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Arguments, Builtin } from "./arguments.ts";

export function tableLibrary(vm: Vm): Record<string, Builtin> {
  return {
    concat: (args, check) => concat(vm, args, check),
    getn: (args, check) => check.table(args, 1).length(),
    insert: (args, check) => {
      const table = check.table(args, 1);
      if (args.length === 1) check.raise("wrong number of arguments");
      if (args.length === 2) table.append(args[1]);
      else table.insert(check.integer(args, 2), args[2]);
      return NOTHING;
    },
    maxn: (args, check) => check.table(args, 1).length(),
    remove: (args, check) => check.table(args, 1).remove(args.length === 1 ? -1 : check.integer(args, 2)),
    sort: (args, check) => {
      const table = check.table(args, 1);
      sort(vm, table, args.length === 1 ? undefined : check.function(args, 2));
      return NOTHING;
    },
  };
}

/** Each piece is kept in a list, with its separator, until all are joined. */
const PIECE_BYTES = 32;

function concat(vm: Vm, args: LuaValue[], check: Arguments): string | number {
  const table = check.table(args, 1);
  const separator = check.stringOr(args, 2, "");
  const length = table.length();
  const from = check.integerOr(args, 3, 1);
  const to = Math.min(check.integerOr(args, 4, length), length);
  if (args.length === 3 && (from > length || from < 1)) return "";
  const { meter } = vm;
  meter.reserve(STRING_BYTES);
  const first = Math.max(Math.min(from, length), 1);
  const only = table.getInt(first);
  // A single number stays a number, as in gopher-lua.
  if (first === to && typeof only === "number") return only;
  const pieces: string[] = [];
  for (let i = first; i <= to; i++) {
    const value = table.getInt(i);
    const piece = typeof value === "number" ? textOfNumber(meter, value) : value;
    if (typeof piece !== "string") {
      return check.raise(`invalid value (${typeName(value)}) at index ${i} in table for concat`);
    }
    const size = piece.length + separator.length;
    meter.reserve(PIECE_BYTES + size);
    meter.burn(4 + (size >>> LONG_STRING_SHIFT));
    pieces.push(piece);
  }
  return pieces.join(separator);
}

/** Two lists that are filled from each other in turn. */
const SORT_BYTES = 32;

/** A merge sort: equal elements keep their order, and an inconsistent order does no harm. */
function sort(vm: Vm, table: LuaTable, order: LuaFunction | undefined): void {
  table.length();
  const { meter } = vm;
  const isLess = (a: LuaValue, b: LuaValue): boolean => {
    meter.burn(4);
    if (order === undefined) return lessThan(meter, a, b, meter.line);
    const answer = vm.callOne(order, [a, b]);
    return answer !== undefined && answer !== false;
  };
  meter.allocate(table.array.length * SORT_BYTES);
  let from = table.array.slice();
  let to = table.array.slice();
  for (let width = 1; width < from.length; width *= 2) {
    meter.burn(from.length);
    for (let start = 0; start < from.length; start += 2 * width) merge(from, start, width, isLess, to);
    [from, to] = [to, from];
  }
  // The order function may have changed the table meanwhile.
  for (let i = 0; i < from.length && i < table.array.length; i++) table.array[i] = from[i];
}

function merge(
  from: LuaValue[],
  start: number,
  width: number,
  isLess: (a: LuaValue, b: LuaValue) => boolean,
  to: LuaValue[],
): void {
  const middle = Math.min(start + width, from.length);
  const end = Math.min(start + 2 * width, from.length);
  let left = start;
  let right = middle;
  let at = start;
  while (left < middle && right < end) to[at++] = isLess(from[right], from[left]) ? from[right++] : from[left++];
  while (left < middle) to[at++] = from[left++];
  while (right < end) to[at++] = from[right++];
}
