import { LOOPS } from "./loops.ts";
import { NUMBERS } from "./numbers.ts";
import { HELPERS, VALUES } from "./outside.ts";
import { PATTERNS } from "./patterns.ts";
import type { HostileScript } from "./script.ts";
import { SOURCES } from "./source.ts";
import { STRINGS } from "./strings.ts";
import { TABLES } from "./tables.ts";
import { VARARGS } from "./varargs.ts";

/** Scripts written to stop the controller, by what they abuse. */
export const HOSTILE_SCRIPTS: Readonly<Record<string, readonly HostileScript[]>> = {
  loops: LOOPS,
  patterns: PATTERNS,
  strings: STRINGS,
  numbers: NUMBERS,
  varargs: VARARGS,
  tables: TABLES,
  helpers: HELPERS,
  values: VALUES,
  sources: SOURCES,
};
