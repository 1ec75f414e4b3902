import type { Json } from "../../../runtime/index.ts";
import { decode, encode } from "../bytes.ts";
import { luaToJson, NotJson } from "../convert.ts";
import { textOfNumber } from "../numbers.ts";
import { podDependencies, podRequirements, WrongShape } from "../pods.ts";
import { Quantity, QuantityError, quantityFuel } from "../quantity.ts";
import { jsonToLua } from "../table.ts";
import { LuaThrow, type LuaValue } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Arguments, Builtin } from "./arguments.ts";

/** The text of the largest quantity: hundreds of digits on either side of the point. */
const SUM_BYTES = 1_024;

/** Reading a pod template takes as long as converting it, and this much memory for each unit. */
const TEMPLATE_BYTES = 16;

/** What `require("kube")` returns: Karmada's four helpers. */
export function kubeLibrary(vm: Vm): Record<string, Builtin> {
  return {
    resourceAdd: (args, check) => {
      vm.meter.text(SUM_BYTES);
      let sum = Quantity.ZERO;
      for (let n = 1; n <= args.length; n++) {
        sum = sum.add(quantity(vm, args, n, check));
      }
      return sum.toString();
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
      return fromPodTemplate(vm, args, check, (template) =>
        podRequirements(template, (text) => vm.meter.burn(quantityFuel(text))),
      );
    },
    getPodDependencies: (args, check) => {
      if (args.length !== 2) check.raise("getPodDependencies only accepts two argument");
      const namespace = namespaceOf(vm, args, check);
      return fromPodTemplate(vm, args, check, (template) => podDependencies(template, namespace));
    },
  };
}

function quantity(vm: Vm, args: LuaValue[], n: number, check: Arguments): Quantity {
  const value = args[n - 1];
  if (value === undefined) {
    vm.meter.burn(1);
    return Quantity.ZERO;
  }
  if (typeof value !== "string") return check.wrongType(value, n, "string");
  vm.meter.burn(quantityFuel(value));
  try {
    return Quantity.parse(decode(vm.meter, value));
  } catch (error) {
    if (error instanceof QuantityError) throw new LuaThrow(encode(vm.meter, error.message), vm.meter.line);
    throw error;
  }
}

function namespaceOf(vm: Vm, args: LuaValue[], check: Arguments): string {
  const value = args[1];
  if (value === undefined) return "default";
  if (typeof value === "string") return decode(vm.meter, value);
  return typeof value === "number" ? textOfNumber(vm.meter, value) : check.wrongType(value, 2, "string");
}

function fromPodTemplate(
  vm: Vm,
  args: LuaValue[],
  check: Arguments,
  compute: (template: Json) => Json | undefined,
): LuaValue {
  const { meter } = vm;
  const table = check.table(args, 1);
  const before = meter.fuel;
  try {
    const template = luaToJson(vm, table, { references: [], emptyResult: "object" });
    const converted = before - meter.fuel;
    meter.burn(converted);
    meter.reserve(converted * TEMPLATE_BYTES);
    return jsonToLua(meter, compute(template));
  } catch (error) {
    if (error instanceof NotJson || error instanceof WrongShape || error instanceof QuantityError) {
      const reason = error instanceof NotJson ? error.reason : error.message;
      return check.raise(encode(meter, `fail to convert lua value to PodTemplateSpec: ${reason}`));
    }
    throw error;
  }
}
