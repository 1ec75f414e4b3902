/**
 * Lua strings are bytes. Inside the engine, a string holds one byte per character (0 to 255), so that lengths,
 * positions and patterns count bytes as in Lua. Text becomes UTF-8 bytes on the way in and text again on the way out.
 * Everything here takes time and memory in proportion to the text; what a script can make long is charged first.
 */
import { isUtf8 } from "node:buffer";
import type { Meter } from "./meter.ts";

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is exactly the ASCII bytes.
const ONLY_ASCII = /^[\x00-\x7f]*$/;
const REPLACEMENT = 0xfffd;

/** Searching for bytes beyond ASCII is free up to this length, and beyond it costs one unit per 8 bytes. */
const SHORT_TEXT_BYTES = 64;
const CHECK_SHIFT = 3;
/** Text beyond ASCII is copied, with two bytes per character on one side and one byte on the other. */
const COPIED_BYTES = 4;

export function isAscii(text: string): boolean {
  return ONLY_ASCII.test(text);
}

/** UTF-8; half of a surrogate pair becomes U+FFFD. */
export function textToBytes(text: string): string {
  return ONLY_ASCII.test(text) ? text : Buffer.from(text, "utf8").toString("latin1");
}

/** Every byte that belongs to no character becomes U+FFFD, as in Go. */
export function bytesToText(bytes: string): string {
  if (ONLY_ASCII.test(bytes)) return bytes;
  const buffer = Buffer.from(bytes, "latin1");
  return isUtf8(buffer) ? buffer.toString("utf8") : decodeLeniently(bytes);
}

/** `textToBytes`, charged. */
export function encode(meter: Meter, text: string): string {
  if (text.length > SHORT_TEXT_BYTES) meter.burn(text.length >>> CHECK_SHIFT);
  if (ONLY_ASCII.test(text)) return text;
  payForCopy(meter, text);
  return textToBytes(text);
}

/** `bytesToText`, charged. */
export function decode(meter: Meter, bytes: string): string {
  if (bytes.length > SHORT_TEXT_BYTES) meter.burn(bytes.length >>> CHECK_SHIFT);
  if (ONLY_ASCII.test(bytes)) return bytes;
  payForCopy(meter, bytes);
  return bytesToText(bytes);
}

/** Bytes that are not UTF-8 are decoded one by one. */
const COPY_FUEL = 4;

function payForCopy(meter: Meter, text: string): void {
  meter.text(text.length * COPIED_BYTES);
  meter.burn(text.length * COPY_FUEL);
}

function decodeLeniently(bytes: string): string {
  // No character takes more code units in UTF-16 than bytes in UTF-8.
  const units = Buffer.alloc(2 * bytes.length);
  let end = 0;
  for (let at = 0; at < bytes.length; ) {
    const length = runeLength(bytes, at);
    const code = length === 0 ? REPLACEMENT : length === 1 ? bytes.charCodeAt(at) : codePoint(bytes, at, length);
    if (code < 0x10000) end = units.writeUInt16LE(code, end);
    else {
      end = units.writeUInt16LE(0xd800 + ((code - 0x10000) >> 10), end);
      end = units.writeUInt16LE(0xdc00 + ((code - 0x10000) & 0x3ff), end);
    }
    at += Math.max(length, 1);
  }
  return units.toString("utf16le", 0, end);
}

function codePoint(bytes: string, at: number, length: number): number {
  let code = bytes.charCodeAt(at) & (0xff >> (length + 1));
  for (let i = 1; i < length; i++) code = (code << 6) | (bytes.charCodeAt(at + i) & 0x3f);
  return code;
}

/** How many bytes the character at this position has; 0 if the bytes are not UTF-8. */
function runeLength(bytes: string, at: number): number {
  const first = bytes.charCodeAt(at);
  if (first < 0x80) return 1;
  const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || at + length > bytes.length) return 0;
  const second = bytes.charCodeAt(at + 1);
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return 0;
  for (let i = 2; i < length; i++) if ((bytes.charCodeAt(at + i) & 0xc0) !== 0x80) return 0;
  return length;
}
