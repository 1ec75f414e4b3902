import { type Engine, SupersededError } from "../engine/index.ts";
import { Interpreter, type WebhookTransports } from "../interpret/index.ts";
import { Election, EventRecorder, type KubeClient, type Leadership } from "../kube/index.ts";
import type { Clock, Log, Random } from "../runtime/index.ts";
import { Interpretation } from "./interpretation.ts";
import type { Announcer } from "./statefulset/announce.ts";
import { StatefulsetController } from "./statefulset/controller.ts";

export interface ManagerOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A fresh adapter for each leadership. */
  readonly engine: () => Engine;
  readonly webhookTransports: WebhookTransports;
  /** Where the lease is. */
  readonly leaseNamespace: string;
  /** For people, such as the pod's name. */
  readonly identity: string;
  /** Objects worked on at a time. */
  readonly concurrency?: number;
  readonly onLeading?: () => void;
}

const LEASE_NAME = "lockstep-controller";

/** Everything that runs in a controller process: one leader at a time, the others wait. Resolves when aborted. */
export async function runManager(options: ManagerOptions, signal: AbortSignal): Promise<void> {
  const { hub, clock, random, log, identity } = options;
  while (!signal.aborted) {
    const election = new Election({
      client: hub,
      clock,
      random,
      log,
      namespace: options.leaseNamespace,
      name: LEASE_NAME,
      identity,
    });
    try {
      await election.run(signal, (leadership) => lead(options, leadership));
    } catch (error) {
      if (!(error instanceof SupersededError)) throw error;
      // Somebody with a later term has acted. Whatever we know is old: begin anew, as a candidate like any other.
      log.warn("another leader has taken over", { reason: error.message });
    }
  }
}

async function lead(options: ManagerOptions, leadership: Leadership): Promise<void> {
  const { hub, clock, random, log } = options;
  const { signal } = leadership;
  const events = new EventRecorder({
    client: hub,
    clock,
    random,
    log,
    component: "lockstep",
    instance: options.identity,
  });
  const interpreter = new Interpreter({
    clock,
    random,
    log,
    transports: options.webhookTransports,
    // Templates are watched on the hub, so their kinds have been discovered before anything of them is interpreted.
    resources: ({ group, version, kind }) => {
      const known = hub.discovery.known(group === "" ? version : `${group}/${version}`, kind);
      return known && { resource: known.plural, namespaced: known.namespaced };
    },
  });
  const announcer: Announcer = {
    event: (object, type, reason, message) => events.record(object, { type, reason, message }),
  };
  const controller = new StatefulsetController({
    hub,
    engine: options.engine(),
    interpreter,
    clock,
    random,
    log,
    announcer,
    mayAct: () => leadership.isCurrent(),
    ...(options.concurrency !== undefined && { concurrency: options.concurrency }),
  });
  const interpretation = new Interpretation({
    hub,
    interpreter,
    clock,
    random,
    log,
    announcer,
    changed: () => controller.reviewAll(),
  });
  const done = new AbortController();
  const end = () => done.abort(signal.reason);
  signal.addEventListener("abort", end, { once: true });
  if (signal.aborted) end();
  const recording = events.run(done.signal);
  try {
    // Nothing is read before it is known how: a customization may say that an object is not healthy.
    const loaded = new Promise<void>((resolve) => {
      const reading = interpretation.run(done.signal, resolve);
      void reading.then(resolve);
    });
    await loaded;
    options.onLeading?.();
    await controller.run(signal);
  } finally {
    end();
    signal.removeEventListener("abort", end);
    interpreter.stop();
    await recording;
  }
}
