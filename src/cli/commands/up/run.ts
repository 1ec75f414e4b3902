import { existsSync } from "node:fs";
import { join, relative } from "node:path";
import { admissionPolicies, DEFAULT_POLICY_SETTINGS, DEFAULT_SYSTEM_NAMESPACE } from "../../../api/index.ts";
import { type SecureFront, startSecureFront, writeKubeconfig } from "../../../apiserver/front/index.ts";
import { runManager } from "../../../controllers/index.ts";
import { EmbeddedFleet, type FleetTimings } from "../../../embedded/index.ts";
import { KarmadaEngine } from "../../../engine/index.ts";
import { httpWebhookTransports } from "../../../interpret/index.ts";
import { connectCluster, KubeClient, Reflector } from "../../../kube/index.ts";
import { systemClock as clock, type Log, systemRandom as random, silentLog } from "../../../runtime/index.ts";
import type { ProgramOptions } from "../../applications/program-options.ts";
import { openLocalRenderer } from "../../applications/renderer.ts";
import { serveDashboard } from "../../dashboard/serve.ts";
import { isLogLevel, jsonLog } from "../../terminal/log.ts";
import type { UpArguments } from "./command.ts";
import { applyHold, applyTemplate, EXAMPLE_WORKLOADS, type Example, isHeld, STATEFULSETS } from "./example.ts";
import { isReady, Progress, progressLines, type Screen } from "./progress.ts";
import { DataFolder } from "./state.ts";
import { type Workload, workloadOf } from "./workload.ts";

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

/** Thrown when the controller, or the saving of the objects, ended unexpectedly. */
export class UpFailedError extends Error {
  override readonly name = "UpFailedError";

  constructor(cause: unknown) {
    super(`the fleet was stopped: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
  }
}

const MAX_CLUSTERS = 50;
/** The maximum loss if the machine crashes; the end of the process, for any reason, loses nothing. */
const SYNC_EVERY_MS = 5_000;
const REDRAW_MS = 100;

/** Starts everything, shows the example becoming ready, and runs until it is asked to stop. */
export async function runUp(options: UpArguments, place: UpPlace): Promise<number> {
  const { folder } = place;
  const members = memberNames(options.clusters);
  const log = logFor(options.logLevel);
  const { dataDir } = options;
  const kubeconfig = join(folder, ".lockstep", "kubeconfig");
  await refuseSecond(kubeconfig);
  const data = dataDir === undefined ? undefined : await DataFolder.open(dataDir, clock.now());
  try {
    const workload = await workloadOf(options.example, { log, dataDir, env: process.env });
    return await runFleet(place, { members, log, kubeconfig, data, workload, programs: options });
  } finally {
    await data?.close();
  }
}

interface FleetParts {
  readonly members: readonly string[];
  readonly log: Log;
  readonly kubeconfig: string;
  readonly data: DataFolder | undefined;
  readonly workload: Workload;
  readonly programs: ProgramOptions;
}

async function runFleet(place: UpPlace, given: FleetParts): Promise<number> {
  const { members, log, kubeconfig, data, workload, programs } = given;
  const { folder, program, screen, stop } = place;
  const { example } = workload;
  const say = (text: string) => screen.write(`${text}\n`);
  const startedMs = clock.monotonicMs();
  const storage = await data?.load(members);
  const fleet = new EmbeddedFleet({
    clock,
    random,
    log,
    members,
    storage,
    installed: admissionPolicies({ ...DEFAULT_POLICY_SETTINGS, workloads: EXAMPLE_WORKLOADS }),
    ...workload.fleet,
    ...(place.timings && { timings: place.timings }),
  });
  // Ends with the caller's signal, or with the first part that fails.
  const life = new AbortController();
  const failed = (error: unknown) => life.abort(new UpFailedError(error));
  await data?.keep(fleet, failed);
  await fleet.start();
  const inMembers = await workload.start?.(fleet);
  const fronts = await openFronts(fleet, log);
  await writeKubeconfig(kubeconfig, await Promise.all(fronts.map((front) => front.context())), "hub");
  const dashboard = await serveDashboard({
    clock,
    random,
    log,
    program,
    kubeconfig,
    context: "hub",
    readOnly: false,
    address: "127.0.0.1:0",
  });
  const end = () => life.abort(stop.reason);
  stop.addEventListener("abort", end, { once: true });
  if (stop.aborted) end();
  const parts = [
    startController(fleet, programs, log, life.signal),
    ...(data ? [syncNowAndThen(fleet, data, life.signal)] : []),
  ];
  const running = Promise.all(parts.map((part) => part.catch(failed)));
  const took = ((clock.monotonicMs() - startedMs) / 1000).toFixed(1);
  const clusters = members.length === 1 ? "one member cluster" : `${members.length} member clusters`;
  if (workload.note !== undefined) say(workload.note);
  say(`A hub and ${clusters} are up (${took} s), with Lockstep's controller on them.`);

  try {
    if (example) await deployExample(fleet, example, members, screen, life.signal);
    if (!life.signal.aborted) {
      say(`\nDashboard (this link works once; '${program} dashboard' makes another):\n  ${dashboard.ownLink()}`);
      say(hints(relative(folder, kubeconfig), program, workload, data?.folder));
    }
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
    await data?.save(fleet);
    workload.cleanUp?.();
    await dashboard.close();
    await Promise.all(fronts.map((front) => front.close()));
  }
  if (life.signal.reason instanceof UpFailedError) throw life.signal.reason;
  return 0;
}

/** A fleet of `up` answers within milliseconds. */
const ANSWER_MS = 1_000;

/** Throws if the fleet of that kubeconfig still runs: its owner would lose access to it. */
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
    `a fleet already runs in this folder: ${connection.server} answers (${kubeconfig}). Use it, stop it, or start this one in another folder`,
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
    startSecureFront({ name, server: fleet.member(name).entrance, clock, log }),
  );
  return Promise.all([hub, ...members]);
}

function startController(fleet: EmbeddedFleet, programs: ProgramOptions, log: Log, stop: AbortSignal): Promise<void> {
  const hub = fleet.client();
  return runManager(
    {
      hub,
      clock,
      random,
      log,
      engine: () => new KarmadaEngine({ hub, clock, random, log }),
      webhookTransports: httpWebhookTransports,
      systemNamespace: DEFAULT_SYSTEM_NAMESPACE,
      renderer: openLocalRenderer({ env: process.env }, { clock, random, log }, programs),
      identity: "lockstep-up",
      allowedClusters: { required: false },
    },
    stop,
  );
}

async function syncNowAndThen(fleet: EmbeddedFleet, data: DataFolder, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await clock.sleep(SYNC_EVERY_MS, stop).catch(() => {});
    if (!stop.aborted) await data.sync(fleet);
  }
}

function hints(kubeconfig: string, program: string, { example, hint }: Workload, dataDir: string | undefined): string {
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
  lines.push("", ...keeping(dataDir, program));
  return [...lines, "Ctrl-C stops everything."].join("\n");
}

/** What is kept until the next start, and what a crash would lose. */
function keeping(dataDir: string | undefined, program: string): string[] {
  if (dataDir === undefined) {
    return [
      "No data is kept: the next 'up' starts empty. To keep all objects:",
      `  ${program} up --data-dir .lockstep/data`,
    ];
  }
  return [
    `All objects are kept in ${dataDir}: every write is saved before it is acknowledged.`,
    `If this machine itself crashes, the writes of the last ${SYNC_EVERY_MS / 1_000} seconds may be lost.`,
  ];
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
