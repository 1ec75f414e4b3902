// Where the repository mentions SPEC.md's rules by number.
import { readdirSync, readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";

export const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const FOLDERS = ["src", "test", "scripts", "bench", "docs"];
const PAGES = ["README.md", "ARCHITECTURE.md"];
const READ = /\.(?:ts|mjs|md|txt)$/;
/** In brackets, as in comments and test names; a letter without rules is something else. */
const BRACKETED = /\[([ACDFGIJLQRSTUW]\d{1,2})\]/g;
/** The rules that a property of the exploration, or a mutant, declares. */
const ABOUT = /\brules?: "([A-Z]\d{1,2}(?: [A-Z]\d{1,2})*)"/g;
const TITLE = /\b(?:test|it|describe)(?:\.\w+(?:\([^)]*\))?)*\(\s*(["'`])((?:(?!\1)[^\\]|\\.)*)\1/g;

export interface Mention {
  /** Relative to the repository's root. */
  readonly file: string;
  readonly rule: string;
}

/** Every mention of a rule, anywhere. */
export function mentions(): Mention[] {
  return files().flatMap((file) => {
    const text = readFileSync(join(ROOT, file), "utf8");
    const rules = [...numbersIn(text, BRACKETED), ...numbersIn(text, ABOUT)];
    return rules.map((rule) => ({ file, rule }));
  });
}

/** Rules that tests name in their titles, and that properties and mutants of the planner declare. */
export function testedRules(): Set<string> {
  const found = new Set<string>();
  for (const file of files()) {
    const text = readFileSync(join(ROOT, file), "utf8");
    for (const rule of numbersIn(text, ABOUT)) found.add(rule);
    if (!file.endsWith(".test.ts")) continue;
    for (const [, , title = ""] of text.matchAll(TITLE))
      for (const rule of numbersIn(title, BRACKETED)) found.add(rule);
  }
  return found;
}

function numbersIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].flatMap(([, numbers = ""]) => numbers.split(" "));
}

function files(): string[] {
  return [...FOLDERS.flatMap((folder) => below(join(ROOT, folder))), ...PAGES];
}

function below(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return entry.name === "node_modules" || entry.name === "dist" ? [] : below(path);
    return READ.test(entry.name) ? [relative(ROOT, path)] : [];
  });
}
