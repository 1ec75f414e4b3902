/** The controller of CrossClusterJob: what it is made of, and what wakes it. */
import type { AllowedClustersRule, CrossClusterJobStatus, Workload } from "../../api/index.ts";
import { type Engine, SupersededError, TermOutOfRangeError } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import type { JobLedger } from "../../jobs/index.ts";
import {
  type KubeClient,
  type KubeObject,
  keyOf,
  Reflector,
  type Resource,
  resource,
  WorkQueue,
  type WorkResult,
} from "../../kube/index.ts";
import { type Clock, type Log, type Metrics, type Random, silentMetrics } from "../../runtime/index.ts";
import type { Announcer } from "../common/announcer.ts";
import { queueHooks, serveKindMetrics } from "../common/kind-metrics.ts";
import { ledgerOwner, OwnedLedgers } from "../common/owned-ledgers.ts";
import { JOBS, LEDGERS } from "../common/resources.ts";
import { StatusWriter } from "../common/status-writer.ts";
import { JOB_LEDGERS } from "./ledger.ts";
import { JobReconciler } from "./reconcile.ts";
import { JobReporter } from "./report/reporter.ts";

export interface JobControllerOptions {
  readonly hub: KubeClient;
  /** Run by another controller of the same process. */
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly announcer: Announcer;
  readonly mayAct: () => boolean;
  readonly systemNamespace: string;
  readonly workloads?: readonly Workload[];
  readonly allowedClusters?: AllowedClustersRule;
  readonly concurrency?: number;
  readonly metrics?: Metrics;
}

const NAMESPACES = resource({ apiVersion: "v1", kind: "Namespace", plural: "namespaces", namespaced: false });
const DEFAULT_CONCURRENCY = 16;
const FAILURES_SHOWN_FROM = 3;

export class JobController {
  readonly #options: JobControllerOptions;
  readonly #queue: WorkQueue;
  readonly #jobs: Reflector<KubeObject>;
  readonly #ledgers: Reflector<KubeObject>;
  readonly #namespaces: Reflector<KubeObject>;
  readonly #statuses: StatusWriter<CrossClusterJobStatus>;
  readonly #ledgerStore: OwnedLedgers<JobLedger>;
  readonly #reporter: JobReporter;
  readonly #reconciler: JobReconciler;
  readonly #failures = new Map<string, number>();

  constructor(options: JobControllerOptions) {
    const { hub, clock, random, log, mayAct, systemNamespace, workloads, allowedClusters } = options;
    this.#options = options;
    const reflect = (of: Resource, more: Partial<ConstructorParameters<typeof Reflector<KubeObject>>[0]> = {}) =>
      new Reflector<KubeObject>({ client: hub, resource: of, clock, random, log, ...more });
    this.#jobs = reflect(JOBS);
    this.#ledgers = reflect(LEDGERS, { selection: { namespace: systemNamespace } });
    this.#namespaces = reflect(NAMESPACES);
    const { cache } = this.#jobs;
    const concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;
    const hooks = queueHooks(options.metrics ?? silentMetrics, JOBS.kind);
    this.#queue = new WorkQueue({ clock, random, log, concurrency, hooks, work: (key) => this.#work(key) });
    this.#ledgerStore = new OwnedLedgers(hub, this.#ledgers.cache, systemNamespace, JOB_LEDGERS);
    const changed = (key: string) => this.#queue.add(key);
    this.#statuses = new StatusWriter<CrossClusterJobStatus>({
      hub,
      resource: JOBS,
      cache,
      clock,
      random,
      log,
      mayAct,
      changed,
    });
    this.#reporter = new JobReporter(this.#statuses, options.announcer);
    this.#reconciler = new JobReconciler({
      hub,
      engine: options.engine,
      interpreter: options.interpreter,
      clock,
      cache,
      ledgers: this.#ledgerStore,
      reporter: this.#reporter,
      announcer: options.announcer,
      changed: (key, news) => (news === "own" ? this.#queue.add(key) : this.#queue.addWhenFree(key)),
      namespaceOf: (name) => this.#namespaces.cache.getByKey(name),
      ...(workloads && { workloads }),
      ...(allowedClusters && { allowedClusters }),
    });
  }

  /** Runs until aborted. */
  async run(signal: AbortSignal): Promise<void> {
    const add = (object: KubeObject) => this.#queue.add(keyOf(object.metadata));
    const updated = (object: KubeObject, previous: KubeObject) => {
      if (!this.#statuses.isEcho(object, previous)) add(object);
    };
    this.#jobs.cache.subscribe({ added: add, updated, deleted: add });
    const owned = (ledger: KubeObject) => {
      const owner = ledgerOwner(ledger, JOB_LEDGERS.kind);
      if (owner) this.#queue.add(keyOf(owner));
    };
    const mended = (ledger: KubeObject) => {
      const owner = ledgerOwner(ledger, JOB_LEDGERS.kind);
      if (owner && !this.#reconciler.has(keyOf(owner))) owned(ledger);
    };
    this.#ledgers.cache.subscribe({ added: owned, deleted: owned, updated: mended });
    const ended = this.#options.interpreter.onComplete(() => this.reviewAll());
    const reflectors = [this.#jobs, this.#ledgers, this.#namespaces];
    const running = reflectors.map((reflector) => reflector.run(signal));
    await Promise.all(reflectors.map(({ cache }) => cache.synced(signal))).catch(() => {});
    const unmeasured = this.#serveMetrics();
    this.#queue.start();
    await new Promise<void>((resolve) => {
      if (signal.aborted) return resolve();
      signal.addEventListener("abort", () => resolve(), { once: true });
    });
    ended();
    unmeasured();
    await Promise.all([this.#queue.shutdown(), this.#statuses.shutdown()]);
    await Promise.all(running);
  }

  #serveMetrics(): () => void {
    const { metrics = silentMetrics, clock } = this.#options;
    const { cache } = this.#jobs;
    return serveKindMetrics({ metrics, clock, kind: JOBS.kind, cache, depth: () => this.#queue.stats.depth });
  }

  /** Looks at every object again: how something is read has changed. */
  reviewAll(): void {
    for (const key of this.#reconciler.keys()) this.#queue.add(key);
  }

  async #work(key: string): Promise<WorkResult | undefined> {
    if (!this.#options.mayAct()) return undefined;
    try {
      const result = await this.#reconciler.reconcile(key);
      this.#failures.delete(key);
      return result;
    } catch (error) {
      if (error instanceof SupersededError || error instanceof TermOutOfRangeError || this.#reconciler.isInDoubt(key)) {
        this.#reconciler.doubt(key);
      }
      const failures = (this.#failures.get(key) ?? 0) + 1;
      this.#failures.set(key, failures);
      const object = this.#jobs.cache.getByKey(key);
      if (object && failures >= FAILURES_SHOWN_FROM) {
        const message = error instanceof Error ? error.message : String(error);
        this.#reporter.refuse(object, "ReconcileFailed", `${failures} attempts in a row failed: ${message}`);
      }
      throw error;
    }
  }
}
