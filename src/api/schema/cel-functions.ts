import {
  type CelFunc,
  type CelInput,
  type CelList,
  CelScalar,
  type CelType,
  type CelValue,
  celFunc,
  celMethod,
  listType,
} from "@bufbuild/cel";
import { strings } from "@bufbuild/cel/ext";

const { BOOL, DYN, INT, STRING } = CelScalar;
const LIST = listType(DYN);

/** Kubernetes' additions to CEL that rules in CustomResourceDefinitions use, on top of the standard library. */
export const KUBERNETES_FUNCTIONS: CelFunc[] = [
  ...strings,
  method("isSorted", [], BOOL, (list) => pairs(list).every(([left, right]) => compare(left, right) <= 0)),
  method("sum", [], DYN, sum),
  method("min", [], DYN, (list) => extreme(list, "min", -1)),
  method("max", [], DYN, (list) => extreme(list, "max", 1)),
  method("indexOf", [DYN], INT, (list, wanted) => BigInt(items(list).findIndex((item) => same(item, wanted)))),
  method("lastIndexOf", [DYN], INT, (list, wanted) => BigInt(items(list).findLastIndex((item) => same(item, wanted)))),
  celFunc("isURL", [STRING], BOOL, (text) => /^[a-z][a-z0-9+.-]*:\/\//i.test(text) && URL.canParse(text)),
  celFunc("isQuantity", [STRING], BOOL, (text) => QUANTITY.test(text)),
];

/** The format of resource quantities: "100m", "1.5Gi", "1e3". */
const QUANTITY = /^[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[KMGTPE]i|[numkMGTPE]|[eE][+-]?\d+)?$/;

function method(
  name: string,
  parameters: readonly CelType[],
  result: CelType,
  body: (list: CelList, argument: CelValue) => CelInput,
): CelFunc {
  return celMethod(name, LIST, parameters, result, function (...values: CelValue[]) {
    return body(this, values[0] ?? null);
  });
}

function items(list: CelList): CelValue[] {
  return [...list];
}

function pairs(list: CelList): Array<[CelValue, CelValue]> {
  const all = items(list);
  return all.slice(1).map((right, index) => [all[index] ?? null, right]);
}

/** The types that CEL can order: numbers, strings, booleans; only values of one type compare. */
function compare(left: CelValue, right: CelValue): number {
  const comparable =
    (isNumber(left) && isNumber(right)) ||
    (typeof left === "string" && typeof right === "string") ||
    (typeof left === "boolean" && typeof right === "boolean");
  if (!comparable) throw new Error("no such overload");
  if (left === right) return 0;
  return left < right ? -1 : 1;
}

function isNumber(value: CelValue): value is bigint | number {
  return typeof value === "bigint" || typeof value === "number";
}

function same(left: CelValue, right: CelValue): boolean {
  if (isNumber(left) && isNumber(right)) return Number(left) === Number(right);
  return left === right;
}

function sum(list: CelList): CelInput {
  const all = items(list);
  if (all.every((item) => typeof item === "bigint")) return all.reduce((total, item) => total + item, 0n);
  if (all.every(isNumber)) return all.reduce<number>((total, item) => total + Number(item), 0);
  throw new Error("no such overload");
}

function extreme(list: CelList, name: string, direction: -1 | 1): CelValue {
  const all = items(list);
  const first = all[0];
  if (first === undefined) throw new Error(`${name} called on empty list`);
  return all.reduce((best, item) => (compare(item, best) === direction ? item : best), first);
}
