/**
 * YAML that is text in a field, written as Karmada's library writes it: sorted keys, lists at the level of their key,
 * quotes only where needed, long lines folded. Otherwise a member's text would differ from what Karmada sent there before
 * an adoption, although it means the same.
 */
import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";

/** A line is folded at the first space behind this column. */
const BEST_WIDTH = 80;
const INDENT = 2;

export function printYamlText(value: Json): string {
  const lines = isCollection(value) ? block(value, 0) : [scalar(value, 0, 0)];
  return `${lines.join("\n")}\n`;
}

function isCollection(value: Json | undefined): value is Json[] | JsonObject {
  return Array.isArray(value) ? value.length > 0 : isJsonObject(value) && Object.keys(value).length > 0;
}

/** The lines of a list or map that is not empty, each with its indentation. */
function block(value: Json[] | JsonObject, indent: number): string[] {
  const pad = " ".repeat(indent);
  if (Array.isArray(value)) return value.flatMap((each) => listItem(each, indent));
  const entries = Object.entries(value).sort(([a], [b]) => compareKeys(a, b));
  return entries.flatMap(([key, each]) => {
    const name = `${pad}${keyText(key)}:`;
    if (each !== undefined && isCollection(each))
      return [name, ...block(each, Array.isArray(each) ? indent : indent + INDENT)];
    return [`${name} ${scalar(each ?? null, name.length + 1, indent + INDENT)}`];
  });
}

function listItem(value: Json, indent: number): string[] {
  const pad = " ".repeat(indent);
  if (!isCollection(value)) return [`${pad}- ${scalar(value, indent + INDENT, indent + INDENT)}`];
  const [first = "", ...rest] = block(value, indent + INDENT);
  return [`${pad}- ${first.slice(indent + INDENT)}`, ...rest];
}

/** `column`: where it begins. `indent`: of lines that follow. */
function scalar(value: Json, column: number, indent: number): string {
  if (typeof value === "string") return text(value, column, indent);
  if (typeof value === "number") return number(value);
  if (Array.isArray(value)) return "[]";
  return isJsonObject(value) ? "{}" : String(value);
}

/** Whole numbers in full; others as short as possible, with an exponent from a million on. */
function number(value: number): string {
  if (Number.isSafeInteger(value)) return String(value);
  const [digits = "", exponent = ""] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 6) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

/** Digits as numbers, letters behind everything else. */
function compareKeys(a: string, b: string): number {
  let at = 0;
  while (at < a.length && a[at] === b[at]) at += 1;
  const [left = "", right = ""] = [a[at], b[at]];
  if (left === "" || right === "") return a.length - b.length;
  const isLetter = (character: string) => /\p{L}/u.test(character);
  if (isLetter(left) !== isLetter(right)) return isLetter(left) ? 1 : -1;
  const numbers = [a, b].map((key) => /^\d+/.exec(key.slice(at))?.[0]);
  if (numbers[0] && numbers[1] && Number(numbers[0]) !== Number(numbers[1]))
    return Number(numbers[0]) - Number(numbers[1]);
  return left < right ? -1 : 1;
}

const PRINTABLE = /^[\n\x20-\x7e\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd]*$/;

function keyText(key: string): string {
  if (key.includes("\n") || !PRINTABLE.test(key)) return doubleQuoted(key);
  if (!isString(key)) return doubleQuoted(key);
  return isPlain(key) ? key : singleQuoted(key);
}

function text(value: string, column: number, indent: number): string {
  const isSpecial = !PRINTABLE.test(value) || value.includes(" \n");
  if (value.includes("\n")) return isSpecial || value.endsWith(" ") ? doubleQuoted(value) : literal(value, indent);
  if (isSpecial || !isString(value)) return doubleQuoted(value);
  return folded(isPlain(value) ? value : singleQuoted(value), column, indent, isPlain(value) ? 0 : 1);
}

function literal(value: string, indent: number): string {
  const hint = /^[ \n]/.test(value) ? String(INDENT) : "";
  const chomping = !value.endsWith("\n") ? "-" : /^\n$|\n\n$/.test(value) ? "+" : "";
  const lines = (value.endsWith("\n") ? value.slice(0, -1) : value).split("\n");
  const indented = lines.map((line) => (line === "" ? "" : " ".repeat(indent) + line));
  return [`|${hint}${chomping}`, ...indented].join("\n");
}

/** Breaks at single spaces behind the best width; `quotes`: characters at each end that are not the text's own. */
function folded(value: string, column: number, indent: number, quotes: number): string {
  let result = "";
  let at = column;
  for (const [index, character] of [...value].entries()) {
    const isInside = index > quotes && index < value.length - 1 - quotes;
    const isSingle = character === " " && value[index + 1] !== " " && value[index - 1] !== " ";
    if (isSingle && isInside && at > BEST_WIDTH) {
      result += `\n${" ".repeat(indent)}`;
      at = indent;
    } else {
      result += character;
      at += 1;
    }
  }
  return result;
}

function singleQuoted(value: string): string {
  return `'${value.replaceAll("'", "''")}'`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  "\0": "\\0",
  "\x07": "\\a",
  "\b": "\\b",
  "\t": "\\t",
  "\n": "\\n",
  "\v": "\\v",
  "\f": "\\f",
  "\r": "\\r",
  "\x1b": "\\e",
  '"': '\\"',
  "\\": "\\\\",
};

function doubleQuoted(value: string): string {
  const escaped = [...value].map((character) => {
    const known = ESCAPES[character];
    if (known !== undefined) return known;
    if (PRINTABLE.test(character)) return character;
    const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase();
    if (code.length <= 2) return `\\x${code.padStart(2, "0")}`;
    return code.length <= 4 ? `\\u${code.padStart(4, "0")}` : `\\U${code.padStart(8, "0")}`;
  });
  return `"${escaped.join("")}"`;
}

const WORDS = /^(?:|~|null|y|n|yes|no|on|off|true|false|[-+]?\.inf|\.nan)$/i;
const NUMBER = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
const OTHER_BASES = /^[-+]?0(?:x[\da-f]+|b[01]+|o?[0-7]+)$/i;
/** Minutes and seconds, which YAML 1.1 reads as one number. */
const BASE_60 = /^[-+]?\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?$/;
const TIME = /^\d{4}-\d{1,2}-\d{1,2}(?:(?:[Tt]| +)\d{1,2}:\d{1,2}:\d{1,2}(?:\.\d*)?(?:Z|[-+]\d{2}:\d{2})?)?$/;

/** Whether it would be read as a string if it stood there without quotes. */
function isString(value: string): boolean {
  const digits = value.replaceAll("_", "");
  return !(
    WORDS.test(value) ||
    (/^[-+.\d]/.test(value) && (NUMBER.test(digits) || OTHER_BASES.test(digits))) ||
    BASE_60.test(value) ||
    TIME.test(value)
  );
}

/** Whether no character of it has a meaning where it stands. */
function isPlain(value: string): boolean {
  if (/^ | $/.test(value) || /^(?:---|\.\.\.)/.test(value)) return false;
  if (/^[#,[\]{}&*!|>'"%@`]/.test(value) || /^[-?:](?: |$)/.test(value)) return false;
  return !/:(?: |$)| #/.test(value.slice(1));
}
