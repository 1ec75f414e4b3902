import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { type SecureFront, startSecureFront, writeKubeconfig } from "../apiserver/front/index.ts";
import { runManager } from "../controllers/index.ts";
import { EmbeddedFleet, type FleetTimings } from "../embedded/index.ts";
import { KarmadaEngine } from "../engine/index.ts";
import { httpWebhookTransports } from "../interpret/index.ts";
import { connectCluster, KubeClient, Reflector } from "../kube/index.ts";
import { systemClock as clock, type Log, systemRandom as random, silentLog } from "../runtime/index.ts";
import { isLogLevel, jsonLog } from "./log.ts";
import type { UpArguments } from "./up.ts";
import { applyHold, applyTemplate, type Example, isHeld, STATEFULSETS } from "./up-example.ts";
import { isReady, Progress, progressLines, type Screen } from "./up-progress.ts";
import { DataFolder } from "./up-state.ts";
import { workloadOf } from "./up-workload.ts";

export interface UpPlace {
  /** Where .lockstep/ is made. */
  readonly folder: string;
  readonly program: string;
  readonly screen: Screen;
  /** Ends it, cleanly. */
  readonly stop: AbortSignal;
  readonly timings?: Partial<FleetTimings>;
}

/** Thrown for an option that cannot be used. */
export class UpOptionError extends Error {
  override readonly name = "UpOptionError";
}

/** Thrown when the controller, or the saving of the objects, ended although nobody had asked for it. */
export class UpFailedError extends Error {
  override readonly name = "UpFailedError";

  constructor(cause: unknown) {
    super(`the fleet was stopped: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

const MAX_CLUSTERS = 50;
/** What is lost at most when the machine fails; a clean stop loses nothing. */
const SAVE_EVERY_MS = 5_000;
const REDRAW_MS = 100;

/** Starts everything, shows the example becoming ready, and stays until it is told to stop. */
export async function runUp(options: UpArguments, place: UpPlace): Promise<number> {
  const { folder, program, screen, stop } = place;
  const members = memberNames(options.clusters);
  const log = logFor(options.logLevel);
  const { dataDir } = options;
  const kubeconfig = join(folder, ".lockstep", "kubeconfig");
  await refuseSecond(kubeconfig);
  const workload = await workloadOf(options.example, { log, dataDir, env: process.env });
  const { example } = workload;
  const data = dataDir === undefined ? undefined : new DataFolder(dataDir);
  const say = (text: string) => screen.write(`${text}\n`);

  const startedMs = clock.monotonicMs();
  const storage = await data?.load(members);
  const fleet = new EmbeddedFleet({
    clock,
    random,
    log,
    members,
    storage,
    ...workload.fleet,
    ...(place.timings && { timings: place.timings }),
  });
  await fleet.start();
  const inMembers = await workload.start?.(fleet);
  const fronts = await openFronts(fleet, log);
  await writeKubeconfig(kubeconfig, await Promise.all(fronts.map((front) => front.context())), "hub");
  // Ends with the caller's signal, or with the first part that fails.
  const life = new AbortController();
  const end = () => life.abort(stop.reason);
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  const failed = (error: unknown) => life.abort(new UpFailedError(error));
  const parts = [startController(fleet, log, life.signal), ...(data ? [saveNowAndThen(fleet, data, life.signal)] : [])];
  const running = Promise.all(parts.map((part) => part.catch(failed)));
  const took = ((clock.monotonicMs() - startedMs) / 1000).toFixed(1);
  const clusters = members.length === 1 ? "one member cluster" : `${members.length} member clusters`;
  say(`A hub and ${clusters} are up (${took} s), with Lockstep's controller on them.`);

  try {
    if (example) await deployExample(fleet, example, members, screen, life.signal);
    if (!life.signal.aborted) say(hints(relative(folder, kubeconfig), program, example, workload.hint));
    await aborted(life.signal);
    say("Stopping.");
  } catch (error) {
    if (!life.signal.aborted) throw error;
  } finally {
    life.abort(new Error("lockstep up ends"));
    stop.removeEventListener("abort", end);
    await running;
    await inMembers?.stop();
    await fleet.stop();
    await data?.save(fleet.snapshot());
    workload.cleanUp?.();
    await Promise.all(fronts.map((front) => front.close()));
  }
  if (life.signal.reason instanceof UpFailedError) throw life.signal.reason;
  return 0;
}

/** A fleet of `up` answers within milliseconds. */
const ANSWER_MS = 1_000;

/** Throws when the fleet of that kubeconfig still runs: its owner would lose the way to it. */
async function refuseSecond(kubeconfig: string): Promise<void> {
  if (!existsSync(kubeconfig)) return;
  let connection: Awaited<ReturnType<typeof connectCluster>> | undefined;
  try {
    connection = await connectCluster({ clock, kubeconfig, context: "hub" });
    const client = new KubeClient({ transport: connection.transport, clock, random, log: silentLog });
    await client.getJson("/version", { timeoutMs: ANSWER_MS, maxAttempts: 1 });
  } catch {
    return;
  } finally {
    await connection?.close();
  }
  throw new UpOptionError(
    `a fleet runs in this folder already: ${connection.server} answers (${kubeconfig}). Use it, stop it, or start this one in another folder`,
  );
}

async function deployExample(
  fleet: EmbeddedFleet,
  example: Example,
  members: readonly string[],
  screen: Screen,
  stop: AbortSignal,
): Promise<void> {
  const hub = fleet.client();
  const reflector = new Reflector({ client: hub, resource: STATEFULSETS, clock, random });
  const done = new AbortController();
  const end = () => done.abort(stop.reason);
  stop.addEventListener("abort", end, { once: true });
  const running = reflector.run(done.signal);
  const progress = new Progress(screen);
  const object = () => reflector.cache.get(example.at);
  try {
    await applyHold(hub, example, members);
    while (!isHeld(object())) await clock.sleep(REDRAW_MS, done.signal);
    await applyTemplate(hub, example);
    while (!isReady(object())) {
      progress.show(progressLines(object(), screen.style));
      await clock.sleep(REDRAW_MS, done.signal);
    }
    progress.show(progressLines(object(), screen.style));
  } finally {
    stop.removeEventListener("abort", end);
    end();
    await running;
  }
}

async function openFronts(fleet: EmbeddedFleet, log: Log): Promise<SecureFront[]> {
  const hub = startSecureFront({ name: "hub", server: fleet.hub, clock, log });
  const members = fleet.memberNames.map((name) =>
    startSecureFront({ name, server: fleet.member(name).gate, clock, log }),
  );
  return Promise.all([hub, ...members]);
}

function startController(fleet: EmbeddedFleet, log: Log, stop: AbortSignal): Promise<void> {
  const hub = fleet.client();
  return runManager(
    {
      hub,
      clock,
      random,
      log,
      engine: () => new KarmadaEngine({ hub, clock, random, log }),
      webhookTransports: httpWebhookTransports,
      leaseNamespace: "karmada-system",
      identity: "lockstep-up",
    },
    stop,
  );
}

async function saveNowAndThen(fleet: EmbeddedFleet, data: DataFolder, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await clock.sleep(SAVE_EVERY_MS, stop).catch(() => {});
    if (!stop.aborted) await data.save(fleet.snapshot());
  }
}

function hints(kubeconfig: string, program: string, example: Example | undefined, hint: string | undefined): string {
  const lines = [
    "",
    `Kubeconfig: ${kubeconfig} (contexts hub, member1 ...). In another terminal:`,
    "",
    `  export KUBECONFIG=$PWD/${kubeconfig}`,
  ];
  if (example) {
    const { name } = example.at;
    const things = [
      ["demo update", "change the image: one cluster after the other, one instance at a time"],
      [`status ${name} -w`, "watch clusters, instances and gates live"],
      [`scale ${name} --replicas 7`, "grow, one membership change at a time"],
    ] as const;
    const width = Math.max(...things.map(([command]) => command.length));
    lines.push(...things.map(([command, what]) => `  ${program} ${command.padEnd(width)}   ${what}`));
  }
  if (hint !== undefined) lines.push("", hint);
  return [...lines, "", "Ctrl-C stops everything."].join("\n");
}

function memberNames(text: string): string[] {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > MAX_CLUSTERS) {
    throw new UpOptionError(`--clusters '${text}' must be a whole number from 1 to ${MAX_CLUSTERS}`);
  }
  return Array.from({ length: count }, (_, index) => `member${index + 1}`);
}

function logFor(level: string | undefined): Log {
  if (level === undefined) return silentLog;
  if (!isLogLevel(level)) {
    throw new UpOptionError(`--log-level '${level}' is not known; use debug, info, warn or error`);
  }
  return jsonLog((line) => process.stderr.write(line), clock, level);
}

function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  return new Promise((resolve) => signal.addEventListener("abort", () => resolve(), { once: true }));
}
