import type { ArithmeticOperator } from "./ast.ts";
import { LONG_STRING_BYTES, LONG_STRING_SHIFT, type Meter } from "./meter.ts";
import { numberToString, parseNumber } from "./numbers.ts";
import { LuaTable } from "./table.ts";
import { LuaFunction, type LuaValue, raise, typeName } from "./values.ts";
import type { Vm } from "./vm.ts";

/** `hint` names the indexed expression for the error, such as " (field 'spec')". */
export function index(vm: Vm, base: LuaValue, key: LuaValue, line: number, hint: string): LuaValue {
  if (base instanceof LuaTable) return base.get(key);
  if (typeof base === "string") return vm.strings.get(key);
  return notATable(vm, base, key, line, hint);
}

export function setIndex(vm: Vm, base: LuaValue, key: LuaValue, value: LuaValue, line: number, hint: string): void {
  if (!(base instanceof LuaTable)) notATable(vm, base, key, line, hint);
  else if (key === undefined) raise(line, "table index is nil");
  else if (typeof key === "number" && Number.isNaN(key)) raise(line, "table index is NaN");
  else base.set(key, value);
}

function notATable(vm: Vm, base: LuaValue, key: LuaValue, line: number, hint: string): never {
  raise(line, `attempt to index a non-table object(${typeName(base)}) with key '${toText(vm, key)}'${hint}`);
}

export function callee(value: LuaValue, line: number, hint: string): LuaFunction {
  if (value instanceof LuaFunction) return value;
  return raise(line, `attempt to call a non-function object${hint}`);
}

const EVENTS: Record<ArithmeticOperator, string> = {
  "+": "add",
  "-": "sub",
  "*": "mul",
  "/": "div",
  "%": "mod",
  "^": "pow",
};

/** The general case: strings that hold numbers count as numbers. */
export function arithmetic(operator: ArithmeticOperator, left: LuaValue, right: LuaValue, line: number): number {
  const a = typeof left === "string" ? (parseNumber(left) ?? left) : left;
  const b = typeof right === "string" ? (parseNumber(right) ?? right) : right;
  if (typeof a !== "number" || typeof b !== "number") {
    return raise(line, `cannot perform ${EVENTS[operator]} operation between ${typeName(a)} and ${typeName(b)}`);
  }
  switch (operator) {
    case "+":
      return a + b;
    case "-":
      return a - b;
    case "*":
      return a * b;
    case "/":
      return a / b;
    case "%":
      return modulo(a, b);
    case "^":
      return power(a, b);
  }
}

/** The result has the sign of the divisor. */
export function modulo(a: number, b: number): number {
  const rest = a % b;
  return (b > 0 && rest < 0) || (b < 0 && rest > 0) ? rest + b : rest;
}

/** 1 to any power is 1, which JavaScript denies for NaN and infinities. */
export function power(a: number, b: number): number {
  if (a === 1 || (a === -1 && Math.abs(b) === Number.POSITIVE_INFINITY)) return 1;
  return a ** b;
}

export function negate(value: LuaValue, line: number): number {
  const number = typeof value === "string" ? parseNumber(value) : value;
  return typeof number === "number" ? -number : raise(line, `__unm undefined: cannot negate a ${typeName(value)}`);
}

export function equals(meter: Meter, left: LuaValue, right: LuaValue): boolean {
  if (typeof left === "string" && typeof right === "string") payForComparing(meter, left, right);
  return left === right;
}

export function lessThan(meter: Meter, left: LuaValue, right: LuaValue, line: number): boolean {
  if (typeof left === "number" && typeof right === "number") return left < right;
  if (typeof left === "string" && typeof right === "string") {
    payForComparing(meter, left, right);
    return left < right;
  }
  return raise(line, `attempt to compare ${typeName(left)} with ${typeName(right)}`);
}

export function lessOrEqual(meter: Meter, left: LuaValue, right: LuaValue, line: number): boolean {
  if (typeof left === "number" && typeof right === "number") return left <= right;
  if (typeof left === "string" && typeof right === "string") {
    payForComparing(meter, left, right);
    return left <= right;
  }
  return raise(line, `attempt to compare ${typeName(left)} with ${typeName(right)}`);
}

/** Two long strings may be alike up to their last byte. */
function payForComparing(meter: Meter, left: string, right: string): void {
  const length = Math.min(left.length, right.length);
  if (length > LONG_STRING_BYTES) meter.burn(length >>> LONG_STRING_SHIFT);
}

export function lengthOf(value: LuaValue, line: number, hint: string): number {
  if (value instanceof LuaTable) return value.length();
  if (typeof value === "string") return value.length;
  return raise(line, `__len undefined: cannot take the length of a ${typeName(value)}${hint}`);
}

/** Puts the parts together, the rightmost two first, which decides what the error says. */
export function concat(vm: Vm, parts: readonly LuaValue[], line: number): string {
  let text = "";
  let size = 0;
  for (const part of parts) {
    const piece = typeof part === "string" ? part : typeof part === "number" ? numberToString(part) : undefined;
    if (piece === undefined) return cannotConcat(parts, line);
    size += piece.length;
    // Counted before it is built: no string longer than the limit ever exists.
    vm.meter.allocate(piece.length);
    text += piece;
  }
  vm.meter.burn(size >>> LONG_STRING_SHIFT);
  return text;
}

function cannotConcat(parts: readonly LuaValue[], line: number): never {
  let right = typeName(parts.at(-1));
  for (let i = parts.length - 2; i >= 0; i--) {
    const left = typeName(parts[i]);
    if (!isStringy(left) || !isStringy(right)) {
      raise(line, `cannot perform concat operation between ${left} and ${right}`);
    }
    right = "string";
  }
  return raise(line, "cannot perform concat operation");
}

function isStringy(type: string): boolean {
  return type === "string" || type === "number";
}

/** What tostring returns. Tables and functions are numbered as they are first asked for. */
export function toText(vm: Vm, value: LuaValue): string {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
      return numberToString(value);
    case "boolean":
      return value ? "true" : "false";
    case "undefined":
      return "nil";
    default:
      return `${typeName(value)}: 0x${vm.identityOf(value).toString(16).padStart(12, "0")}`;
  }
}
