import type { Meter } from "../meter.ts";
import { modulo, power, remainder } from "../operators.ts";
import type { LuaValue } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Arguments, Builtin } from "./arguments.ts";

export const MATH_CONSTANTS: Record<string, LuaValue> = { pi: Math.PI, huge: Number.MAX_VALUE };

const ONE_ARGUMENT: Record<string, (x: number) => number> = {
  abs: Math.abs,
  acos: Math.acos,
  asin: Math.asin,
  atan: Math.atan,
  ceil: Math.ceil,
  cos: Math.cos,
  cosh: Math.cosh,
  deg: (x) => (x * 180) / Math.PI,
  exp: Math.exp,
  floor: Math.floor,
  log: Math.log,
  log10: Math.log10,
  rad: (x) => (x * Math.PI) / 180,
  sin: Math.sin,
  sinh: Math.sinh,
  sqrt: Math.sqrt,
  tan: Math.tan,
  tanh: Math.tanh,
};

const TWO_ARGUMENTS: Record<string, (x: number, y: number, meter: Meter) => number> = {
  atan2: Math.atan2,
  fmod: (x, y, meter) => remainder(meter, x, y),
  mod: (x, y, meter) => modulo(meter, x, y),
  pow: power,
};

/** The cost of functions such as the sine of a large number, beyond the call itself. */
const FUNCTION_FUEL = 12;
/** A number close to zero is doubled up to 52 times. */
const FREXP_FUEL = 30;

export function mathLibrary(vm: Vm): Record<string, Builtin> {
  const library: Record<string, Builtin> = {
    frexp: (args, check) => {
      vm.meter.burn(FREXP_FUEL);
      return frexp(check.number(args, 1));
    },
    ldexp: (args, check) => check.number(args, 1) * 2 ** check.integer(args, 2),
    max: (args, check) => extreme(vm, args, check, (value, best) => value > best),
    min: (args, check) => extreme(vm, args, check, (value, best) => value < best),
    modf: (args, check) => {
      const value = check.number(args, 1);
      return [Math.trunc(value), Number.isFinite(value) ? remainder(vm.meter, value, 1) : 0];
    },
    random: (args, check) => random(vm, args, check),
    randomseed: (args, check) => {
      vm.randomState = check.integer(args, 1) >>> 0;
      return [];
    },
  };
  for (const [name, compute] of Object.entries(ONE_ARGUMENT)) {
    library[name] = (args, check) => {
      vm.meter.burn(FUNCTION_FUEL);
      return compute(check.number(args, 1));
    };
  }
  for (const [name, compute] of Object.entries(TWO_ARGUMENTS)) {
    library[name] = (args, check) => {
      vm.meter.burn(FUNCTION_FUEL);
      return compute(check.number(args, 1), check.number(args, 2), vm.meter);
    };
  }
  return library;
}

function extreme(
  vm: Vm,
  args: LuaValue[],
  check: Arguments,
  isBetter: (value: number, best: number) => boolean,
): number {
  vm.meter.burn(args.length);
  if (args.length === 0) check.raise("wrong number of arguments");
  let best = check.number(args, 1);
  for (let n = 2; n <= args.length; n++) {
    const value = check.number(args, n);
    if (isBetter(value, best)) best = value;
  }
  return best;
}

function frexp(value: number): [number, number] {
  if (value === 0 || !Number.isFinite(value)) return [value, 0];
  let exponent = Math.max(-1023, Math.floor(Math.log2(Math.abs(value))) + 1);
  let fraction = value * 2 ** -exponent;
  // log2 rounds, and numbers close to zero have fewer bits.
  while (Math.abs(fraction) < 0.5) {
    fraction *= 2;
    exponent--;
  }
  while (Math.abs(fraction) >= 1) {
    fraction /= 2;
    exponent++;
  }
  return [fraction, exponent];
}

/** The same numbers in every call: interpreting an object twice must give the same answer. */
function random(vm: Vm, args: LuaValue[], check: Arguments): number {
  const next = nextRandom(vm);
  if (args.length === 0) return next;
  const lowest = args.length === 1 ? 1 : check.integer(args, 1);
  const highest = check.integer(args, args.length === 1 ? 1 : 2);
  if (highest < lowest) check.raise("invalid argument to Intn");
  return lowest + Math.floor(next * (highest - lowest + 1));
}

/** mulberry32. */
function nextRandom(vm: Vm): number {
  vm.randomState = (vm.randomState + 0x6d2b79f5) >>> 0;
  let bits = vm.randomState;
  bits = Math.imul(bits ^ (bits >>> 15), bits | 1);
  bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61);
  return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
}
