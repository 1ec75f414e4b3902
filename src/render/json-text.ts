/**
 * JSON that is text in a field, as Karmada's patches read and write it: keys keep their order, numbers keep their
 * spelling, and characters that HTML would read are escaped. Otherwise a member's text would differ from what Karmada
 * sent there before an adoption.
 */
import type { Json } from "../runtime/index.ts";

/** Strings first, so that nothing inside them is taken for a number. */
const TOKENS = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
/** Stands before a number's spelling. */
const MARK = "\u0001number:";
const MARKED = /"\\u0001number:([^"]*)"/g;
const HTML = /[<>&\u2028\u2029]/g;

/** Throws SyntaxError if it is not JSON, or has a string with the mark in it, which no text has by accident. */
export function parseJsonText(text: string): Json {
  if (JSON.stringify(JSON.parse(text)).includes('"\\u0001number:'))
    throw new SyntaxError("a string has the mark in it");
  const marked = text.replace(TOKENS, (token) =>
    token.startsWith('"') || String(Number(token)) === token ? token : JSON.stringify(MARK + token),
  );
  return JSON.parse(marked);
}

export function printJsonText(value: Json): string {
  return JSON.stringify(value)
    .replace(MARKED, "$1")
    .replace(HTML, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`);
}
