import type { Meter } from "../meter.ts";

/** V8 finds short text fast, but is slow for long text that nearly repeats itself. */
const SHORT_BYTES = 8;

/**
 * The first position of `wanted` at or after `start`, or -1. Takes time in proportion to the length of the text, for
 * any text.
 */
export function findPlain(meter: Meter, text: string, wanted: string, start: number): number {
  meter.burn(Math.max(text.length - start, 0));
  if (wanted.length <= SHORT_BYTES) return text.indexOf(wanted, start);
  meter.burn(wanted.length);
  meter.reserve(wanted.length * Int32Array.BYTES_PER_ELEMENT);
  return knuthMorrisPratt(text, wanted, start);
}

function knuthMorrisPratt(text: string, wanted: string, start: number): number {
  const borders = bordersOf(wanted);
  let matched = 0;
  for (let at = start; at < text.length; at++) {
    const byte = text.charCodeAt(at);
    while (matched > 0 && wanted.charCodeAt(matched) !== byte) matched = borders[matched - 1] ?? 0;
    if (wanted.charCodeAt(matched) === byte) matched++;
    if (matched === wanted.length) return at - matched + 1;
  }
  return -1;
}

/** For each length, how much of the prefix of that length is also its suffix. */
function bordersOf(wanted: string): Int32Array {
  const borders = new Int32Array(wanted.length);
  let border = 0;
  for (let at = 1; at < wanted.length; at++) {
    const byte = wanted.charCodeAt(at);
    while (border > 0 && wanted.charCodeAt(border) !== byte) border = borders[border - 1] ?? 0;
    if (wanted.charCodeAt(border) === byte) border++;
    borders[at] = border;
  }
  return borders;
}
