/** The controller of DistributedApplication: what it is made of, what wakes it, and what becomes of a reconcile that fails. */
import { setMaxListeners } from "node:events";
import type { AllowedClustersRule, DistributedApplicationStatus } from "../../api/index.ts";
import { type Engine, SupersededError } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import {
  type KubeClient,
  type KubeObject,
  keyOf,
  nameOfKey,
  Reflector,
  type Resource,
  WorkQueue,
  type WorkResult,
} from "../../kube/index.ts";
import { type Clock, type Log, type Metrics, type Random, silentMetrics } from "../../runtime/index.ts";
import type { Announcer } from "../common/announcer.ts";
import { Approvals } from "../common/approvals.ts";
import { HubObjects } from "../common/hub/hub-objects.ts";
import { queueHooks, serveKindMetrics } from "../common/kind-metrics.ts";
import { ledgerOwner } from "../common/owned-ledgers.ts";
import { APPLICATIONS, APPROVALS, approvalTargets, LEDGERS, STATEFULSETS } from "../common/resources.ts";
import { RevisionStore } from "../common/revisions/revision-store.ts";
import { Settling } from "../common/settling.ts";
import { StatusWriter } from "../common/status-writer.ts";
import { Kinds } from "./kinds.ts";
import { Reconciler } from "./reconcile.ts";
import type { SourceRenderer } from "./renderer.ts";
import { Renderings } from "./renderings.ts";
import { refusalStatus } from "./report.ts";
import { Reviser } from "./reviser.ts";
import { Rights } from "./rights.ts";
import { ApplicationLedgers, DAPP_KIND, Sessions } from "./session.ts";
import { Trials } from "./trials.ts";
import { Values } from "./values.ts";

export interface ApplicationControllerOptions {
  readonly hub: KubeClient;
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly renderer: SourceRenderer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly announcer: Announcer;
  /** Asked before every write: a leader whose lease may have run out must not act. */
  readonly mayAct: () => boolean;
  readonly systemNamespace: string;
  readonly allowedClusters?: AllowedClustersRule;
  readonly confirmLeadership: () => Promise<boolean>;
  readonly concurrency?: number;
  readonly metrics?: Metrics;
}

const DEFAULT_CONCURRENCY = 16;
/** A reconcile that has failed so often in a row is not a conflict that settles by itself. */
const FAILURES_SHOWN_FROM = 3;

export class ApplicationController {
  readonly #options: ApplicationControllerOptions;
  readonly #queue: WorkQueue;
  readonly #applications: Reflector<KubeObject>;
  readonly #ledgers: Reflector<KubeObject>;
  readonly #approvals: Reflector<KubeObject>;
  readonly #statefulsets: Reflector<KubeObject>;
  readonly #hubObjects: HubObjects;
  readonly #statuses: StatusWriter<DistributedApplicationStatus>;
  readonly #sessions: Sessions;
  readonly #reconciler: Reconciler;
  readonly #failures = new Map<string, number>();
  readonly #stop = new AbortController();

  constructor(options: ApplicationControllerOptions) {
    const { hub, engine, clock, random, log, mayAct, systemNamespace, confirmLeadership } = options;
    this.#options = options;
    const { signal } = this.#stop;
    setMaxListeners(0, signal);
    const reflect = (of: Resource, more: Partial<ConstructorParameters<typeof Reflector<KubeObject>>[0]> = {}) =>
      new Reflector<KubeObject>({ client: hub, resource: of, clock, random, log, ...more });
    this.#applications = reflect(APPLICATIONS);
    this.#ledgers = reflect(LEDGERS, { selection: { namespace: systemNamespace } });
    this.#approvals = reflect(APPROVALS);
    this.#statefulsets = reflect(STATEFULSETS);
    const { cache } = this.#applications;
    const concurrency = options.concurrency ?? DEFAULT_CONCURRENCY;
    const hooks = queueHooks(options.metrics ?? silentMetrics, DAPP_KIND);
    this.#queue = new WorkQueue({ clock, random, log, concurrency, hooks, work: (key) => this.#work(key) });
    const changed = (key: string) => this.#queue.add(key);
    const mustStillExist = (key: string) => this.#mustStillExist(key);
    const ledgers = new ApplicationLedgers(hub, this.#ledgers.cache, systemNamespace);
    const revisions = new RevisionStore({ client: hub, clock, log, namespace: systemNamespace, of: APPLICATIONS });
    this.#hubObjects = new HubObjects({ client: hub, clock, random, log, changed }, signal);
    this.#sessions = new Sessions({ ledgers, revisions, confirmLeadership, mustStillExist });
    this.#statuses = new StatusWriter({ hub, resource: APPLICATIONS, cache, clock, random, log, mayAct, changed });
    const values = new Values({ clock, changed, signal });
    const kinds = new Kinds(hub, engine.memberKind?.bind(engine));
    const reviser = new Reviser({
      renderer: options.renderer,
      renderings: new Renderings({ clock, changed, signal }),
      kinds,
      rights: new Rights(hub, clock),
      trials: new Trials({ engine, clock, log, signal, changed }),
      store: revisions,
      settling: new Settling(clock),
      clock,
      needsHubKinds: (clusters) => engine.needsHubKinds(clusters),
      mustStillExist,
      warn: (key, message) => {
        const object = cache.getByKey(key);
        if (object) options.announcer.event(object, "Warning", "RenderWarning", message);
      },
    });
    this.#reconciler = new Reconciler({
      hub,
      engine,
      interpreter: options.interpreter,
      clock,
      mayAct,
      announcer: options.announcer,
      cache,
      statefulsets: this.#statefulsets.cache,
      hubObjects: this.#hubObjects,
      readValues: values.read,
      sessions: this.#sessions,
      ledgers,
      revisions,
      reviser,
      approvals: new Approvals(hub, this.#approvals.cache, DAPP_KIND),
      statuses: this.#statuses,
      ...(options.allowedClusters && { allowedClusters: options.allowedClusters }),
      changed: (key, news) => (news === "own" ? this.#queue.add(key) : this.#queue.addWhenFree(key)),
      forget: (key) => {
        for (const part of [this.#sessions, this.#statuses, this.#hubObjects, reviser, values]) part.forget(key);
        this.#failures.delete(key);
        this.#queue.forget(key);
      },
    });
  }

  /** Runs until aborted. The engine and the interpreter are run by the manager. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#stop.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const inner = this.#stop.signal;
    const add = (object: KubeObject) => this.#queue.add(keyOf(object.metadata));
    const updated = (object: KubeObject, previous: KubeObject) => {
      if (!this.#statuses.isEcho(object, previous)) add(object);
    };
    this.#applications.cache.subscribe({ added: add, updated, deleted: add });
    const owned = (ledger: KubeObject) => {
      const owner = ledgerOwner(ledger, DAPP_KIND);
      if (owner && !this.#sessions.has(keyOf(owner))) this.#queue.add(keyOf(owner));
    };
    this.#ledgers.cache.subscribe({ added: owned, updated: owned, deleted: owned });
    const approved = (approval: KubeObject) => {
      for (const key of approvalTargets(approval, DAPP_KIND)) this.#queue.add(key);
    };
    this.#approvals.cache.subscribe({ added: approved, updated: approved, deleted: approved });
    const ended = this.#options.interpreter.onComplete(() => this.reviewAll());
    const reflectors = [this.#applications, this.#ledgers, this.#approvals, this.#statefulsets];
    const running = reflectors.map((reflector) => reflector.run(inner));
    await Promise.all(reflectors.map(({ cache }) => cache.synced(inner))).catch(() => {});
    const unmeasured = this.#serveMetrics();
    this.#queue.start();
    await new Promise<void>((resolve) => {
      if (inner.aborted) return resolve();
      inner.addEventListener("abort", () => resolve(), { once: true });
    });
    ended();
    unmeasured();
    await Promise.all([this.#queue.shutdown(), this.#statuses.shutdown()]);
    await Promise.all(running);
    await this.#hubObjects.stopped();
    signal.removeEventListener("abort", stop);
  }

  #serveMetrics(): () => void {
    const { metrics = silentMetrics, clock } = this.#options;
    const { cache } = this.#applications;
    return serveKindMetrics({ metrics, clock, kind: DAPP_KIND, cache, depth: () => this.#queue.stats.depth });
  }

  /** Looks at every object again: how something is read has changed. */
  reviewAll(): void {
    for (const object of this.#applications.cache.list()) this.#queue.add(keyOf(object.metadata));
  }

  async #work(key: string): Promise<WorkResult | undefined> {
    if (!this.#options.mayAct()) return undefined;
    try {
      const result = await this.#reconciler.reconcile(key);
      this.#failures.delete(key);
      return result;
    } catch (error) {
      if (error instanceof SupersededError || this.#sessions.isInDoubt(key)) this.#sessions.doubt(key);
      this.#reportFailure(key, error);
      throw error;
    }
  }

  #reportFailure(key: string, error: unknown): void {
    const failures = (this.#failures.get(key) ?? 0) + 1;
    this.#failures.set(key, failures);
    const object = this.#applications.cache.getByKey(key);
    if (!object || failures < FAILURES_SHOWN_FROM || !this.#options.mayAct()) return;
    const message = `${error instanceof Error ? error.message : String(error)} (tried ${failures} times)`;
    const nowMs = this.#options.clock.now();
    this.#statuses.say(key, (before) => refusalStatus(object, "ReconcileFailed", message, nowMs, before));
  }

  async #mustStillExist(key: string): Promise<void> {
    const known = this.#applications.cache.getByKey(key);
    const now = await this.#options.hub.find(APPLICATIONS, nameOfKey(key));
    if (!now || now.metadata.uid !== known?.metadata.uid) {
      throw new Error(`${key} was deleted meanwhile; nothing is made for it any more`);
    }
  }
}
