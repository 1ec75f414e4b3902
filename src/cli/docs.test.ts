/** The documentation is correct: commands and flags exist, reasons are complete, links are valid. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { APPLICATION_PHASES, CLUSTER_PHASES } from "../api/index.ts";
import { CONTROLLER_REASONS } from "../controllers/index.ts";
import { JOB_REASONS } from "../jobs/index.ts";
import { REASONS } from "../rollout/index.ts";
import { GUIDES } from "./commands/why/reasons.ts";
import { createProgram } from "./program.ts";
import { InstantClock, testIo } from "./testing/harness.ts";

const ROOT = new URL("../..", import.meta.url).pathname;
const PAGES = [
  "README.md",
  ...readdirSync(join(ROOT, "docs"), { recursive: true }).map((name) => `docs/${name}`),
].filter((path) => path.endsWith(".md") && existsSync(join(ROOT, path)));
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const program = createProgram(testIo(new InstantClock(), undefined)).program;

interface Line {
  readonly page: string;
  readonly words: readonly string[];
  /** A line to be pasted, not words in running text. */
  readonly whole: boolean;
}

/** `lockstep ...` in shell blocks and in running text. */
function commandLines(page: string): Line[] {
  const lines: Line[] = [];
  const text = read(page);
  for (const [, block = ""] of text.matchAll(/```sh\n([\s\S]*?)```/g)) {
    const shell = block.replaceAll(/<<'?(\w+)'?\n[\s\S]*?\n\1/g, "");
    for (const line of shell.split("\n")) {
      const words = wordsOf(line);
      if (words) lines.push({ page, words, whole: true });
    }
  }
  for (const [, code = ""] of text.replaceAll(/```[\s\S]*?```/g, "").matchAll(/`([^`\n]+)`/g)) {
    const words = wordsOf(code);
    if (words) lines.push({ page, words, whole: false });
  }
  return lines;
}

function wordsOf(line: string): string[] | undefined {
  const [, rest] = /^\s*(?:\.\/bin\/|kubectl )?lockstep(\s.*|)$/.exec(line) ?? [];
  if (rest === undefined) return undefined;
  const own = rest.split(/\s[|>#]|&&|;/)[0] ?? "";
  return own.trim().split(/\s+/).filter(Boolean);
}

/** The error in the line; undefined if it is valid. */
function problemOf({ words, whole }: Line): string | undefined {
  let command: Command = program;
  const positionals: string[] = [];
  for (let index = 0; index < words.length; index++) {
    const word = (words[index] ?? "").replace(/[.,:]$/, "");
    if (word === "--help" || word === "...") continue;
    if (word.startsWith("-")) {
      const [flag] = word.split("=");
      const options = [...command.options, ...program.options];
      const option = options.find(({ short, long }) => flag === short || flag === long);
      if (!option) return `${command.name()} has no flag ${flag}`;
      if (option.required && !word.includes("=")) index++;
      continue;
    }
    const sub = positionals.length === 0 ? command.commands.find((each) => each.name() === word) : undefined;
    if (sub) command = sub;
    else if (command === program) return `there is no command ${word}`;
    else positionals.push(word);
  }
  const required = command.registeredArguments.filter((argument) => argument.required).length;
  const most = command.registeredArguments.some(({ variadic }) => variadic)
    ? Infinity
    : command.registeredArguments.length;
  if (whole && command !== program && positionals.length < required)
    return `${command.name()} needs ${required} arguments`;
  // Values after an option that takes several count as arguments here; that is not a mistake of the page.
  const takesSeveral = command.options.some(({ variadic }) => variadic);
  return positionals.length > most && !takesSeveral ? `${command.name()} takes ${most} arguments` : undefined;
}

describe("commands in the documentation", () => {
  const lines = PAGES.flatMap(commandLines);

  it("are found at all", () => {
    expect(lines.length).toBeGreaterThan(30);
    expect(problemOf({ page: "", words: ["stats"], whole: true })).toBe("there is no command stats");
    expect(problemOf({ page: "", words: ["status", "--wach"], whole: true })).toBe("status has no flag --wach");
    expect(problemOf({ page: "", words: ["why"], whole: true })).toBe("why needs 1 arguments");
  });

  it.each(PAGES)("of %s exist with their flags", (page) => {
    const wrong = commandLines(page).flatMap((line) => {
      const problem = problemOf(line);
      return problem === undefined ? [] : [`lockstep ${line.words.join(" ")}: ${problem}`];
    });
    expect(wrong).toEqual([]);
  });

  it("the remedies that are pasted from a terminal exist too", () => {
    const facts = {
      program: "lockstep",
      name: "web",
      namespace: "default",
      cluster: "member1",
      isGivenUp: false,
      kind: "StatefulSet",
      template: "web",
      isInline: false,
      placement: undefined,
      selector: "",
    };
    const hubs = [
      { ...facts, engine: "karmada" as const },
      { ...facts, engine: "ocm" as const, placement: "zones", isInline: true },
    ];
    for (const paste of Object.values(GUIDES)) {
      for (const command of hubs.flatMap(paste)) {
        const words = wordsOf(command);
        if (words) expect(problemOf({ page: "", words, whole: true }), command).toBeUndefined();
      }
    }
  });
});

describe("the runbook", () => {
  const text = read("docs/runbook.md");
  const sections = new Map(
    text
      .split(/^### /m)
      .slice(1)
      .map((section) => [section.slice(0, section.indexOf("\n")), section]),
  );

  it("has every reason, and no other", () => {
    const known = [REASONS, CONTROLLER_REASONS, JOB_REASONS].flatMap((reasons) => Object.keys(reasons));
    expect([...sections.keys()].sort()).toEqual([...new Set(known)].sort());
  });

  it.each([...sections])("%s has symptom, condition, cause and recovery", (_, section) => {
    for (const part of ["Symptom", "Condition", "Cause", "Recovery"]) {
      expect(section).toMatch(new RegExp(`^- \\*\\*${part}\\*\\*: .+`, "m"));
    }
  });
});

describe("the phases", () => {
  const source = readdirSync(join(ROOT, "src/controllers"), { recursive: true })
    .map((name) => `src/controllers/${name}`)
    .filter((path) => path.endsWith(".ts") && !path.includes(".test."))
    .map(read)
    .join("\n");

  it.each([
    ["status.phase", APPLICATION_PHASES],
    ["status.clusters[].phase", CLUSTER_PHASES],
  ])("of %s in the reference are those that the controller reports", (field, phases) => {
    const row = read("docs/reference.md")
      .split("\n")
      .find((line) => line.startsWith(`| \`${field}\` |`));
    expect(row?.match(/\b[A-Z][A-Za-z]+\b(?=,| or |\.)/g)).toEqual([...phases]);
    expect(phases.filter((phase) => !source.includes(`"${phase}"`))).toEqual([]);
  });

  it("of the runbook exist", () => {
    const named = [...read("docs/runbook.md").matchAll(/`phase: (\w+)`/g)].map(([, phase]) => phase);
    expect(named.filter((phase) => !APPLICATION_PHASES.some((known) => known === phase))).toEqual([]);
    expect(named).not.toEqual([]);
  });
});

describe("hidden blocks", () => {
  const pages = [
    ...PAGES,
    ...readdirSync(join(ROOT, "examples"), { recursive: true })
      .map((name) => `examples/${name}`)
      .filter((path) => path.endsWith("README.md")),
  ];
  const hidden = pages.flatMap((page) =>
    [...read(page).matchAll(/<!-- run: hidden[^\n]*\n([\s\S]*?)-->/g)].map(([, code = ""]) => ({ page, code })),
  );

  it("create no file or object that a later command needs", () => {
    const making = hidden.filter(({ code }) => /[^-=]>|\b(?:cp|mv|tee|mkdir|sed|cat|kubectl)\b/.test(code));
    expect(making).toEqual([]);
  });

  it("contain only a start that the page has shown before, and a free port", () => {
    expect(hidden.map(({ page }) => page)).toEqual(["README.md", "examples/interpreter-webhook/README.md"]);
  });
});

describe("links", () => {
  it.each(PAGES)("of %s are valid", (page) => {
    const targets = [
      ...read(page)
        .replaceAll(/```[\s\S]*?```/g, "")
        .matchAll(/\]\(([^)#\s]+)[^)]*\)/g),
    ].map(([, to = ""]) => to);
    const broken = targets.filter((to) => !/^https?:/.test(to) && !existsSync(join(ROOT, dirname(page), to)));
    expect(broken).toEqual([]);
  });
});
