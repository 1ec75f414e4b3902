import { hostname } from "node:os";
import { runManager } from "../controllers/index.ts";
import { KarmadaEngine } from "../engine/index.ts";
import { httpWebhookTransports } from "../interpret/index.ts";
import { KubeClient } from "../kube/index.ts";
import { collectQuietly } from "../runtime/index.ts";
import type { GlobalOptions } from "./command.ts";
import type { ControllerOptions } from "./controller.ts";
import { CommandError } from "./errors.ts";
import type { Io } from "./io.ts";
import { isLogLevel, jsonLog } from "./log.ts";

/** Beyond this a hub serves one controller no faster. */
const MAX_CONCURRENCY = 256;

/** Runs until it is told to stop; then finishes what it has sent, gives the lease back, and ends with 0. */
export async function runController(io: Io, options: ControllerOptions & GlobalOptions): Promise<number> {
  const { engine, leaseNamespace, logLevel, kubeconfig, context } = options;
  if (engine !== "karmada") throw new CommandError(`--engine '${engine}' is not known; use karmada`);
  if (!isLogLevel(logLevel)) {
    throw new CommandError(`--log-level '${logLevel}' is not known; use debug, info, warn or error`);
  }
  const concurrency = concurrencyOf(options.concurrency);
  collectQuietly();
  const [clock, random] = await Promise.all([io.clock(), io.random()]);
  const log = jsonLog((line) => io.stdout.write(line), clock, logLevel);
  const signal = io.interrupted();
  const connection = await io.connect({ kubeconfig, context });
  const hub = new KubeClient({ transport: connection.transport, clock, random, log, userAgent: "lockstep-controller" });
  const identity = options.identity ?? hostname();
  log.info("started", { server: connection.server, engine, identity, leaseNamespace });
  try {
    await runManager(
      {
        hub,
        clock,
        random,
        log,
        engine: () => new KarmadaEngine({ hub, clock, random, log }),
        webhookTransports: httpWebhookTransports,
        leaseNamespace,
        identity,
        ...(concurrency !== undefined && { concurrency }),
        onLeading: () => log.info("leading"),
      },
      signal,
    );
    await hub.settled();
    log.info("stopped", { reason: signal.reason instanceof Error ? signal.reason.message : "told to stop" });
    return 0;
  } catch (error) {
    log.error("ended by an error", { reason: error instanceof Error ? error.message : String(error) });
    throw error;
  } finally {
    await connection.close();
  }
}

function concurrencyOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const number = Number(text);
  if (Number.isInteger(number) && number >= 1 && number <= MAX_CONCURRENCY) return number;
  throw new CommandError(`--concurrency '${text}' must be a whole number from 1 to ${MAX_CONCURRENCY}`);
}
