/**
 * Lua strings are bytes. Inside the engine a string holds one byte per character (0 to 255), so that lengths, positions
 * and patterns count bytes as in Lua; text is turned into UTF-8 bytes on the way in and back on the way out.
 */

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is exactly the ASCII bytes.
const ONLY_ASCII = /^[\x00-\x7f]*$/;
const REPLACEMENT = "\ufffd";
const REPLACEMENT_BYTES = "\xef\xbf\xbd";

export function isAscii(text: string): boolean {
  return ONLY_ASCII.test(text);
}

export function textToBytes(text: string): string {
  return ONLY_ASCII.test(text) ? text : encode(text);
}

export function bytesToText(bytes: string): string {
  return ONLY_ASCII.test(bytes) ? bytes : [...runes(bytes)].join("");
}

function encode(text: string): string {
  let bytes = "";
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0;
    if (code < 0x80) bytes += character;
    else if (code < 0x800) bytes += String.fromCharCode(0xc0 | (code >> 6), continuation(code));
    else if (code >= 0xd800 && code <= 0xdfff) bytes += REPLACEMENT_BYTES;
    else if (code < 0x10000) {
      bytes += String.fromCharCode(0xe0 | (code >> 12), continuation(code >> 6), continuation(code));
    } else {
      bytes += String.fromCharCode(
        0xf0 | (code >> 18),
        continuation(code >> 12),
        continuation(code >> 6),
        continuation(code),
      );
    }
  }
  return bytes;
}

function continuation(bits: number): number {
  return 0x80 | (bits & 0x3f);
}

/** The characters of UTF-8 bytes. Every byte that belongs to none becomes U+FFFD, as Go reads strings. */
export function* runes(bytes: string): Generator<string> {
  for (let at = 0; at < bytes.length; ) {
    const length = runeLength(bytes, at);
    if (length === 1) yield bytes.charAt(at);
    else if (length === 0) yield REPLACEMENT;
    else yield decodeRune(bytes, at, length);
    at += Math.max(length, 1);
  }
}

function decodeRune(bytes: string, at: number, length: number): string {
  let code = bytes.charCodeAt(at) & (0xff >> (length + 1));
  for (let i = 1; i < length; i++) code = (code << 6) | (bytes.charCodeAt(at + i) & 0x3f);
  return String.fromCodePoint(code);
}

/** How many bytes the character at this position has; 0 where the bytes are not UTF-8. */
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
