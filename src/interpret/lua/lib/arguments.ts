import { parseNumber, textOfNumber, toInt } from "../numbers.ts";
import { LuaTable } from "../table.ts";
import { LuaFunction, type LuaResult, type LuaValue, raise, typeName } from "../values.ts";
import type { Vm } from "../vm.ts";

/** A library function: its arguments, and the checker that knows its name. */
export type Builtin = (args: LuaValue[], check: Arguments) => LuaResult;

/** Reads arguments by gopher-lua's rules and raises its errors. Positions start at 1. */
export class Arguments {
  readonly #vm: Vm;
  readonly #name: string;

  constructor(vm: Vm, name: string) {
    this.#vm = vm;
    this.#name = name;
  }

  any(args: LuaValue[], n: number): LuaValue {
    if (n > args.length) this.fail(n, "value expected");
    return args[n - 1];
  }

  table(args: LuaValue[], n: number): LuaTable {
    const value = args[n - 1];
    return value instanceof LuaTable ? value : this.wrongType(value, n, "table");
  }

  function(args: LuaValue[], n: number): LuaFunction {
    const value = args[n - 1];
    return value instanceof LuaFunction ? value : this.wrongType(value, n, "function");
  }

  number(args: LuaValue[], n: number): number {
    const value = args[n - 1];
    const number = typeof value === "string" ? parseNumber(this.#vm.meter, value) : value;
    return typeof number === "number" ? number : this.wrongType(value, n, "number");
  }

  /** Positions and counts must be numbers; a numeric string is refused, as in gopher-lua. */
  integer(args: LuaValue[], n: number): number {
    const value = args[n - 1];
    return typeof value === "number" ? toInt(value) : this.wrongType(value, n, "number");
  }

  integerOr(args: LuaValue[], n: number, otherwise: number): number {
    return args[n - 1] === undefined ? otherwise : this.integer(args, n);
  }

  string(args: LuaValue[], n: number): string {
    const value = args[n - 1];
    if (typeof value === "string") return value;
    return typeof value === "number" ? textOfNumber(this.#vm.meter, value) : this.wrongType(value, n, "string");
  }

  stringOr(args: LuaValue[], n: number, otherwise: string): string {
    const value = args[n - 1];
    if (value === undefined) return otherwise;
    return typeof value === "string" ? value : this.wrongType(value, n, "string");
  }

  wrongType(value: LuaValue, n: number, expected: string): never {
    return this.fail(n, `${expected} expected, got ${typeName(value)}`);
  }

  fail(n: number, message: string): never {
    return this.raise(`bad argument #${n} to ${this.#name} (${message})`);
  }

  raise(message: string): never {
    return raise(this.#vm.meter.line, message);
  }
}

/** The cost of calling a library function, before it does anything. */
const BUILTIN_FUEL = 8;

/** Creates function values of a library's functions. */
export function functionsOf(vm: Vm, builtins: Record<string, Builtin>): Record<string, LuaFunction> {
  const { meter } = vm;
  return Object.fromEntries(
    Object.entries(builtins).map(([name, builtin]) => {
      const check = new Arguments(vm, name);
      const invoke = (args: LuaValue[]): LuaResult => {
        meter.burn(BUILTIN_FUEL);
        return builtin(args, check);
      };
      return [name, new LuaFunction(name, invoke)];
    }),
  );
}

export function tableOf(vm: Vm, entries: Record<string, LuaValue>): LuaTable {
  const table = new LuaTable(vm.meter);
  for (const [name, value] of Object.entries(entries)) table.set(name, value);
  return table;
}
