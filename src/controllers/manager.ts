import type { AllowedClustersRule, Workload } from "../api/index.ts";
import type { Engine } from "../engine/index.ts";
import { Interpreter, type WebhookTransports } from "../interpret/index.ts";
import { Election, type ElectionState, EventRecorder, type KubeClient, type Leadership } from "../kube/index.ts";
import { type Clock, type Log, type Metrics, type Random, silentMetrics } from "../runtime/index.ts";
import { ApplicationController } from "./application/controller.ts";
import { inlineRenderer, type SourceRenderer } from "./application/renderer.ts";
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
  /** No other process has this identity at the same time: a restarted one takes its predecessor's lease at once. */
  readonly isIdentityUnique?: boolean;
  /** Kinds that may be templates, beside StatefulSets; absent: any. */
  readonly workloads?: readonly Workload[];
  /** Which clusters a namespace may name in spec.topology; absent: all. */
  readonly allowedClusters?: AllowedClustersRule;
  /** Objects worked on at a time. */
  readonly concurrency?: number;
  /** The most that the topology may have as an annotation; absent: as the contract says. */
  readonly topologyInlineBytes?: number;
  /** Renders charts and kustomizations; absent: only inline manifests are taken. */
  readonly renderer?: SourceRenderer;
  readonly onLeading?: () => void;
  /** Where figures go; absent: nowhere. */
  readonly metrics?: Metrics;
  /** Receives what probes ask, as soon as the process takes part in the election. */
  readonly onProbes?: (probes: ManagerProbes) => void;
}

export interface ManagerProbes {
  /** Why the process is not ready: neither a leader with complete caches nor standing by. Undefined: it is ready. */
  notReady(): string | undefined;
}

const LEASE_NAME = "lockstep-controller";
/** Candidates read the lease every two seconds; the hub has not answered ten times. */
const SILENT_HUB_MS = 20_000;

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
    isIdentityUnique: options.isIdentityUnique,
  });
  const metrics = options.metrics ?? silentMetrics;
  const leading: Leading = { isSynced: () => false };
  options.onProbes?.({ notReady: () => notReady(election.state, leading, clock.monotonicMs()) });
  const takeOut = metrics.gauges((set) => {
    set("leader_election_master_status", { name: LEASE_NAME }, election.state.role === "leader" ? 1 : 0);
  });
  try {
    await election.run(signal, (leadership) => lead(options, leadership, metrics, leading));
  } finally {
    takeOut();
  }
}

/** What the current leadership shows to probes. */
interface Leading {
  isSynced: () => boolean;
}

function notReady({ role, answeredMs, failure }: ElectionState, leading: Leading, nowMs: number): string | undefined {
  const why = failure === undefined ? "" : `: ${failure}`;
  if (answeredMs === undefined) return `the lease could not be read yet${why}`;
  const quietMs = nowMs - answeredMs;
  if (quietMs > SILENT_HUB_MS) return `the lease could not be read for ${Math.round(quietMs / 1000)} s${why}`;
  if (role === "candidate") return "it is not known yet which process leads";
  if (role === "leader" && !leading.isSynced()) return "leading, but its caches are not complete yet";
  return undefined;
}

async function lead(
  options: ManagerOptions,
  leadership: Leadership,
  metrics: Metrics,
  leading: Leading,
): Promise<void> {
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
  const engine = options.engine();
  const shared = {
    hub,
    engine,
    interpreter,
    clock,
    random,
    log,
    metrics,
    announcer,
    mayAct: () => leadership.isCurrent(),
    systemNamespace: options.systemNamespace,
    ...(options.workloads && { workloads: options.workloads }),
    ...(options.allowedClusters && { allowedClusters: options.allowedClusters }),
  };
  const jobs = new JobController(shared);
  const applications = new ApplicationController({
    ...shared,
    renderer: options.renderer ?? inlineRenderer,
    confirmLeadership: () => leadership.confirm(),
    ...(options.concurrency !== undefined && { concurrency: options.concurrency }),
  });
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
      applications.reviewAll();
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
    leading.isSynced = () => controller.isSynced();
    options.onLeading?.();
    await Promise.all([controller.run(signal), applications.run(signal), jobs.run(signal)]);
  } finally {
    leading.isSynced = () => false;
    end();
    signal.removeEventListener("abort", end);
    interpreter.stop();
    await recording;
  }
}
