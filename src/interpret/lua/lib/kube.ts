import type { Json } from "../../../runtime/index.ts";
import { bytesToText, textToBytes } from "../bytes.ts";
import { luaToJson, NotJson } from "../convert.ts";
import { numberToString } from "../numbers.ts";
import { podDependencies, podRequirements, WrongShape } from "../pods.ts";
import { Quantity, QuantityError } from "../quantity.ts";
import { jsonToLua } from "../table.ts";
import { LuaThrow, type LuaValue } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Arguments, Builtin } from "./arguments.ts";

/** No quantity that means anything is longer; the arithmetic on a longer one would take time out of proportion. */
const MAX_QUANTITY_BYTES = 400;

/** Arithmetic on numbers of hundreds of digits takes about as long as this many operations. */
const QUANTITY_FUEL = 100;

/** What `require("kube")` returns: Karmada's four helpers. */
export function kubeLibrary(vm: Vm): Record<string, Builtin> {
  return {
    resourceAdd: (args, check) => {
      let sum = Quantity.ZERO;
      for (let n = 1; n <= args.length; n++) {
        sum = sum.add(quantity(vm, args, n, check));
      }
      return vm.meter.string(sum.toString());
    },
    getResourceQuantity: (args, check) => {
      if (args.length !== 1) check.raise("getResourceQuantity only accepts one argument");
      const number = quantity(vm, args, 1, check).toNumber();
      if (number < 0) check.raise("int approximation unexpectedly returned a negative value");
      if (number === Number.POSITIVE_INFINITY) {
        check.raise("int approximation unexpectedly returned an infinite value");
      }
      return number;
    },
    accuratePodRequirements: (args, check) => {
      if (args.length !== 1) check.raise("getPodRequirements only accepts one argument");
      return fromPodTemplate(vm, args, check, podRequirements);
    },
    getPodDependencies: (args, check) => {
      if (args.length !== 2) check.raise("getPodDependencies only accepts two argument");
      const namespace = namespaceOf(args, check);
      return fromPodTemplate(vm, args, check, (template) => podDependencies(template, namespace));
    },
  };
}

function quantity(vm: Vm, args: LuaValue[], n: number, check: Arguments): Quantity {
  const value = args[n - 1];
  vm.meter.burn(QUANTITY_FUEL);
  if (value === undefined) return Quantity.ZERO;
  if (typeof value !== "string") return check.wrongType(value, n, "string");
  if (value.length > MAX_QUANTITY_BYTES) check.fail(n, "the quantity is too long");
  try {
    return Quantity.parse(bytesToText(value));
  } catch (error) {
    if (error instanceof QuantityError) throw new LuaThrow(textToBytes(error.message), vm.meter.line);
    throw error;
  }
}

function namespaceOf(args: LuaValue[], check: Arguments): string {
  const value = args[1];
  if (value === undefined) return "default";
  if (typeof value === "string") return bytesToText(value);
  return typeof value === "number" ? numberToString(value) : check.wrongType(value, 2, "string");
}

function fromPodTemplate(
  vm: Vm,
  args: LuaValue[],
  check: Arguments,
  compute: (template: Json) => Json | undefined,
): LuaValue {
  const table = check.table(args, 1);
  try {
    return jsonToLua(vm.meter, compute(luaToJson(vm, table, { references: [], emptyResult: "object" })));
  } catch (error) {
    if (error instanceof NotJson || error instanceof WrongShape || error instanceof QuantityError) {
      const reason = error instanceof NotJson ? error.reason : error.message;
      return check.raise(textToBytes(`fail to convert lua value to PodTemplateSpec: ${reason}`));
    }
    throw error;
  }
}
