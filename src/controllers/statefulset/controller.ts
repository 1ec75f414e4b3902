/**
 * The controller of CrossClusterStatefulset. It decides nothing: it gathers what the planner needs, writes the ledger,
 * carries the grants out, and reports. Whatever it is interrupted in, the next run comes to the same.
 */
import { setMaxListeners } from "node:events";
import { type Parsed, type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../../api/index.ts";
import { type Engine, type EngineApp, type HoldState, SupersededError } from "../../engine/index.ts";
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
import { emptyLedger, type PlanResult, plan, rebuildLedger } from "../../plan/index.ts";
import { type Clock, isJsonObject, type JsonObject, type Log, type Random } from "../../runtime/index.ts";
import { grantsFound } from "./act.ts";
import { Announcements, type Announcer } from "./announce.ts";
import { Approvals } from "./approvals.ts";
import { type CarryOutOptions, carryOut } from "./carry-out.ts";
import { Gatherer } from "./gather.ts";
import { HubObjects } from "./hub-objects.ts";
import { LedgerStore } from "./ledger-store.ts";
import { fieldErrorsText } from "./report.ts";
import { Reporter } from "./reporter.ts";
import {
  APPROVALS,
  approvalTargets,
  LEDGERS,
  OWN,
  REVISIONS,
  STATEFULSETS,
  withFinalizer,
  withoutFinalizer,
} from "./resources.ts";
import { Reviser } from "./revise.ts";
import { RevisionStore } from "./revision-store.ts";
import { Session } from "./session.ts";
import { StatusWriter } from "./status-writer.ts";
import { isDeleting, type Subject } from "./subject.ts";
import { findTemplate } from "./template.ts";
import { tidy } from "./tidy.ts";
import { type KnownVolumes, Volumes, withVolumes } from "./volumes.ts";

export interface StatefulsetControllerOptions {
  readonly hub: KubeClient;
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly announcer: Announcer;
  /** Asked before every write: a leader whose lease may have run out must not act. */
  readonly mayAct: () => boolean;
  readonly concurrency?: number;
}

/** Far more than work at a time: whoever waits for a slow member must not keep the others waiting. */
const DEFAULT_CONCURRENCY = 32;
/** How soon something that is going away is looked at again, should no event say that it has gone. */
const UNFINISHED_RETRY_MS = 2_000;
export class StatefulsetController {
  readonly #options: StatefulsetControllerOptions;
  readonly #queue: WorkQueue;
  readonly #statefulsets: Reflector<KubeObject>;
  readonly #ledgers: Reflector<KubeObject>;
  readonly #approvals: Reflector<KubeObject>;
  readonly #approvalBook: Approvals;
  readonly #revisions: Reflector<KubeObject>;
  readonly #ledgerStore: LedgerStore;
  readonly #revisionStore: RevisionStore;
  readonly #announcements: Announcements;
  readonly #statuses: StatusWriter;
  /** By what it was read from: validating a spec costs more than a plan, and status changes do not touch it. */
  readonly #parsed = new Map<string, { from: string; parsed: Parsed<ParsedCrossClusterStatefulset> }>();
  readonly #sessions = new Map<string, Session>();
  readonly #tracked = new Map<string, EngineApp>();
  readonly #stop = new AbortController();
  readonly #hubObjects: HubObjects;
  readonly #reviser: Reviser;
  readonly #gatherer: Gatherer;
  readonly #reporter: Reporter;
  readonly #volumes: Volumes;
  readonly #carryOutOptions: CarryOutOptions;
  #superseded: SupersededError | undefined;

  constructor(options: StatefulsetControllerOptions) {
    const { hub, clock, random, log } = options;
    this.#options = options;
    // Every watch listens to it: as many as there are kinds and namespaces, which is meant and not a leak.
    setMaxListeners(0, this.#stop.signal);
    const reflect = (of: Resource, more: Partial<ConstructorParameters<typeof Reflector<KubeObject>>[0]> = {}) =>
      new Reflector<KubeObject>({ client: hub, resource: of, clock, random, log, ...more });
    this.#statefulsets = reflect(STATEFULSETS);
    this.#ledgers = reflect(LEDGERS);
    // Who created an approval stands there and nowhere else.
    this.#approvals = reflect(APPROVALS, { keepManagedFields: true });
    this.#revisions = reflect(REVISIONS, {
      selection: { labelSelector: OWN.app },
      selects: (object) => object.metadata.labels?.[OWN.app] !== undefined,
    });
    this.#approvalBook = new Approvals(hub, this.#approvals.cache);
    this.#ledgerStore = new LedgerStore(hub, this.#ledgers.cache);
    this.#revisionStore = new RevisionStore(hub, this.#revisions.cache);
    this.#announcements = new Announcements(options.announcer);
    this.#queue = new WorkQueue({
      clock,
      random,
      log,
      concurrency: options.concurrency ?? DEFAULT_CONCURRENCY,
      work: (key) => this.#work(key),
    });
    this.#statuses = new StatusWriter({
      hub,
      cache: this.#statefulsets.cache,
      clock,
      random,
      log,
      mayAct: options.mayAct,
      changed: (key) => this.#queue.add(key),
    });
    const shared = { clock, random, log, changed: (key: string) => this.#queue.add(key) };
    this.#hubObjects = new HubObjects({ client: hub, ...shared }, this.#stop.signal);
    this.#reviser = new Reviser({
      ...shared,
      engine: options.engine,
      interpreter: options.interpreter,
      hubObjects: this.#hubObjects,
      store: this.#revisionStore,
      mustStillExist: (key) => this.#mustStillExist(key),
      signal: this.#stop.signal,
    });
    const { engine, interpreter } = options;
    this.#gatherer = new Gatherer({ engine, interpreter, reviser: this.#reviser, approvals: this.#approvalBook });
    this.#volumes = new Volumes(engine, clock);
    this.#carryOutOptions = { engine, interpreter, revisions: this.#revisionStore, mayAct: options.mayAct };
    this.#reporter = new Reporter({
      engine,
      interpreter,
      clock,
      revisions: this.#revisionStore,
      announcements: this.#announcements,
      statuses: this.#statuses,
    });
  }

  /** Runs until aborted. Throws SupersededError when another leader has taken over. */
  async run(signal: AbortSignal): Promise<void> {
    const stop = () => this.#stop.abort(signal.reason);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    const inner = this.#stop.signal;
    const add = (object: KubeObject) => this.#queue.add(keyOf(object.metadata));
    const updated = (object: KubeObject, previous: KubeObject) => {
      if (!this.#statuses.isEcho(object, previous)) add(object);
    };
    this.#statefulsets.cache.subscribe({ added: add, updated, deleted: add });
    this.#ledgers.cache.subscribe({ deleted: add });
    const approved = (approval: KubeObject) => {
      for (const key of approvalTargets(approval)) this.#queue.add(key);
    };
    this.#approvals.cache.subscribe({ added: approved, updated: approved, deleted: approved });
    const ended = this.#options.interpreter.onComplete(({ object }) => this.#interpreted(object));
    const reflectors = [this.#statefulsets, this.#ledgers, this.#approvals, this.#revisions];
    const running = [...reflectors.map((reflector) => reflector.run(inner)), this.#options.engine.run(inner)];
    await Promise.all(reflectors.map(({ cache }) => cache.synced(inner))).catch(() => {});
    this.#queue.start();
    await new Promise<void>((resolve) => {
      if (inner.aborted) return resolve();
      inner.addEventListener("abort", () => resolve(), { once: true });
    });
    ended();
    await Promise.all([this.#queue.shutdown(), this.#statuses.shutdown()]);
    await Promise.all(running);
    await this.#hubObjects.stopped();
    signal.removeEventListener("abort", stop);
    if (this.#superseded) throw this.#superseded;
  }

  /** Looks at every object again: how something is read has changed. */
  reviewAll(): void {
    for (const key of this.#tracked.keys()) this.#queue.add(key);
  }

  async #work(key: string): Promise<WorkResult | undefined> {
    if (!this.#options.mayAct()) return undefined;
    try {
      return await this.#reconcile(key);
    } catch (error) {
      if (this.#sessions.get(key)?.isInDoubt) this.#sessions.delete(key);
      if (error instanceof SupersededError) {
        this.#superseded = error;
        this.#stop.abort(error);
        return undefined;
      }
      throw error;
    }
  }

  async #reconcile(key: string): Promise<WorkResult | undefined> {
    const object = this.#statefulsets.cache.getByKey(key);
    if (!object) return this.#forget(key);
    const parsed = this.#parse(key, object);
    if (!parsed.ok) {
      this.#reporter.refuse(object, "InvalidSpec", fieldErrorsText(parsed.errors));
      return undefined;
    }
    const statefulset = parsed.value;
    const deleting = statefulset.metadata.deletionTimestamp !== undefined;
    let template = findTemplate(this.#hubObjects, key, statefulset);
    if (template.kind === "unknown") {
      if (!deleting) return undefined;
      // A template whose kind is gone from the hub must not keep what it left behind from being let go.
      template = { kind: "none", message: template.message };
    }
    const app = this.#track(key, statefulset, template.kind === "one" ? template.object : undefined);
    if (!app) {
      if (deleting) await this.#removeFinalizer(object);
      else if (template.kind === "none") this.#reporter.refuse(object, "TemplateMissing", template.message);
      return undefined;
    }
    const { engine } = this.#options;
    if (!engine.synced()) return { requeueAfterMs: UNFINISHED_RETRY_MS };

    if (!deleting && !(await this.#ensureFinalizer(object))) return undefined;
    const hold: HoldState = deleting ? { kind: "held" } : await engine.hold(app, () => this.#mustStillExist(key));
    if (hold.kind === "unsafe") {
      this.#reporter.refuse(object, "HoldDefeated", `${hold.message}; ${hold.remedy}`);
      return undefined;
    }

    const session = await this.#session(key, app);
    if (session.kind === "unreadable") {
      this.#reporter.refuse(object, "LedgerUnreadable", session.message);
      return undefined;
    }
    return this.#step({ key, object, statefulset, app, template }, hold, session.session);
  }

  async #step(
    subject: Subject,
    hold: Exclude<HoldState, { kind: "unsafe" }>,
    session: Session,
  ): Promise<WorkResult | undefined> {
    const { key, statefulset } = subject;
    const adopting = new Set(hold.kind === "adopting" ? hold.clusters : []);
    const { result, seen, clusters, nowMs } = await this.#plan(subject, session, adopting);
    const done = await carryOut(this.#carryOutOptions, subject, session, result, clusters, adopting);
    if (await this.#finishDeletion(subject, session, result)) return undefined;
    this.#reporter.report(subject, result, seen.clusters, done.failures, nowMs);
    const waves = statefulset.spec.updateStrategy.rollingUpdate.waves ?? [];
    await this.#approvalBook.report(key, result, waves.length, nowMs);
    await tidy(statefulset, session, result, done.context, clusters);
    const dueMs = result.requeueAt === undefined ? undefined : Math.max(0, result.requeueAt - nowMs);
    const retryMs = done.unfinished || done.failures.length > 0 ? UNFINISHED_RETRY_MS : undefined;
    const delays = [dueMs, retryMs].filter((delay) => delay !== undefined);
    const later = [session.saveAfterMs, this.#volumes.askAgainAfterMs(key, result)].filter(
      (delay) => delay !== undefined,
    );
    return {
      ...(delays.length > 0 && { requeueAfterMs: Math.min(...delays) }),
      // Many applications that were updated together would otherwise have their marks written before others' grants.
      ...(later.length > 0 && { whenFreeAfterMs: Math.min(...later) }),
    };
  }

  /** Planned once more where the plan turned on volumes, which nobody reads unless they are asked for. */
  async #plan(subject: Subject, session: Session, adopting: ReadonlySet<string>) {
    let volumes: KnownVolumes = new Map();
    for (;;) {
      const nowMs = this.#options.clock.now();
      const { intent, seen, clusters } = await this.#gatherer.gather(subject, session.ledger, adopting, nowMs);
      const known = withVolumes(seen, volumes);
      const result = plan(intent, session.ledger, known, nowMs);
      if (volumes.size > 0) return { result, seen: known, clusters, nowMs };
      volumes = await this.#volumes.read(subject, session.ledger, result, seen);
      if (volumes.size === 0) return { result, seen, clusters, nowMs };
    }
  }

  async #session(key: string, app: EngineApp) {
    const known = this.#sessions.get(key);
    if (known) return { kind: "led" as const, session: known };
    const found = await this.#ledgerStore.claim(nameOfKey(key), async () => {
      await this.#mustStillExist(key);
      const grants = grantsFound(await this.#options.engine.readDispatched(app), app);
      return grants.length > 0 ? rebuildLedger(grants) : emptyLedger();
    });
    if (found.kind === "unreadable") return found;
    if (found.kind === "none") throw new Error(`the ledger of ${key} could not be claimed`);
    const session = new Session(this.#ledgerStore, this.#options.clock, found.stored);
    this.#sessions.set(key, session);
    return { kind: "led" as const, session };
  }

  /** A leader that was asleep may not know yet that the object is gone; whatever is made for it now would stay for ever. */
  async #mustStillExist(key: string): Promise<void> {
    const known = this.#statefulsets.cache.getByKey(key);
    const now = await this.#options.hub.find(STATEFULSETS, nameOfKey(key));
    if (!now || now.metadata.uid !== known?.metadata.uid) {
      throw new Error(`${key} was deleted meanwhile; nothing is made for it any more`);
    }
  }

  /** The template's name is needed to know which member object is meant; it is kept while the template is missing. */
  #track(
    key: string,
    statefulset: ParsedCrossClusterStatefulset,
    template: KubeObject | undefined,
  ): EngineApp | undefined {
    const { apiVersion, kind, namespace, name } = statefulset.spec.resourceSelector;
    const known = this.#tracked.get(key);
    const templateName = template?.metadata.name ?? name ?? known?.template.name ?? this.#recordedName(key);
    if (templateName === undefined) return undefined;
    if (known && known.template.name === templateName && known.template.apiVersion === apiVersion) return known;
    const app: EngineApp = {
      namespace: statefulset.metadata.namespace,
      name: statefulset.metadata.name,
      template: { apiVersion, kind, namespace, name: templateName },
    };
    this.#tracked.set(key, app);
    this.#options.engine.track(app, (news) => {
      if (news === "own") this.#queue.add(key);
      else this.#queue.addWhenFree(key);
    });
    return app;
  }

  /** The name that the ledger remembers, where a selector by label finds nothing any more. */
  #recordedName(key: string): string | undefined {
    const found = this.#ledgerStore.find(nameOfKey(key));
    return found.kind === "stored" ? found.stored.ledger.identity?.app.name : undefined;
  }

  #forget(key: string): undefined {
    const app = this.#tracked.get(key);
    if (app) this.#options.engine.untrack(app);
    this.#tracked.delete(key);
    this.#sessions.delete(key);
    this.#parsed.delete(key);
    this.#statuses.forget(key);
    this.#hubObjects.forget(key);
    this.#reviser.forget(key);
    this.#volumes.forget(key);
    this.#announcements.forget(key);
    this.#queue.forget(key);
    return undefined;
  }

  /** False: it was added just now, and the event of that write brings us back. */
  async #ensureFinalizer(object: KubeObject): Promise<boolean> {
    const marked = withFinalizer(object);
    if (!marked) return true;
    this.#statefulsets.cache.wrote(await this.#options.hub.update(STATEFULSETS, marked));
    return false;
  }

  /** The last steps of a release or teardown: nothing of ours is left, and the object may go. */
  async #finishDeletion(subject: Subject, session: Session, result: PlanResult): Promise<boolean> {
    if (!isDeleting(subject)) return false;
    const { object, statefulset, app } = subject;
    const { engine } = this.#options;
    if (!result.finished || engine.dispatched(app).length > 0) return false;
    if ((await engine.unhold(app)) === "kept") this.#announcements.holdKept(object, app);
    await this.#revisionStore.removeAll(statefulset.metadata);
    await session.removeLedger();
    await this.#removeFinalizer(object);
    return true;
  }

  async #removeFinalizer(object: KubeObject): Promise<void> {
    const freed = withoutFinalizer(object);
    if (freed) await this.#options.hub.update(STATEFULSETS, freed);
  }

  #parse(key: string, object: KubeObject): Parsed<ParsedCrossClusterStatefulset> {
    const { uid, generation, deletionTimestamp } = object.metadata;
    const from = `${uid} ${generation} ${deletionTimestamp}`;
    const known = this.#parsed.get(key);
    if (known?.from === from && generation !== undefined) return known.parsed;
    // What we say ourselves is no part of what is asked for.
    const { status: _said, ...asked } = object;
    const parsed = parseCrossClusterStatefulset(asked);
    this.#parsed.set(key, { from, parsed });
    return parsed;
  }

  /** An answer that was pending has come: whoever waits for an object of that name looks again. */
  #interpreted(object: JsonObject): void {
    const metadata = isJsonObject(object.metadata) ? object.metadata : {};
    for (const [key, { template }] of this.#tracked) {
      if (template.name === metadata.name && template.namespace === metadata.namespace) this.#queue.add(key);
    }
  }
}
