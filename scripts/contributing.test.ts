import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { scripts } from "../package.json";
import { commandsOf, suiteNames } from "./suite.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const read = (path: string) => readFileSync(join(ROOT, path), "utf8");
const page = read("CONTRIBUTING.md");

/** What a test gives to a program that the test itself starts, and what the controller gives to a Job's program. */
const BETWEEN_TEST_AND_PROGRAM = new Set([
  "FAKE_TERMINAL",
  "KUBERNETES_EXEC_INFO",
  "LOCKSTEP_INDEXES",
  "PREFIX",
  "VOLUME_CONF",
  "VOLUME_DATA",
  "WHO",
]);

function sources(): string[] {
  const below = ["src", "test", "scripts", "bench", "bin"].flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" }).map((path) => `${folder}/${path}`),
  );
  const code = below.filter((path) => /(?:\.m?ts|\.mjs|bin\/[\w-]+)$/.test(path));
  return [...code, "vitest.config.ts"].map(read);
}

function variablesRead(): Set<string> {
  const found = new Set<string>();
  for (const text of sources()) {
    for (const [, name = ""] of text.matchAll(/\benv(?:\.|\[")([A-Z][A-Z_]+)\b/g)) found.add(name);
    for (const [, name = ""] of text.matchAll(/\bsetting\("([A-Z_]+)"/g)) found.add(name);
    for (const [name] of text.matchAll(/\bLOCKSTEP_[A-Z_]+\b/g)) found.add(name);
  }
  for (const name of BETWEEN_TEST_AND_PROGRAM) found.delete(name);
  return found;
}

describe("CONTRIBUTING.md", () => {
  it("has every environment variable that the code reads in its table, and no other", () => {
    const table = page.slice(page.indexOf("## Environment variables"));
    const rows = table.split("\n").filter((line) => line.startsWith("| `"));
    const listed = rows.flatMap((row) =>
      [...(row.split("|")[1] ?? "").matchAll(/`([A-Z_]+)`/g)].map(([, name]) => name),
    );
    expect(listed.toSorted()).toEqual([...variablesRead()].toSorted());
  });

  it("names only npm scripts and files that exist", () => {
    const known = Object.keys(scripts);
    const named = [...page.matchAll(/npm run ([a-z:]+[a-z])\b/g)].map(([, name = ""]) => name);
    expect(named.filter((name) => !known.includes(name))).toEqual([]);
    const files = [...page.matchAll(/(?<![\w~])((?:src|test|scripts)\/[\w./-]+\.m?ts)/g)].map(([, path = ""]) => path);
    expect(files.length).toBeGreaterThan(3);
    for (const file of files) expect(() => read(file), file).not.toThrow();
  });

  it("has a row for every suite, and each suite has both of its commands", () => {
    for (const name of suiteNames()) {
      expect(page).toContain(`| \`test:${name}\` |`);
      expect(scripts).toMatchObject({
        [`test:${name}`]: `node scripts/suite.mjs ${name}`,
        [`test:${name}:long`]: `node scripts/suite.mjs ${name} --long`,
      });
    }
  });
});

describe("a suite", () => {
  it("is run by CI", () => {
    const ci = read(".ci/run");
    for (const name of suiteNames()) expect(ci).toContain(`npm run --silent test:${name}\n`);
  });

  it("of test/ runs its prepare.ts first, and gets LOCKSTEP_LONG in its long form", () => {
    const commands = commandsOf("kubectl", true, ["-t", "some"]);
    expect(commands?.map(({ command }) => command)).toEqual(["tsx", "vitest"]);
    expect(commands?.at(-1)).toMatchObject({ env: { LOCKSTEP_LONG: "1" } });
    expect(commands?.at(-1)?.args.slice(-2)).toEqual(["-t", "some"]);
    expect(commandsOf("kubectl", false)?.at(-1)?.env).toEqual({});
  });

  it("that does not exist has no commands", () => {
    expect(commandsOf("tools", false)).toBeUndefined();
    expect(commandsOf("nothing", false)).toBeUndefined();
  });

  it("of seeds is bounded by time in its form for CI only", () => {
    expect(commandsOf("sim", false)?.[0]?.env).toHaveProperty("LOCKSTEP_SIM_MINUTES");
    expect(commandsOf("sim", true)?.[0]?.env).not.toHaveProperty("LOCKSTEP_SIM_MINUTES");
  });
});
