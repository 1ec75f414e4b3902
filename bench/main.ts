/**
 * `npm run bench -- NAME...`: each benchmark is a file bench/NAME.ts whose `run` returns rows. They are printed as a
 * table and written as JSON to bench/results/NAME.json. Compare figures only within one run; machines differ.
 */
import { existsSync, mkdirSync, readdirSync, writeFileSync } from "node:fs";
import { cpus } from "node:os";
import { table } from "./table.ts";

export type BenchRow = Record<string, string | number>;
export interface Benchmark {
  readonly title: string;
  run(): Promise<BenchRow[]>;
}

const folder = new URL(".", import.meta.url);
const known = readdirSync(folder)
  .filter((file) => file.endsWith(".ts") && !["main.ts", "table.ts"].includes(file))
  .map((file) => file.slice(0, -3));

const names = process.argv.slice(2);
const unknown = names.filter((name) => !existsSync(new URL(`${name}.ts`, folder)));
if (names.length === 0 || unknown.length > 0) {
  if (unknown.length > 0) console.error(`no such benchmark: ${unknown.join(", ")}`);
  console.error(`usage: npm run bench -- NAME...   where NAME is one of: ${known.join(", ")}`);
  process.exit(1);
}

mkdirSync(new URL("results/", folder), { recursive: true });
for (const name of names) {
  const benchmark = (await import(new URL(`${name}.ts`, folder).href)) as Benchmark;
  console.log(`\n${name}: ${benchmark.title}`);
  const rows = await benchmark.run();
  console.log(table(rows));
  const result = {
    name,
    title: benchmark.title,
    node: process.version,
    cpu: cpus()[0]?.model,
    cores: cpus().length,
    rows,
  };
  writeFileSync(new URL(`results/${name}.json`, folder), `${JSON.stringify(result, null, 2)}\n`);
}
process.exit(0);
