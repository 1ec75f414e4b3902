// Runs one suite: `node scripts/suite.mjs NAME [--long] [arguments for vitest]`. Every suite has two forms: one for CI,
// of at most five minutes (seeds: six), and a complete long one. A suite on real components is a folder of test/. If it
// has a prepare.ts, that runs first; isLongForm (test/form.ts) tells its tests which form runs.
import { spawnSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Seeds of the lean tier that `npm test` runs; the suite runs the following ones. */
const SEEDS_OF_NPM_TEST = "1000";

/**
 * Suites that are not a folder of test/: what they run, and what each form sets unless the caller has already set it.
 */
const BESIDE_THE_CODE = {
  explore: {
    // The smaller scenarios are complete in npm test.
    files: [
      "explore/explore.contract.test.ts",
      "explore/explore.statefulset.test.ts",
      "explore/large.property.test.ts",
      "src/jobs/check/explore.test.ts",
    ],
    ci: { LOCKSTEP_EXPLORE_STATES: "all" },
    long: { LOCKSTEP_EXPLORE_STATES: "all", LOCKSTEP_EXPLORE_WALKS: "50" },
  },
  sim: {
    files: ["src/sim/seeds.test.ts"],
    ci: { LOCKSTEP_SIM_AFTER: SEEDS_OF_NPM_TEST, LOCKSTEP_SIM_SEEDS: "18000", LOCKSTEP_SIM_MINUTES: "6" },
    long: { LOCKSTEP_SIM_AFTER: SEEDS_OF_NPM_TEST, LOCKSTEP_SIM_SEEDS: "18000" },
  },
};

const root = fileURLToPath(new URL("..", import.meta.url));

/** The commands for a form of a suite, in order; undefined if there is no such suite. */
export function commandsOf(name, isLong, more = []) {
  const suite = BESIDE_THE_CODE[name];
  if (suite)
    return [{ command: "vitest", args: ["run", ...suite.files, ...more], env: isLong ? suite.long : suite.ci }];
  if (!suiteNames().includes(name)) return undefined;
  const env = isLong ? { LOCKSTEP_LONG: "1" } : {};
  const prepare = `test/${name}/prepare.ts`;
  return [
    ...(existsSync(`${root}${prepare}`) ? [{ command: "tsx", args: [prepare], env }] : []),
    { command: "vitest", args: ["run", "--config", "test/vitest.config.ts", "--dir", `test/${name}`, ...more], env },
  ];
}

/** Folders of test/ that have tests, then the suites that are in src/. */
export function suiteNames() {
  const folders = readdirSync(`${root}test`, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const withTests = folders.filter(({ name }) => readdirSync(`${root}test/${name}`).some(isTest));
  return [...withTests.map(({ name }) => name), ...Object.keys(BESIDE_THE_CODE)];
}

function isTest(file) {
  return file.endsWith(".test.ts");
}

function main([name, ...rest]) {
  const commands = commandsOf(
    name,
    rest.includes("--long"),
    rest.filter((argument) => argument !== "--long"),
  );
  if (!commands) {
    console.error(`no suite '${name}'; there are ${suiteNames().join(", ")}`);
    return 1;
  }
  for (const { command, args, env } of commands) {
    const { status, error } = spawnSync(`node_modules/.bin/${command}`, args, {
      cwd: root,
      stdio: "inherit",
      env: { ...env, ...process.env },
    });
    if (error) console.error(`${command} could not be started: ${error.message}`);
    if (status !== 0) return status ?? 1;
  }
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) process.exit(main(process.argv.slice(2)));
