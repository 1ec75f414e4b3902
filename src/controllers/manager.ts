import type { AllowedClustersRule, Workload } from "../api/index.ts";
import type { Engine } from "../engine/index.ts";
import { Interpreter, type WebhookTransports } from "../interpret/index.ts";
import { Election, EventRecorder, type KubeClient, type Leadership } from "../kube/index.ts";
import type { Clock, Log, Random } from "../runtime/index.ts";
import type { Announcer } from "./common/announcer.ts";
import { discovered, Interpretation } from "./common/interpretation.ts";
import { JobController } from "./job/controller.ts";
import { StatefulsetController } from "./statefulset/controller.ts";

export interface ManagerOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** A fresh adapter for each leadership. */
  readonly engine: () => Engine;
  readonly webhookTransports: WebhookTransports;
  /** Lockstep's own namespace on the hub: lease, ledgers and revisions. Tenants have no rights there. */
  readonly systemNamespace: string;
  /** For people, such as the pod's name. */
  readonly identity: string;
  /** Kinds that may be templates, beside StatefulSets; absent: any. */
  readonly workloads?: readonly Workload[];
  /** Which clusters a namespace may name in spec.topology; absent: all. */
  readonly allowedClusters?: AllowedClustersRule;
  /** Objects worked on at a time. */
  readonly concurrency?: number;
  /** The most that the topology may have as an annotation; absent: as the contract says. */
  readonly topologyInlineBytes?: number;
  readonly onLeading?: () => void;
}

const LEASE_NAME = "lockstep-controller";

/** Everything that runs in a controller process: one leader at a time, the others wait. Resolves when aborted. */
export async function runManager(options: ManagerOptions, signal: AbortSignal): Promise<void> {
  const { hub, clock, random, log, identity } = options;
  const election = new Election({
    client: hub,
    clock,
    random,
    log,
    namespace: options.systemNamespace,
    name: LEASE_NAME,
    identity,
  });
  await election.run(signal, (leadership) => lead(options, leadership));
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
    resources: discovered(hub),
  });
  const announcer: Announcer = {
    event: (object, type, reason, message) => events.record(object, { type, reason, message }),
  };
  const shared = {
    hub,
    engine: options.engine(),
    interpreter,
    clock,
    random,
    log,
    announcer,
    mayAct: () => leadership.isCurrent(),
    systemNamespace: options.systemNamespace,
    ...(options.workloads && { workloads: options.workloads }),
    ...(options.allowedClusters && { allowedClusters: options.allowedClusters }),
  };
  const jobs = new JobController(shared);
  // It runs the engine, for all kinds.
  const controller = new StatefulsetController({
    ...shared,
    confirmLeadership: () => leadership.confirm(),
    ...(options.concurrency !== undefined && { concurrency: options.concurrency }),
    ...(options.topologyInlineBytes !== undefined && { topologyInlineBytes: options.topologyInlineBytes }),
  });
  const interpretation = new Interpretation({
    hub,
    interpreter,
    clock,
    random,
    log,
    announcer,
    changed: () => {
      controller.reviewAll();
      jobs.reviewAll();
    },
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
    await Promise.all([controller.run(signal), jobs.run(signal)]);
  } finally {
    end();
    signal.removeEventListener("abort", end);
    interpreter.stop();
    await recording;
  }
}
