import { hostname } from "node:os";
import { runManager } from "../../../controllers/index.ts";
import { KarmadaEngine } from "../../../engine/index.ts";
import { httpWebhookTransports } from "../../../interpret/index.ts";
import { KubeClient, MIN_STREAMS, StreamBudget } from "../../../kube/index.ts";
import { type Clock, collectQuietly, LIMITS, type Log, type Random } from "../../../runtime/index.ts";
import type { Dashboard } from "../../../web/index.ts";
import { CommandError } from "../../errors.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { isLogLevel, jsonLog } from "../../terminal/log.ts";
import { workloadsOf } from "../workload-option.ts";
import type { ControllerOptions } from "./command.ts";

/** With more, a hub serves one controller no faster. */
const MAX_CONCURRENCY = 256;

/**
 * Runs until it is asked to stop; then completes the requests that it has sent, releases the lease, and ends with 0.
 */
export async function runController(io: Io, options: ControllerOptions & GlobalOptions): Promise<number> {
  const { engine, systemNamespace, logLevel, kubeconfig, context } = options;
  if (engine !== "karmada") throw new CommandError(`--engine '${engine}' is not known; use karmada`);
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
  const { transport } = connection;
  const streams = new StreamBudget({ limit, log });
  const hub = new KubeClient({ transport, clock, random, log, streams, userAgent: "lockstep-controller" });
  const identity = options.identity ?? hostname();
  const dashboard = await dashboardOf(io, options, clock, random, log);
  log.info("started", { server: connection.server, engine, identity, systemNamespace });
  try {
    await runManager(
      {
        hub,
        clock,
        random,
        log,
        engine: () => new KarmadaEngine({ hub, clock, random, log }),
        webhookTransports: httpWebhookTransports,
        systemNamespace,
        workloads,
        allowedClusters: { required: options.requireAllowedClusters === true },
        identity,
        ...(concurrency !== undefined && { concurrency }),
        onLeading: () => log.info("leading"),
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
