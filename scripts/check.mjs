// Every check that is not a test, each with its name. All of them run; the exit code is 1 if any failed.
import { spawnSync } from "node:child_process";

const checks = [
  ["types", "npx", ["tsc", "-p", "."]],
  ["types of the page", "npx", ["tsc", "-p", "web"]],
  ["lint and format", "npx", ["biome", "check", "--error-on-warnings", "."]],
  ["rooms and bans", "node", ["scripts/check-rooms.mjs"]],
  ["plain words", "node", ["scripts/check-words.mjs"]],
  ["lock file", "node", ["scripts/complete-lock.mjs", "--check"]],
  ["unused code", "npx", ["knip"]],
  ["generated files", "npx", ["tsx", "scripts/generate.ts", "--check"]],
];

const failed = [];
for (const [name, command, args] of checks) {
  const started = performance.now();
  const { status } = spawnSync(command, args, { stdio: "inherit" });
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`check: ${name}: ${status === 0 ? "ok" : "FAILED"} (${seconds} s)`);
  if (status !== 0) failed.push(name);
}
if (failed.length > 0) {
  console.error(`checks that failed: ${failed.join(", ")}`);
  process.exit(1);
}
