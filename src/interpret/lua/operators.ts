import type { ArithmeticOperator } from "./ast.ts";
import { LONG_STRING_BYTES, LONG_STRING_SHIFT, type Meter, STRING_BYTES } from "./meter.ts";
import { parseNumber, textOfNumber } from "./numbers.ts";
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
  // A long key is not copied here: the text is built when it is first read, and pcall charges for it.
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

/** The general case: numeric strings count as numbers. */
export function arithmetic(
  meter: Meter,
  operator: ArithmeticOperator,
  left: LuaValue,
  right: LuaValue,
  line: number,
): number {
  const a = typeof left === "string" ? (parseNumber(meter, left) ?? left) : left;
  const b = typeof right === "string" ? (parseNumber(meter, right) ?? right) : right;
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
      return modulo(meter, a, b);
    case "^":
      return power(a, b);
  }
}

/** The remainder of numbers this far apart is computed bit by bit. */
const FAR_APART = 2 ** 64;
const FAR_APART_FUEL = 300;

/** The remainder that JavaScript computes, charged. */
export function remainder(meter: Meter, a: number, b: number): number {
  if (Math.abs(a) > Math.abs(b) * FAR_APART) meter.burn(FAR_APART_FUEL);
  return a % b;
}

/** The result has the sign of the divisor. */
export function modulo(meter: Meter, a: number, b: number): number {
  const rest = remainder(meter, a, b);
  return (b > 0 && rest < 0) || (b < 0 && rest > 0) ? rest + b : rest;
}

/** 1 to any power is 1; JavaScript returns NaN for NaN and infinities. */
export function power(a: number, b: number): number {
  if (a === 1 || (a === -1 && Math.abs(b) === Number.POSITIVE_INFINITY)) return 1;
  return a ** b;
}

export function negate(meter: Meter, value: LuaValue, line: number): number {
  const number = typeof value === "string" ? parseNumber(meter, value) : value;
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

/** Two long strings may be equal up to their last byte. */
function payForComparing(meter: Meter, left: string, right: string): void {
  const length = Math.min(left.length, right.length);
  if (length > LONG_STRING_BYTES) meter.burn(length >>> LONG_STRING_SHIFT);
}

export function lengthOf(value: LuaValue, line: number, hint: string): number {
  if (value instanceof LuaTable) return value.length();
  if (typeof value === "string") return value.length;
  return raise(line, `__len undefined: cannot take the length of a ${typeName(value)}${hint}`);
}

/** Joins the parts, the rightmost two first, which decides the error message. */
export function concat(vm: Vm, parts: LuaValue[], line: number): string {
  const { meter } = vm;
  let size = 0;
  for (let at = 0; at < parts.length; at++) {
    const part = parts[at];
    const piece = typeof part === "string" ? part : typeof part === "number" ? textOfNumber(meter, part) : undefined;
    if (piece === undefined) return cannotConcat(parts, line);
    parts[at] = piece;
    size += piece.length;
  }
  // Charged before it is built: no string longer than the limit ever exists. Each join creates a new string.
  meter.reserve(STRING_BYTES * parts.length + size);
  meter.burn(4 * parts.length + (size >>> LONG_STRING_SHIFT));
  let text = "";
  for (const part of parts) text += part;
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

/** "function: 0x" and twelve digits. */
const IDENTITY_TEXT_BYTES = 24;
const IDENTITY_FUEL = 40;

/** The result of tostring. Tables and functions are numbered when they are first printed. */
export function toText(vm: Vm, value: LuaValue): string {
  switch (typeof value) {
    case "string":
      return value;
    case "number":
      return textOfNumber(vm.meter, value);
    case "boolean":
      return value ? "true" : "false";
    case "undefined":
      return "nil";
    default:
      vm.meter.text(IDENTITY_TEXT_BYTES);
      vm.meter.burn(IDENTITY_FUEL);
      return `${typeName(value)}: 0x${vm.identityOf(value).toString(16).padStart(12, "0")}`;
  }
}
