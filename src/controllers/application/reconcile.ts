/**
 * One reconcile of one DistributedApplication, from top to bottom. It decides nothing: it gathers what the planner needs,
 * writes the ledger, carries it out, and reports. Whatever it is interrupted in, the next run comes to the same.
 */

import {
  type AllowedClustersRule,
  type DistributedApplicationStatus,
  type ParsedDistributedApplication,
  parseDistributedApplication,
} from "../../api/index.ts";
import { type Ledger, plan } from "../../applications/index.ts";
import { type Engine, type EngineBundle, type News, type ObjectRef, ownerMark } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import type { Cache, KubeClient, KubeObject, WorkResult } from "../../kube/index.ts";
import { keyOf, NotFoundError, nameOfKey } from "../../kube/index.ts";
import { type Waiting, WindowMemory } from "../../rollout/index.ts";
import { type Clock, isJsonObject } from "../../runtime/index.ts";
import type { Announcer } from "../common/announcer.ts";
import type { Approvals } from "../common/approvals.ts";
import type { HubObjects } from "../common/hub/hub-objects.ts";
import { Lifetimes } from "../common/lifetimes.ts";
import { ledgerOwner } from "../common/owned-ledgers.ts";
import { ownerOf } from "../common/owner.ts";
import { Records } from "../common/records.ts";
import { APPLICATIONS, withFinalizer, withoutFinalizer } from "../common/resources.ts";
import { RevisionDamagedError } from "../common/revisions/revision-content.ts";
import type { RevisionStore } from "../common/revisions/revision-store.ts";
import type { StatusWriter } from "../common/status-writer.ts";
import { Warnings } from "../common/warnings.ts";
import { Absences, LOOK_AGAIN_MS } from "./absences.ts";
import { type ActContext, act } from "./act.ts";
import { allParts, type Bundle } from "./content.ts";
import { askScheduler, divisionRefused } from "./divisions.ts";
import { clustersRefused, intentOf, targetOf, wantedClusters } from "./intent.ts";
import { managedIn } from "./managed.ts";
import { keyOfRef } from "./manifest.ts";
import { type NewsItem, newsOf } from "./news.ts";
import { observe } from "./observe.ts";
import { ownStatuses } from "./own-status.ts";
import { momentOf, namedRemedy, refusalStatus, statusOf } from "./report.ts";
import { REFUSED_RETRY_MS, type Reviser, type Target } from "./reviser.ts";
import { type ApplicationLedgers, DAPP_KIND, type Session, type Sessions } from "./session.ts";
import { gatherInputs } from "./source.ts";
import { Standing } from "./standing.ts";
import type { ReadValues } from "./values.ts";
import { Way } from "./way.ts";

export interface ReconcilerParts {
  readonly hub: KubeClient;
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly clock: Clock;
  readonly mayAct: () => boolean;
  readonly announcer: Announcer;
  readonly cache: Cache<KubeObject>;
  readonly statefulsets: Cache<KubeObject>;
  readonly hubObjects: HubObjects;
  readonly readValues: ReadValues;
  readonly sessions: Sessions;
  readonly ledgers: ApplicationLedgers;
  readonly revisions: RevisionStore;
  readonly reviser: Reviser;
  readonly approvals: Approvals;
  readonly statuses: StatusWriter<DistributedApplicationStatus>;
  readonly allowedClusters?: AllowedClustersRule;
  readonly changed: (key: string, news: News) => void;
  readonly forget: (key: string) => void;
}

/** How soon something that is going away is looked at again, should no event say that it has gone. */
const UNFINISHED_RETRY_MS = 2_000;
/** What is pending without a time of its own is looked at this often, should no event come first. */
const LEAST_LOOK_MS = 1_000;
const UNFINISHED: WorkResult = { requeueAfterMs: UNFINISHED_RETRY_MS };

export class Reconciler {
  readonly #parts: ReconcilerParts;
  readonly #windows = new WindowMemory();
  readonly #lifetimes: Lifetimes;
  readonly #warnings: Warnings;
  readonly #records = new Records();
  readonly #tracked = new Map<string, EngineBundle>();
  /** Delivered objects that members have lost, by application. */
  readonly #absences = new Map<string, Absences>();
  /** Objects that another owner has, by application, cluster and key. */
  readonly #refused = new Map<string, Map<string, string>>();
  readonly #standing = new Map<string, Standing>();
  /** Applications whose deletion runs no hooks, as an Event said. */
  readonly #unhooked = new Set<string>();

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
    this.#lifetimes = new Lifetimes({ ...parts, of: APPLICATIONS });
    this.#warnings = new Warnings(parts.announcer);
  }

  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { cache, engine } = this.#parts;
    await this.#collect(key);
    const object = cache.getByKey(key);
    if (!object) {
      this.#forget(key);
      return undefined;
    }
    if (!engine.synced()) return UNFINISHED;
    const isDeleting = object.metadata.deletionTimestamp !== undefined;
    if (isDeleting && !withoutFinalizer(object)) return undefined;
    const { status: _said, ...asked } = object;
    const parsed = parseDistributedApplication(asked);
    if (!parsed.ok) {
      const errors = parsed.errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
      this.#refuse(key, object, "InvalidSpec", errors);
      // An object that cannot be read any more is let go as it is: nothing says that its objects may be deleted.
      return isDeleting ? this.#letGo(key, object) : undefined;
    }
    const app = parsed.value;
    const life = isDeleting ? undefined : await this.#lifetimes.check(object);
    if (life?.kind === "ended") return undefined;
    if (!isDeleting && !(await this.#ensureFinalizer(object))) return undefined;
    this.#parts.hubObjects.begin(key);
    const bundle = this.#bundleOf(key, app);
    const session = await this.#parts.sessions.open(key, object, () => engine.dispatched(bundle));
    if ("unreadable" in session) {
      this.#refuse(key, object, "LedgerUnreadable", session.unreadable);
      return undefined;
    }
    const lifeMs = life?.lookAgainMs;
    const result = await this.#step(key, app, object, session, bundle);
    if (lifeMs === undefined) return result;
    return { ...result, requeueAfterMs: Math.min(lifeMs, result?.requeueAfterMs ?? lifeMs) };
  }

  async #step(
    key: string,
    app: ParsedDistributedApplication,
    object: KubeObject,
    session: Session,
    tracked: EngineBundle,
  ): Promise<WorkResult | undefined> {
    const { engine, clock, reviser, hubObjects, approvals, statuses, revisions, interpreter } = this.#parts;
    const isDeleting = app.metadata.deletionTimestamp !== undefined;
    const fleet = new Map(engine.clusters().map((cluster) => [cluster.name, cluster]));
    const clusters = wantedClusters(app, engine, tracked, fleet);
    const chosen = clusters.kind === "known" ? clusters.names : Object.keys(session.ledger.clusters);
    const rule = this.#parts.allowedClusters;
    const namespace = hubObjects.get(key, {
      apiVersion: "v1",
      kind: "Namespace",
      namespace: "",
      name: app.metadata.namespace,
    });
    const refusal = rule && !isDeleting ? clustersRefused(app, chosen, namespace, rule) : undefined;
    if (refusal !== undefined) {
      // What is not known yet is known in a moment: worth a status, not an Event.
      const isPending = namespace.kind === "unknown";
      this.#refuse(key, object, "InvalidSpec", `spec.clusters: ${refusal}`, isPending);
      return { requeueAfterMs: REFUSED_RETRY_MS };
    }
    const undivided = isDeleting ? undefined : divisionRefused(app, engine);
    if (undivided !== undefined) {
      this.#refuse(key, object, "InvalidSpec", undivided);
      return undefined;
    }
    const asked = { app, chosen, ready: chosen.filter((name) => fleet.get(name)?.state === "Ready") };
    const revised = isDeleting
      ? ({ kind: "pending", message: "the application is being deleted" } as const)
      : await reviser.revise(
          key,
          asked,
          gatherInputs(hubObjects, key, app, chosen, fleet, this.#parts.readValues),
          session,
        );
    if (revised.kind === "forbidden") return this.#forbid(key, object, revised.message);
    const target = targetOf(revised, session.ledger, app);
    // An undo goes back to what the account may distribute now, not to what it once might.
    const isOther = !isDeleting && target !== undefined && !(revised.kind === "known" && revised.id === target);
    const barred = isOther ? await reviser.barred(asked, target) : undefined;
    if (barred !== undefined) return this.#forbid(key, object, barred);
    const bundles = await this.#bundles(app, session.ledger, target);
    const unhooked = isDeleting ? await this.#forbiddenHooks(asked, bundles) : undefined;
    if (unhooked !== undefined) this.#sayUnhooked(key, object, unhooked);
    const way = new Way({
      app,
      bundles,
      mark: ownerMark(tracked),
      isManaged: managedIn(app, this.#parts.statefulsets.list()),
      hasNoDeleteHooks: unhooked !== undefined,
    });
    const owner = this.#track(key, app, bundles, tracked);
    const refusals = this.#refused.get(key) ?? new Map<string, string>();
    this.#refused.set(key, refusals);
    const nowMs = clock.now();
    const seen = observe({
      engine,
      interpreter,
      owner,
      ledger: session.ledger,
      way,
      refused: (cluster, part) => refusals.get(`${cluster} ${part}`),
      standing: this.#standingOf(key),
    });
    const parts = isDeleting ? [] : way.divided(target);
    const divisions = await askScheduler(engine, owner, parts, clusters, () => this.#confirm(session));
    const { divided } = divisions;
    const window = this.#windows.state(app.spec.rollout.maintenanceWindows, nowMs);
    const facts = { app, revision: revised, clusters, way, divided, approvals: approvals.of(key), window };
    const before = session.ledger;
    const result = plan(intentOf(facts), before, seen, nowMs);
    const absences = this.#absences.get(key) ?? new Absences(clock);
    this.#absences.set(key, absences);
    const done = await this.#carryOut(key, app, session, owner, way, result, refusals, absences);
    const isEmpty = engine.dispatched(owner).length === 0 && divisions.isTidy;
    if (isDeleting && result.finished && isEmpty) {
      await revisions.removeAll(ownerOf(object));
      await session.removeLedger();
      return this.#letGo(key, object);
    }
    const wanted = result.figures.targetRevision;
    const report = {
      app,
      result,
      seen,
      way,
      divided,
      revisions: revisions.list(session.owner),
      bundle: wanted === null ? undefined : bundles.get(wanted),
      trial: wanted === null ? undefined : reviser.trial(app, wanted),
      statuses: ownStatuses({ engine, interpreter, owner, way }, result.ledger),
      failures: done.failures,
      nowMs,
    };
    const news = this.#announce(key, app, object, before, result);
    const moment = momentOf(result, news);
    if (moment) this.#records.note(key, object.status, moment, nowMs);
    statuses.say(key, (said) =>
      statusOf({ ...report, recorded: (rows) => this.#records.into(key, rows, said?.history) }, said),
    );
    await approvals.report(key, result, app.spec.rollout.waves?.length ?? 0, nowMs);
    this.#tidy(app, session, result.ledger);
    const dueMs = result.requeueAt === undefined ? undefined : Math.max(0, result.requeueAt - nowMs);
    const settleMs =
      revised.kind === "pending" && !isDeleting
        ? Math.max(app.spec.revisionSettleSeconds * 1000, LEAST_LOOK_MS)
        : undefined;
    const absentMs = absences.isWaiting && !isDeleting ? LOOK_AGAIN_MS : undefined;
    const isPending = done.unfinished || done.failures.length > 0 || !divisions.isTidy;
    const retryMs = isPending ? UNFINISHED_RETRY_MS : undefined;
    // A stage with nothing to do has no event that would say so: the next plan looks at it at once.
    const againMs = done.isNew ? 0 : undefined;
    const refusedMs = revised.kind === "refused" ? REFUSED_RETRY_MS : undefined;
    const askMs = divisions.isKnown ? undefined : REFUSED_RETRY_MS;
    const delays = [askMs, againMs, absentMs, dueMs, retryMs, settleMs, refusedMs].filter((each) => each !== undefined);
    return delays.length > 0 ? { requeueAfterMs: Math.min(...delays) } : undefined;
  }

  /** Only after the ledger is written: what it does not say has not happened. */
  #announce(
    key: string,
    { spec, metadata }: ParsedDistributedApplication,
    object: KubeObject,
    before: Ledger,
    { ledger, reasons }: ReturnType<typeof plan>,
  ): readonly NewsItem[] {
    const news = newsOf(before, ledger, spec.rollout.waves?.length ?? 0);
    for (const { type, reason, message } of news) this.#parts.announcer.event(object, type, reason, message);
    const sentence = ({ message, remedy }: Waiting) => `${message}. ${namedRemedy(remedy, metadata.name)}`;
    // A failed step has its own Event.
    const isSaid = ({ code, cluster = "" }: Waiting) =>
      (code === "MemberFailed" || code === "ProgressDeadlineExceeded") && ledger.clusters[cluster]?.failed != null;
    const others = reasons.filter((one) => !isSaid(one));
    this.#warnings.waiting(key, object, others, sentence);
    return news;
  }

  /** Act, write-ahead: the ledger first, then what it says. */
  async #carryOut(
    key: string,
    app: ParsedDistributedApplication,
    session: Session,
    owner: EngineBundle,
    way: Way,
    result: ReturnType<typeof plan>,
    refusals: Map<string, string>,
    absences: Absences,
  ) {
    const { engine, mayAct } = this.#parts;
    const isLost: ActContext["isLost"] = (cluster, { ref, key }, one) => {
      const isDelivered = one.delivery.state === "delivered";
      const isAbsent = isDelivered && engine.snapshot(owner, cluster, ref).kind === "absent";
      return absences.isLost(`${cluster} ${key}`, isAbsent);
    };
    const confirm = () => this.#confirm(session);
    if (!mayAct()) throw new Error("the lease may have run out; nothing is written");
    const isNew = await session.save(result.ledger);
    if (isNew) await this.#parts.revisions.deleteDropped(session.owner);
    if (!session.stamped) {
      if (!isNew) await confirm();
      await engine.stamp(owner, session.term, Object.keys(result.ledger.clusters));
      session.stamped = true;
    }
    const refuse = (cluster: string, part: string, message: string | undefined) => {
      if (message === undefined) refusals.delete(`${cluster} ${part}`);
      else refusals.set(`${cluster} ${part}`, message);
    };
    const { adopt, prune } = app.spec;
    const isShared = (cluster: string, { kind, name }: ObjectRef) =>
      kind === "Namespace" && (this.#isUsed(key, name) || engine.hasOthersIn(way.mark, cluster, name));
    const standing = this.#standingOf(key);
    const done = await act(
      { engine, owner, way, term: session.term, adopt, prune, confirm, refuse, isLost, isShared, standing },
      result,
    );
    return { ...done, isNew };
  }

  #standingOf(key: string): Standing {
    const known = this.#standing.get(key) ?? new Standing(this.#parts.clock);
    this.#standing.set(key, known);
    return known;
  }

  /** Whether another object of Lockstep's is to use a namespace of the members: what it has there would go with it. */
  #isUsed(key: string, namespace: string): boolean {
    const { cache, statefulsets } = this.#parts;
    const isIn = ({ metadata, spec }: KubeObject) => {
      const target = isJsonObject(spec) ? spec.targetNamespace : undefined;
      return (target ?? metadata.namespace) === namespace;
    };
    const others = cache.list().filter(({ metadata }) => keyOf(metadata) !== key);
    return [...others, ...statefulsets.list()].some(isIn);
  }

  async #confirm(session: Session): Promise<void> {
    await session.confirm();
    if (!this.#parts.mayAct()) throw new Error("the lease may have run out; nothing is written");
  }

  #bundleOf(key: string, { metadata: { namespace, name, uid } }: ParsedDistributedApplication): EngineBundle {
    return (
      this.#tracked.get(key) ?? { kind: DAPP_KIND, namespace, name, ...(uid !== undefined && { uid }), objects: [] }
    );
  }

  /** Everything that any granted revision has, and what is dispatched, is watched. */
  #track(
    key: string,
    { metadata: { namespace, name, uid }, spec: { clusters } }: ParsedDistributedApplication,
    bundles: ReadonlyMap<string, Bundle>,
    known: EngineBundle,
  ): EngineBundle {
    const { engine, changed } = this.#parts;
    const refs = new Map<string, ObjectRef>();
    for (const bundle of bundles.values()) for (const { ref, key: id } of allParts(bundle)) refs.set(id, ref);
    for (const { ref } of engine.dispatched(known)) refs.set(keyOfRef(ref), ref);
    const before = this.#tracked.get(key);
    const isSame = before?.objects.length === refs.size && before.objects.every((ref) => refs.has(keyOfRef(ref)));
    // What it names is news of this application when it decides.
    const placement = clusters.placementRef?.name;
    if (before && isSame && before.uid === uid && before.placement === placement) return before;
    const own = { kind: DAPP_KIND, namespace, name, ...(uid !== undefined && { uid }) } as const;
    const owner: EngineBundle = { ...own, objects: [...refs.values()], ...(placement !== undefined && { placement }) };
    this.#tracked.set(key, owner);
    engine.track(owner, (news) => changed(key, news));
    return owner;
  }

  async #bundles(app: ParsedDistributedApplication, ledger: Ledger, target: string | undefined) {
    const ids = new Set([
      ...Object.values(ledger.clusters).flatMap(({ grant }) => (grant ? [grant.revision] : [])),
      ...(target === undefined ? [] : [target]),
      ...(ledger.currentRevision === null ? [] : [ledger.currentRevision]),
      ...(ledger.override ? [ledger.override.to] : []),
      ...(app.spec.undo ? [app.spec.undo.to] : []),
    ]);
    const bundles = new Map<string, Bundle>();
    for (const id of ids) {
      const bundle = await this.#parts.reviser.bundle(app, id).catch((error: unknown) => {
        // The planner writes nothing of it, and says so. A deletion needs only what is dispatched.
        if (!(error instanceof RevisionDamagedError)) throw error;
      });
      if (bundle) bundles.set(id, bundle);
    }
    return bundles;
  }

  #tidy(app: ParsedDistributedApplication, session: Session, ledger: Ledger): void {
    const { revisions } = this.#parts;
    const inUse = new Set([
      ...Object.values(ledger.clusters).flatMap(({ grant, deployed }) => [grant?.revision, deployed ?? undefined]),
      ledger.currentRevision ?? undefined,
      ledger.rollout?.to,
      ledger.rollout?.from ?? undefined,
      ledger.override?.to,
      session.source?.revision,
    ]);
    revisions.prune(session.owner, new Set([...inUse].filter((id) => id !== undefined)), app.spec.revisionHistoryLimit);
  }

  async #ensureFinalizer(object: KubeObject): Promise<boolean> {
    const marked = withFinalizer(object);
    if (!marked) return true;
    this.#parts.cache.wrote(await this.#parts.hub.update(APPLICATIONS, marked));
    return true;
  }

  async #letGo(key: string, object: KubeObject): Promise<undefined> {
    const freed = withoutFinalizer(object);
    try {
      if (freed) await this.#parts.hub.update(APPLICATIONS, freed);
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
    this.#forget(key);
    return undefined;
  }

  /** What is kept for owners that are gone is removed by us: owner references do not reach from one namespace to another. */
  async #collect(key: string): Promise<void> {
    const { hub, ledgers, revisions, cache } = this.#parts;
    const { namespace = "", name } = nameOfKey(key);
    for (const ledger of ledgers.ofEarlierLives({ namespace, name }, cache.getByKey(key)?.metadata.uid)) {
      const owner = ledgerOwner(ledger, DAPP_KIND);
      if (!owner) continue;
      const now = await hub.find(APPLICATIONS, { namespace, name });
      if (now?.metadata.uid === owner.uid) continue;
      const found = ledgers.find(owner);
      if (found.kind === "stored") await revisions.removeAll(owner, found.stored.revisions);
      await ledgers.remove(ledger);
    }
  }

  #sayUnhooked(key: string, object: KubeObject, message: string): void {
    if (this.#unhooked.has(key)) return;
    this.#unhooked.add(key);
    this.#parts.announcer.event(object, "Warning", "HooksSkipped", message);
  }

  /** [A27] Why the hooks of the deletion do not run; undefined: they may. */
  async #forbiddenHooks(asked: Target, bundles: ReadonlyMap<string, Bundle>): Promise<string | undefined> {
    for (const bundle of bundles.values()) {
      const missing = await this.#parts.reviser.barredHooks(asked, bundle);
      if (missing !== undefined) return `${missing}; the application is deleted without its hooks`;
    }
    return undefined;
  }

  /** [A27] Nothing moves while a right is missing; what runs stays as it is. */
  #forbid(key: string, object: KubeObject, message: string): WorkResult {
    this.#refuse(key, object, "Forbidden", `${message}; nothing moves until an administrator of the hub allows it`);
    return { requeueAfterMs: REFUSED_RETRY_MS };
  }

  #refuse(key: string, object: KubeObject, reason: string, message: string, isPending = false): void {
    const nowMs = this.#parts.clock.now();
    if (!isPending) this.#warnings.refused(key, object, reason, message);
    this.#parts.statuses.say(key, (before) => refusalStatus(object, reason, message, nowMs, before));
  }

  #forget(key: string): void {
    const owner = this.#tracked.get(key);
    if (owner) this.#parts.engine.untrack(owner);
    this.#tracked.delete(key);
    this.#refused.delete(key);
    this.#lifetimes.forget(key);
    this.#warnings.forget(key);
    this.#records.forget(key);
    this.#absences.delete(key);
    this.#standing.delete(key);
    this.#unhooked.delete(key);
    this.#parts.forget(key);
  }
}
