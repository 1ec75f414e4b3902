import { hostname } from "node:os";
import { type ManagerProbes, runManager } from "../../../controllers/index.ts";
import { httpWebhookTransports } from "../../../interpret/index.ts";
import { KubeClient, MIN_STREAMS, StreamBudget } from "../../../kube/index.ts";
import {
  type Clock,
  collectQuietly,
  LIMITS,
  type Log,
  MetricsRegistry,
  measuredTransport,
  measureProcess,
  type Random,
} from "../../../runtime/index.ts";
import type { Dashboard } from "../../../web/index.ts";
import { openRenderer } from "../../applications/renderer.ts";
import { CommandError } from "../../errors.ts";
import { engineOf, namedEngine, openEngine } from "../../hub/engine.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { isLogLevel, jsonLog } from "../../terminal/log.ts";
import { workloadsOf } from "../workload-option.ts";
import type { ControllerOptions } from "./command.ts";
import { answerProbe, stalledWatches } from "./probes.ts";

/** With more, a hub serves one controller no faster. */
const MAX_CONCURRENCY = 256;
/** Settings that fight are advice: minutes are soon enough, and cost a member nothing. */
const LOOKS_EVERY_MS = 300_000;

/**
 * Runs until it is asked to stop; then completes the requests that it has sent, releases the lease, and ends with 0.
 */
export async function runController(io: Io, options: ControllerOptions & GlobalOptions): Promise<number> {
  const { systemNamespace, logLevel, kubeconfig, context } = options;
  if (options.engine !== undefined) namedEngine(options.engine);
  if (!isLogLevel(logLevel)) {
    throw new CommandError(`--log-level '${logLevel}' is not known; use debug, info, warn or error`);
  }
  const concurrency = wholeNumber("--concurrency", options.concurrency, 1, MAX_CONCURRENCY);
  const limit = wholeNumber("--max-streams", options.maxStreams, MIN_STREAMS, LIMITS.maxOpenStreams);
  const workloads = workloadsOf(options.workload);
  collectQuietly();
  const [clock, random] = await Promise.all([io.clock(), io.random()]);
  const log = jsonLog((line) => io.stdout.write(line), clock, logLevel);
  const signal = io.interrupted();
  const connection = await io.connect({ kubeconfig, context });
  const registry = new MetricsRegistry();
  const transport = measuredTransport(connection.transport, registry, clock);
  const streams = new StreamBudget({ limit, log });
  const hub = new KubeClient({ transport, clock, random, log, streams, userAgent: "lockstep-controller" });
  const identity = options.identity ?? hostname();
  let manager: ManagerProbes | undefined;
  const measured = measureProcess(registry);
  registry.gauges((set) => {
    for (const [lane, { open, waiting }] of Object.entries(streams.usage().lanes)) {
      set("watch_streams", { lane, state: "open" }, open);
      set("watch_streams", { lane, state: "waiting" }, waiting);
    }
    set("watch_streams_stalled", {}, stalledWatches({ clock, streams }).length);
  });
  const parts = { clock, registry, streams, takeLagMs: measured.takeLagMs, manager: () => manager };
  const server =
    options.metrics === undefined ? undefined : await io.listen(options.metrics, (path) => answerProbe(parts, path));
  if (server) log.info("serving metrics and probes", { address: server.address });
  const dashboard = await dashboardOf(io, options, clock, random, log);
  try {
    const engine = await engineOf({ client: hub }, options.engine);
    log.info("started", { server: connection.server, engine: engine.name, identity, systemNamespace });
    await runManager(
      {
        hub,
        clock,
        random,
        log,
        engine: () => openEngine(engine, { hub, clock, random, log, systemNamespace, looksEveryMs: LOOKS_EVERY_MS }),
        webhookTransports: httpWebhookTransports,
        systemNamespace,
        renderer: openRenderer(io, { clock, random, log }, options),
        workloads,
        allowedClusters: { required: options.requireAllowedClusters === true },
        identity,
        isIdentityUnique: options.uniqueIdentity === true,
        ...(concurrency !== undefined && { concurrency }),
        onLeading: () => log.info("leading"),
        metrics: registry,
        onProbes: (probes) => {
          manager = probes;
        },
      },
      signal,
    );
    await hub.settled();
    log.info("stopped", { reason: signal.reason instanceof Error ? signal.reason.message : "asked to stop" });
    return 0;
  } catch (error) {
    log.error("ended by an error", { reason: error instanceof Error ? error.message : String(error) });
    throw error;
  } finally {
    measured.stop();
    await server?.close();
    await dashboard?.close();
    await connection.close();
  }
}

/** Viewers sign in with tokens of their own: the controller's credentials are for the controller alone. */
async function dashboardOf(
  io: Io,
  { dashboard: address, dashboardReadOnly, kubeconfig, context }: ControllerOptions & GlobalOptions,
  clock: Clock,
  random: Random,
  log: Log,
): Promise<Dashboard | undefined> {
  if (address === undefined) return undefined;
  const { serveDashboard } = await import("../../dashboard/serve.ts");
  const readOnly = dashboardReadOnly === true;
  const { program } = io;
  const dashboard = await serveDashboard({ clock, random, log, program, kubeconfig, context, readOnly, address });
  log.info("dashboard", { url: dashboard.url, readOnly });
  return dashboard;
}

function wholeNumber(option: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (Number.isInteger(number) && number >= least && number <= most) return number;
  throw new CommandError(`${option} '${text}' must be a whole number from ${least} to ${most}`);
}
