/**
 * The controller of CrossClusterStatefulset: what it is made of, what wakes it, and what becomes of a reconcile that
 * fails.
 */
import { setMaxListeners } from "node:events";
import type { AllowedClustersRule, Workload } from "../../api/index.ts";
import { type Engine, SupersededError, TermOutOfRangeError } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import {
  type KubeClient,
  type KubeObject,
  keyOf,
  measuredQueue,
  nameOfKey,
  Reflector,
  type Resource,
  WorkQueue,
  type WorkResult,
} from "../../kube/index.ts";
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type Log,
  type Metrics,
  type Random,
  silentMetrics,
} from "../../runtime/index.ts";
import type { Announcer } from "../common/announcer.ts";
import { Approvals } from "../common/approvals.ts";
import { HubObjects } from "../common/hub/hub-objects.ts";
import { Lifetimes } from "../common/lifetimes.ts";
import { APPROVALS, approvalTargets, LEDGERS, STATEFULSETS } from "../common/resources.ts";
import { RevisionStore } from "../common/revisions/revision-store.ts";
import { Settling } from "../common/settling.ts";
import { StatusWriter } from "../common/status-writer.ts";
import { Telemetry } from "../common/telemetry.ts";
import { PartsSeen } from "./act/parts-seen.ts";
import { Applications } from "./applications.ts";
import { Ending } from "./ending.ts";
import { LedgerStore, ledgerOwner } from "./ledger/ledger-store.ts";
import { sweepRevisions } from "./ledger/revision-sweep.ts";
import { Gatherer } from "./observe/gather.ts";
import { Quotas } from "./observe/quotas.ts";
import { Volumes } from "./observe/volumes.ts";
import { Reconciler } from "./reconcile.ts";
import { Announcements } from "./report/announce.ts";
import { Reporter } from "./report/reporter.ts";
import { DryRuns } from "./revise/dry-runs.ts";
import { Reviser } from "./revise/revise.ts";
import { Sessions } from "./sessions.ts";

export interface StatefulsetControllerOptions {
  readonly hub: KubeClient;
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics?: Metrics;
  readonly announcer: Announcer;
  /** Asked before every write: a leader whose lease may have run out must not act. */
  readonly mayAct: () => boolean;
  /** Lockstep's own namespace on the hub, where ledgers and revisions are kept. */
  readonly systemNamespace: string;
  /** Kinds that may be templates, beside StatefulSets; absent: any. */
  readonly workloads?: readonly Workload[];
  /** Which clusters a namespace may name in spec.topology; absent: all. */
  readonly allowedClusters?: AllowedClustersRule;
  /** Reads the lease itself, and says whether this process still holds it. */
  readonly confirmLeadership: () => Promise<boolean>;
  readonly concurrency?: number;
  /** The most that the topology may have as an annotation; absent: as the contract says. */
  readonly topologyInlineBytes?: number;
}

/** Most of these reconciles only wait for I/O: an application on a slow member must not delay the others. */
const DEFAULT_CONCURRENCY = 32;
/** A reconcile that has failed so often in a row is not a conflict that settles by itself. */
const FAILURES_SHOWN_FROM = 3;
const QUEUE_NAME = "crossclusterstatefulset";

export class StatefulsetController {
  readonly #options: StatefulsetControllerOptions;
  readonly #queue: WorkQueue;
  readonly #statefulsets: Reflector<KubeObject>;
  readonly #ledgers: Reflector<KubeObject>;
  readonly #approvals: Reflector<KubeObject>;
  readonly #hubObjects: HubObjects;
  readonly #statuses: StatusWriter;
  readonly #sessions: Sessions;
  readonly #applications: Applications;
  readonly #reporter: Reporter;
  readonly #reconciler: Reconciler;
  readonly #telemetry: Telemetry;
  /** How often in a row each object's reconcile has failed. */
  readonly #failures = new Map<string, number>();
  readonly #stop = new AbortController();

  constructor(options: StatefulsetControllerOptions) {
    const { hub, engine, interpreter, clock, random, log, mayAct, systemNamespace, confirmLeadership } = options;
    this.#options = options;
    const { signal } = this.#stop;
    // Every watch listens to it: one per kind and namespace. This is intended and no leak.
    setMaxListeners(0, signal);
    const reflect = (of: Resource, more: Partial<ConstructorParameters<typeof Reflector<KubeObject>>[0]> = {}) =>
      new Reflector<KubeObject>({ client: hub, resource: of, clock, random, log, ...more });
    this.#statefulsets = reflect(STATEFULSETS);
    this.#ledgers = reflect(LEDGERS, { selection: { namespace: systemNamespace } });
    this.#approvals = reflect(APPROVALS);
    const { cache } = this.#statefulsets;
    const { metrics = silentMetrics } = options;
    const telemetry = new Telemetry({ clock, log, metrics, kind: STATEFULSETS.kind });
    this.#telemetry = telemetry;
    const measured = measuredQueue(metrics, QUEUE_NAME);
    this.#queue = new WorkQueue({
      clock,
      random,
      log,
      concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
      work: (key) => this.#work(key),
      hooks: {
        started: (key, waitedMs, depth) => {
          measured.started?.(key, waitedMs, depth);
          telemetry.started(key, waitedMs);
        },
        finished: (key, tookMs, failed) => {
          measured.finished?.(key, tookMs, failed);
          telemetry.finished(key);
        },
      },
    });
    const shared = { clock, random, log, changed: (key: string) => this.#queue.add(key) };
    const mustStillExist = (key: string) => this.#mustStillExist(key);

    const approvals = new Approvals(hub, this.#approvals.cache);
    const ledgers = new LedgerStore(hub, this.#ledgers.cache, systemNamespace);
    const revisions = new RevisionStore({ client: hub, clock, log, namespace: systemNamespace });
    const announcements = new Announcements(options.announcer);
    const sessions = new Sessions({ engine, ledgers, revisions, clock, confirmLeadership, mustStillExist });
    const hubObjects = new HubObjects({ client: hub, ...shared }, signal);
    const applications = new Applications({
      engine,
      cache,
      hubObjects,
      sessions,
      changed: (key, news) => (news === "own" ? this.#queue.add(key) : this.#queue.addWhenFree(key)),
    });
    const reviser = new Reviser({
      interpreter,
      hubObjects,
      store: revisions,
      clock,
      dryRuns: new DryRuns({ ...shared, engine, store: revisions, signal }),
      settling: new Settling(clock),
      mustStillExist,
    });
    const { allowedClusters, topologyInlineBytes } = options;
    const gatherer = new Gatherer({
      interpreter,
      reviser,
      approvals,
      hubObjects,
      ...(allowedClusters && { allowedClusters }),
    });
    const volumes = new Volumes(engine, clock);
    const quotas = new Quotas(engine, clock);
    const parts = new PartsSeen({ ...shared, engine, signal });
    const statuses = new StatusWriter({ ...shared, hub, cache, mayAct });
    const reporter = new Reporter({ interpreter, clock, revisions, reviser, announcements, statuses, telemetry });
    const carryOutOptions = {
      engine,
      interpreter,
      revisions,
      mayAct,
      parts,
      ...(topologyInlineBytes !== undefined && { topologyInlineBytes }),
    };
    const lifetimes = new Lifetimes({ hub, clock, announcer: options.announcer, of: STATEFULSETS });
    const remembering = [
      applications,
      sessions,
      statuses,
      hubObjects,
      reviser,
      volumes,
      quotas,
      parts,
      announcements,
      reporter,
      telemetry,
      lifetimes,
    ];
    this.#hubObjects = hubObjects;
    this.#statuses = statuses;
    this.#sessions = sessions;
    this.#applications = applications;
    this.#reporter = reporter;
    this.#reconciler = new Reconciler({
      hub,
      engine,
      clock,
      cache,
      hubObjects,
      applications,
      sessions,
      ledgers,
      approvals,
      gatherer,
      volumes,
      quotas,
      carryOutOptions,
      reporter,
      telemetry,
      ending: new Ending({ hub, engine, ledgers, revisions, announcements }),
      lifetimes,
      workloads: options.workloads,
      mustStillExist,
      forget: (key) => {
        for (const part of remembering) part.forget(key);
        this.#failures.delete(key);
        this.#queue.forget(key);
      },
    });
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#stop.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const inner = this.#stop.signal;
    const add = (object: KubeObject) => this.#queue.add(keyOf(object.metadata));
    const changed = (object: KubeObject) => {
      add(object);
      for (const key of this.#applications.concernedBy(object)) this.#queue.add(key);
    };
    const updated = (object: KubeObject, previous: KubeObject) => {
      if (!this.#statuses.isEcho(object, previous)) changed(object);
    };
    this.#statefulsets.cache.subscribe({ added: changed, updated, deleted: changed });
    // An owner that is gone is noticed by its ledger, which no garbage collector removes.
    const owned = (ledger: KubeObject) => {
      const owner = ledgerOwner(ledger);
      if (owner) this.#queue.add(keyOf(owner));
    };
    const mended = (ledger: KubeObject) => {
      const owner = ledgerOwner(ledger);
      // With a session, this process wrote the ledger itself. Without one, a user may have repaired an unreadable
      // ledger.
      if (owner && !this.#sessions.has(keyOf(owner))) owned(ledger);
    };
    this.#ledgers.cache.subscribe({ added: owned, deleted: owned, updated: mended });
    const approved = (approval: KubeObject) => {
      for (const key of approvalTargets(approval)) this.#queue.add(key);
    };
    this.#approvals.cache.subscribe({ added: approved, updated: approved, deleted: approved });
    const ended = this.#options.interpreter.onComplete(({ object }) => this.#interpreted(object));
    const reflectors = [this.#statefulsets, this.#ledgers, this.#approvals];
    const running = [...reflectors.map((reflector) => reflector.run(inner)), this.#options.engine.run(inner)];
    await Promise.all(reflectors.map(({ cache }) => cache.synced(inner))).catch(() => {});
    this.#queue.start();
    const stopServing = this.#serveMetrics();
    const { hub, clock, log, mayAct, systemNamespace: namespace } = this.#options;
    const ledgers = this.#ledgers.cache;
    running.push(sweepRevisions({ client: hub, clock, log, ledgers, namespace, mayAct }, inner));
    await new Promise<void>((resolve) => {
      if (inner.aborted) return resolve();
      inner.addEventListener("abort", () => resolve(), { once: true });
    });
    ended();
    stopServing();
    await Promise.all([this.#queue.shutdown(), this.#statuses.shutdown()]);
    await Promise.all(running);
    await this.#hubObjects.stopped();
    signal.removeEventListener("abort", stop);
  }

  /** Whether everything that decisions rest on has been read. */
  isSynced(): boolean {
    const reflectors = [this.#statefulsets, this.#ledgers, this.#approvals];
    return this.#options.engine.synced() && reflectors.every(({ cache }) => cache.hasSynced);
  }

  #serveMetrics(): () => void {
    const { metrics = silentMetrics } = this.#options;
    const stops = [
      this.#telemetry.serve(),
      metrics.gauges((set) => set("workqueue_depth", { name: QUEUE_NAME }, this.#queue.stats.depth)),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }

  /** Reconciles every object again, because the interpretation of a kind has changed. */
  reviewAll(): void {
    for (const key of this.#applications.tracked().keys()) this.#queue.add(key);
  }

  async #work(key: string): Promise<WorkResult | undefined> {
    if (!this.#options.mayAct()) return undefined;
    try {
      const result = await this.#reconciler.reconcile(key);
      this.#failures.delete(key);
      return result;
    } catch (error) {
      const isForeignTerm = error instanceof TermOutOfRangeError;
      if (error instanceof SupersededError || this.#sessions.isInDoubt(key)) this.#sessions.doubt(key);
      if (isForeignTerm) this.#sessions.close(key);
      const object = this.#statefulsets.cache.getByKey(key);
      if (isForeignTerm && object) {
        this.#reporter.refuse(object, "TermOutOfRange", error.message);
        return undefined;
      }
      this.#reportFailure(key, error);
      throw error;
    }
  }

  /** A single failure is mostly a conflict that the next try settles; what fails again and again is shown. */
  #reportFailure(key: string, error: unknown): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const object = this.#statefulsets.cache.getByKey(key);
    if (object && failures >= FAILURES_SHOWN_FROM && this.#options.mayAct())
      this.#reporter.failed(object, error, failures);
  }

  /**
   * A leader that was suspended may not know yet that the object is gone; what it creates now would never be removed.
   */
  async #mustStillExist(key: string): Promise<void> {
    const known = this.#statefulsets.cache.getByKey(key);
    const now = await this.#options.hub.find(STATEFULSETS, nameOfKey(key));
    if (!now || now.metadata.uid !== known?.metadata.uid) {
      throw new Error(`${key} was deleted meanwhile; nothing is made for it any more`);
    }
  }

  /** A pending answer of the interpreter has arrived: reconcile every application that uses an object of that name. */
  #interpreted(object: JsonObject): void {
    const metadata = isJsonObject(object.metadata) ? object.metadata : {};
    for (const [key, { template }] of this.#applications.tracked()) {
      if (template.name === metadata.name && template.namespace === metadata.namespace) this.#queue.add(key);
    }
  }
}
