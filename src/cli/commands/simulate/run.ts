import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import {
  Campaign,
  describeFailure,
  type EngineName,
  type GivenApp,
  HubImage,
  JOB_SITUATIONS,
  KARMADA_JOB_SITUATIONS,
  type RunOptions,
  reachSummary,
  reachTable,
  runJobSeed,
  runSeed,
  SEEDS_FOR_REACH,
  type SeedResult,
  type Tier,
} from "../../../sim/index.ts";
import { CommandError } from "../../errors.ts";
import { readObjects } from "../../preview/sources.ts";
import type { SimulateOptions } from "./command.ts";

/** Failures shown with their transcripts; the others are only named. */
const TRANSCRIPTS_SHOWN = 1;
/** How many lines of a transcript are shown for a failure among many seeds; `--seed` shows all. */
const TRANSCRIPT_TAIL_LINES = 60;
const STANDARD_INPUT = 0;
/** On a terminal the count is updated in place, after every seed. */
const CLEAR_LINE = "\u001b[K";
const PROGRESS_EVERY_SEEDS = 50;

/** With fewer seeds of jobs a danger may not have occurred. */
const JOB_SEEDS_FOR_REACH = 200;

interface Run extends RunOptions {
  readonly kind: "statefulset" | "job";
}

function play(seed: number, { kind, ...run }: Run): Promise<SeedResult> {
  return kind === "job" ? runJobSeed(seed, run) : runSeed(seed, run);
}

/** The exit code. */
export async function simulateCommand(options: SimulateOptions): Promise<number> {
  const run: Run = {
    image: new HubImage(),
    kind: kindOf(options),
    tier: tierOf(options.tier),
    engine: engineOf(options),
    ...given(options.filename),
  };
  if (options.range !== undefined) return runRange(options.range, run);
  if (options.seed !== undefined) return runOne(whole(options.seed, "--seed"), run);
  const seeds = whole(options.seeds, "--seeds");
  const workers = Math.min(seeds, whole(options.workers ?? "1", "--workers"));
  const campaign = new Campaign();
  const collect = (result: SeedResult) => {
    campaign.add(result);
    if (result.failure) say(`FAILED ${describeFailure(result)}`);
    if (process.stderr.isTTY) process.stderr.write(`\r${campaign.seeds} of ${seeds} seeds${CLEAR_LINE}`);
    else if (campaign.seeds % PROGRESS_EVERY_SEEDS === 0) say(`${campaign.seeds} of ${seeds} seeds`);
  };
  if (workers > 1) await runWorkers(options, seeds, workers, collect);
  else for (let seed = 1; seed <= seeds; seed++) collect(await play(seed, run));
  if (process.stderr.isTTY) process.stderr.write(`\r${CLEAR_LINE}`);
  return summary(campaign, run, options.counters === true);
}

async function runOne(seed: number, run: Run): Promise<number> {
  const result = await play(seed, { ...run, transcript: true });
  for (const line of result.transcript) say(line);
  say(`seed ${seed}: ${result.events} events, ${result.requests} requests, hash ${result.hash}`);
  say(result.failure ? `FAILED ${describeFailure(result)}` : "every property held");
  return result.failure ? 1 : 0;
}

async function runRange(range: string, run: Run): Promise<number> {
  const [from, to] = range.split(":").map((text) => whole(text, "--range"));
  for (let seed = from ?? 1; seed <= (to ?? 0); seed++) say(JSON.stringify(await play(seed, run)));
  return 0;
}

/** Each worker is this program again, with its own share of the seeds. */
async function runWorkers(
  options: SimulateOptions,
  seeds: number,
  workers: number,
  collect: (result: SeedResult) => void,
): Promise<void> {
  const share = Math.ceil(seeds / workers);
  const runs = Array.from({ length: workers }, async (_, index) => {
    const range = `${index * share + 1}:${Math.min(seeds, (index + 1) * share)}`;
    const file = options.filename === undefined ? [] : ["--filename", options.filename];
    const own = [
      ...process.execArgv,
      process.argv[1] ?? "",
      "simulate",
      "--tier",
      options.tier,
      "--engine",
      options.engine,
      "--kind",
      options.kind,
      "--range",
      range,
      ...file,
    ];
    const child = spawn(process.execPath, own, { stdio: ["ignore", "pipe", "inherit"] });
    const ended = new Promise<number>((resolve, reject) => {
      child.on("error", reject);
      child.on("exit", (code) => resolve(code ?? 1));
    });
    for await (const line of createInterface({ input: child.stdout })) collect(JSON.parse(line) as SeedResult);
    if ((await ended) !== 0) throw new CommandError(`a worker for seeds ${range} ended early; run it with --workers 1`);
  });
  await Promise.all(runs);
}

async function summary(campaign: Campaign, run: Run, counters: boolean): Promise<number> {
  const { seeds, events, requests, virtualMs, failures, reach } = campaign;
  const tier = run.tier ?? "lean";
  const unreached = run.kind === "job" ? unreachedOfJobs(campaign, run) : campaign.unreached(tier, run.engine);
  if (counters) for (const line of ["", ...reachTable(reach)]) say(line);
  for (const { seed } of failures.slice(0, TRANSCRIPTS_SHOWN)) {
    const { transcript } = await play(seed, { ...run, transcript: true });
    const asked = `${run.kind === "job" ? " --kind job" : ""}${run.engine === "ocm" ? " --engine ocm" : ""}`;
    say(`the last of seed ${seed} ('lockstep simulate${asked} --seed ${seed}' shows all of it):`);
    for (const line of transcript.slice(-TRANSCRIPT_TAIL_LINES)) say(line);
  }
  const hours = (virtualMs / 3_600_000).toFixed(1);
  say(
    `${seeds} seeds, ${events} events, ${requests} requests, ${hours} hours of virtual time: ${failures.length} failed`,
  );
  const isSummed = !counters && run.kind === "statefulset";
  if (isSummed) for (const line of reachSummary(reach)) say(`  ${line}`);
  else if (!counters) for (const [situation, times] of Object.entries(reach)) say(`  ${situation}: ${times}`);
  if (isSummed) say("  --counters lists each of them; a seed uses only a few.");
  const needed = run.kind === "job" ? JOB_SEEDS_FOR_REACH : SEEDS_FOR_REACH[tier];
  const proves = seeds >= needed && run.given === undefined;
  if (proves && unreached.length > 0) say(`never occurred, so nothing is proven about it: ${unreached.join(", ")}`);
  return failures.length > 0 || (proves && unreached.length > 0) ? 1 : 0;
}

function unreachedOfJobs({ reach }: Campaign, { engine }: Run): string[] {
  const due = [...JOB_SITUATIONS, ...(engine === "karmada" ? KARMADA_JOB_SITUATIONS : [])];
  return due.filter((situation) => (reach[situation] ?? 0) === 0);
}

/** The user's own objects. The clusters are those of its topology, or three with one instance each. */
function given(filename: string | undefined): { given?: GivenApp; definitions?: JsonObject[] } {
  if (filename === undefined) return {};
  const readFile = (path: string) => readFileSync(path === "-" ? STANDARD_INPUT : path, "utf8");
  const objects: readonly JsonObject[] = readObjects({ readFile }, filename);
  const own = objects.find(({ kind }) => kind === "CrossClusterStatefulset");
  if (!own || !isJsonObject(own.spec)) {
    throw new CommandError(`${filename} has no CrossClusterStatefulset; put it and its template into one file`);
  }
  const { spec } = own;
  const { template: _inline, ...rules } = spec;
  const selector = isJsonObject(spec.resourceSelector) ? spec.resourceSelector : {};
  const template = isJsonObject(spec.template)
    ? withOwnName(spec.template, own)
    : objects.find(({ kind, apiVersion }) => kind === selector.kind && apiVersion === selector.apiVersion);
  if (!template) {
    const what = `${selector.kind} that its resourceSelector names`;
    throw new CommandError(`${filename} has no ${what}; add the template to the file, after a line ---`);
  }
  const metadata = isJsonObject(template.metadata) ? template.metadata : {};
  const namespace = "default";
  const name = String(metadata.name);
  const kind = String(template.kind);
  const definitions = objects.filter((object) => object.kind === "CustomResourceDefinition");
  const isBuiltIn = template.apiVersion === "apps/v1";
  const plural = `${kind.toLowerCase()}s`;
  return {
    given: {
      spec: { ...rules, resourceSelector: { apiVersion: template.apiVersion ?? "", kind, name } },
      template: { ...template, metadata: { ...metadata, namespace } },
      name,
      namespace,
      clusters: clustersOf(spec, template),
      plural,
    },
    definitions:
      isBuiltIn || definitions.length > 0 ? definitions : [anyDefinition(String(template.apiVersion), kind, plural)],
  };
}

/** What happens to an inline template is the same as with an object on the hub, which the simulated people edit. */
function withOwnName(template: JsonObject, own: JsonObject): JsonObject {
  const [metadata, owner] = [template.metadata, own.metadata].map((each) => (isJsonObject(each) ? each : {}));
  return { ...template, metadata: { ...metadata, name: metadata?.name ?? owner?.name ?? "" } };
}

function clustersOf(spec: JsonObject, template: JsonObject): { name: string; replicas: number }[] {
  const topology = isJsonObject(spec.topology) ? spec.topology : {};
  const listed = Array.isArray(topology.clusters) ? topology.clusters.filter(isJsonObject) : [];
  if (listed.length > 0) {
    return listed.map(({ name, replicas }) => ({
      name: String(name),
      replicas: typeof replicas === "number" ? replicas : 1,
    }));
  }
  const templateSpec = isJsonObject(template.spec) ? template.spec : {};
  const total = typeof templateSpec.replicas === "number" ? templateSpec.replicas : 3;
  const names = ["member1", "member2", "member3"];
  return names.map((name, index) => ({
    name,
    replicas: Math.floor((total + names.length - 1 - index) / names.length),
  }));
}

/** The user's kind, stored unchecked: the simulation tests Lockstep. */
function anyDefinition(apiVersion: string, kind: string, plural: string): JsonObject {
  const [group = "", version = ""] = apiVersion.split("/");
  const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase() },
      versions: [{ name: version, served: true, storage: true, schema, subresources: { status: {} } }],
    },
  };
}

function tierOf(text: string): Tier {
  if (text === "lean" || text === "full") return text;
  throw new CommandError(`--tier ${text} is not known; use lean or full`);
}

function kindOf({ kind, tier, filename }: SimulateOptions): Run["kind"] {
  if (kind !== "statefulset" && kind !== "job")
    throw new CommandError(`--kind ${kind} is not known; use statefulset or job`);
  if (kind === "job" && tier === "full") throw new CommandError("--kind job has no full tier; use --tier lean");
  if (kind === "job" && filename !== undefined)
    throw new CommandError("--kind job draws its own CrossClusterJobs; leave --filename out");
  return kind;
}

function engineOf({ engine, tier }: SimulateOptions): EngineName {
  if (engine !== "karmada" && engine !== "ocm") {
    throw new CommandError(`--engine ${engine} is not known; use karmada or ocm`);
  }
  if (engine === "ocm" && tier === "full") throw new CommandError("--engine ocm has no full tier; use --tier lean");
  return engine;
}

function whole(text: string, option: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw new CommandError(`${option} ${text} is not a whole number; give ${option} a number, such as 100`);
}

function say(line: string): void {
  process.stdout.write(`${line}\n`);
}
