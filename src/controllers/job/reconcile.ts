/** One CrossClusterJob, from an event to the next grant: observe, plan, write the ledger, act, report. */
import {
  type AllowedClustersRule,
  forbiddenClusters,
  JOB_WORKLOAD,
  jobTemplateMistakes,
  kindsOf,
  type ParsedCrossClusterJob,
  parseCrossClusterJob,
  type Workload,
} from "../../api/index.ts";
import type { Engine, EngineBundle, EngineCluster, News } from "../../engine/index.ts";
import type { Interpreter } from "../../interpret/index.ts";
import { type JobLedger, planJob, templateDigest } from "../../jobs/index.ts";
import {
  type Cache,
  type KubeClient,
  type KubeObject,
  NotFoundError,
  nameOfKey,
  type WorkResult,
} from "../../kube/index.ts";
import type { Clock } from "../../runtime/index.ts";
import type { Announcer } from "../common/announcer.ts";
import { Lifetimes } from "../common/lifetimes.ts";
import { ledgerOwner, type OwnedLedgers } from "../common/owned-ledgers.ts";
import { ownerOf } from "../common/owner.ts";
import { JOBS, withFinalizer, withoutFinalizer } from "../common/resources.ts";
import { actOnJob } from "./act/act.ts";
import { attemptRef } from "./attempt-marks.ts";
import { JOB_LEDGERS, JobSession, rebuiltLedger } from "./ledger.ts";
import { jobIntentOf } from "./observe/intent.ts";
import { takeJobMoment } from "./observe/observe.ts";
import { SecondLooks } from "./observe/second-looks.ts";
import { recovered } from "./recover.ts";
import type { JobReporter } from "./report/reporter.ts";

export interface JobReconcilerParts {
  readonly hub: KubeClient;
  readonly engine: Engine;
  readonly interpreter: Interpreter;
  readonly clock: Clock;
  readonly cache: Cache<KubeObject>;
  readonly ledgers: OwnedLedgers<JobLedger>;
  readonly reporter: JobReporter;
  readonly announcer: Announcer;
  readonly changed: (key: string, news: News) => void;
  /** Kinds that may be templates, in addition to Jobs; absent: any. */
  readonly workloads?: readonly Workload[];
  readonly allowedClusters?: AllowedClustersRule;
  readonly namespaceOf: (name: string) => KubeObject | undefined;
}

/** How soon something that is going away is looked at again, should no event say that it has gone. */
const UNFINISHED_RETRY_MS = 2_000;
/** The engine shows what was dispatched with its next event; if its watch is slower, an event of the object wakes it. */
const ORDER_READ_MS = 50;
/**
 * After it was claimed, no attempt starts for so long while a Ready cluster has not been read yet: the work would go to
 * the first cluster that answers, which may be the one where it has just failed.
 */
const FIRST_LOOK_MS = 5_000;
const FIRST_LOOK_RETRY_MS = 100;

export class JobReconciler {
  readonly #parts: JobReconcilerParts;
  readonly #sessions = new Map<string, JobSession>();
  readonly #bundles = new Map<string, EngineBundle>();
  readonly #lifetimes: Lifetimes;
  readonly #looks: SecondLooks;

  constructor(parts: JobReconcilerParts) {
    this.#parts = parts;
    this.#lifetimes = new Lifetimes({ ...parts, of: JOBS });
    const { engine, clock, changed } = parts;
    this.#looks = new SecondLooks({ engine, clock, changed: (key) => changed(key, "own") });
  }

  has(key: string): boolean {
    return this.#sessions.has(key);
  }

  keys(): Iterable<string> {
    return this.#bundles.keys();
  }

  /** The ledger has to be claimed again. */
  doubt(key: string): void {
    this.#sessions.delete(key);
  }

  isInDoubt(key: string): boolean {
    return this.#sessions.get(key)?.isInDoubt ?? false;
  }

  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { cache, engine, reporter } = this.#parts;
    await this.#collect(key);
    const object = cache.getByKey(key);
    if (!object) {
      this.#forget(key);
      return undefined;
    }
    const isDeleted = object.metadata.deletionTimestamp !== undefined;
    if (isDeleted && !withoutFinalizer(object)) return undefined;
    const { status: _said, ...asked } = object;
    const parsed = parseCrossClusterJob(asked);
    if (!parsed.ok) {
      reporter.refuse(
        object,
        "InvalidSpec",
        parsed.errors.map(({ path, message }) => `${path}: ${message}`).join("; "),
      );
      return isDeleted ? this.#letGo(key, object) : undefined;
    }
    const job = parsed.value;
    const refused = this.#refusedKind(job);
    if (refused !== undefined && !isDeleted) {
      reporter.refuse(object, "KindNotAllowed", refused);
      return undefined;
    }
    if (!engine.synced()) return { requeueAfterMs: UNFINISHED_RETRY_MS };
    const life = isDeleted ? undefined : await this.#lifetimes.check(object);
    if (life?.kind === "ended") return undefined;
    if (!isDeleted && !(await this.#ensureFinalizer(object))) return undefined;
    const session = await this.#open(key, object, job);
    const result = session && (await this.#step(key, object, job, session));
    const lifeMs = life?.lookAgainMs;
    if (lifeMs === undefined) return result;
    return { ...result, requeueAfterMs: Math.min(lifeMs, result?.requeueAfterMs ?? lifeMs) };
  }

  async #step(
    key: string,
    object: KubeObject,
    job: ParsedCrossClusterJob,
    session: JobSession,
  ): Promise<WorkResult | undefined> {
    const { engine, interpreter, clock, reporter, hub, allowedClusters, namespaceOf } = this.#parts;
    const { ledger } = session;
    const bundle = this.#track(key, job, ledger);
    const isChanged = ledger.template !== templateDigest(job.spec.template);
    if (isChanged && job.metadata.deletionTimestamp === undefined) {
      reporter.refuse(
        object,
        "TemplateChanged",
        "spec.template is not what the attempts were made from; restore it, or create another CrossClusterJob for other work",
      );
      return undefined;
    }
    const mistakes = ledger.nextAttempt === 1 ? jobTemplateMistakes(job.spec) : [];
    if (mistakes.length > 0 && job.metadata.deletionTimestamp === undefined) {
      reporter.refuse(object, "InvalidSpec", `${mistakes.join("; ")}. Create it again with a template that is correct`);
      return undefined;
    }
    const namespace = namespaceOf(job.metadata.namespace);
    const intent = jobIntentOf(job, {
      clusters: engine.clusters(),
      schedule: engine.schedule(bundle),
      forbidden: (names) => {
        if (!allowedClusters) return [];
        const topology = names.map((name) => ({ name }));
        return forbiddenClusters(namespace ?? { metadata: {} }, topology, allowedClusters);
      },
    });
    const nowMs = clock.now();
    const moment = takeJobMoment(
      { engine, interpreter, looks: this.#looks },
      job,
      bundle,
      session,
      intent.clusters,
      nowMs,
    );
    const plan = planJob(intent, ledger, moment.seen, nowMs);
    const isUnread = ({ name, state }: EngineCluster) =>
      state === "Ready" && intent.clusters.includes(name) && moment.seen.next[name]?.kind === "unreachable";
    const isEarly = nowMs < session.openedAtMs + FIRST_LOOK_MS;
    if (isEarly && plan.ledger.nextAttempt > ledger.nextAttempt && moment.clusters.some(isUnread)) {
      return { requeueAfterMs: FIRST_LOOK_RETRY_MS };
    }
    const wasSaved = await session.save(plan.ledger);
    const done = await actOnJob({ engine, bundle, job, session, nowMs }, plan, wasSaved);
    if (plan.isFinished && engine.dispatched(bundle).length === 0) {
      await session.remove();
      return this.#letGo(key, object);
    }
    reporter.report(key, object, { job, plan, failures: done.failures, newest: moment.newest, nowMs });
    if (plan.actions.some(({ kind }) => kind === "expire")) await this.#expire(hub, object);
    const dueMs = plan.requeueAtMs === undefined ? undefined : Math.max(0, plan.requeueAtMs - nowMs);
    const isBusy = done.isUnfinished || done.failures.length > 0;
    const looksMs = this.#looks.dueInMs(key);
    const orderMs = done.isOrdered && done.failures.length === 0 ? ORDER_READ_MS : undefined;
    const delays = [dueMs, looksMs, orderMs, isBusy ? UNFINISHED_RETRY_MS : undefined].filter(
      (delay) => delay !== undefined,
    );
    return delays.length > 0 ? { requeueAfterMs: Math.min(...delays) } : {};
  }

  /** The attempts that may still exist, and the next one: a ledger that was restored may not know it. */
  #track(key: string, { metadata, spec }: ParsedCrossClusterJob, ledger: JobLedger): EngineBundle {
    const { engine, changed } = this.#parts;
    const numbers = [
      ...ledger.attempts.filter(({ isCleaned }) => !isCleaned).map(({ number }) => number),
      ledger.nextAttempt,
    ];
    const objects = numbers.map((number) => attemptRef({ metadata, spec } as ParsedCrossClusterJob, number));
    const known = this.#bundles.get(key);
    const names = (refs: EngineBundle["objects"]) => refs.map(({ name }) => name).join(" ");
    if (known && known.uid === metadata.uid && names(known.objects) === names(objects)) return known;
    const { namespace, name, uid } = metadata;
    const placement = spec.clusters.placementRef?.name;
    const bundle: EngineBundle = {
      kind: "CrossClusterJob",
      namespace,
      name,
      ...(uid !== undefined && { uid }),
      objects,
      ...(placement !== undefined && { placement }),
    };
    this.#bundles.set(key, bundle);
    engine.track(bundle, (news) => changed(key, news));
    return bundle;
  }

  async #open(key: string, object: KubeObject, job: ParsedCrossClusterJob): Promise<JobSession | undefined> {
    const { engine, ledgers, reporter, clock } = this.#parts;
    const owner = ownerOf(object);
    const known = this.#sessions.get(key);
    if (known?.owner.uid === owner.uid) return known;
    const digest = templateDigest(job.spec.template);
    const bundle: EngineBundle = {
      kind: "CrossClusterJob",
      namespace: owner.namespace,
      name: owner.name,
      objects: [attemptRef(job, 1)],
    };
    const fresh = async () => {
      await this.#mustStillExist(key);
      const rebuilt = rebuiltLedger(digest, owner, await engine.readDispatched(bundle));
      return { ledger: recovered(rebuilt, object.status, job, clock.now()), revisions: [] };
    };
    const claimed = await ledgers.claim(owner, fresh, () => engine.dispatched(bundle).map(({ term }) => term));
    if (claimed.kind === "unreadable") {
      reporter.refuse(object, "LedgerUnreadable", claimed.message);
      return undefined;
    }
    if (claimed.kind === "none") throw new Error(`the ledger of ${key} could not be claimed`);
    const session = new JobSession(ledgers, claimed.stored, clock.now());
    this.#sessions.set(key, session);
    return session;
  }

  async #mustStillExist(key: string): Promise<void> {
    const { namespace = "", name } = nameOfKey(key);
    if (!(await this.#parts.hub.find(JOBS, { namespace, name }))) throw new Error(`CrossClusterJob ${key} is gone`);
  }

  #refusedKind({ spec }: ParsedCrossClusterJob): string | undefined {
    const { workloads } = this.#parts;
    if (!workloads) return undefined;
    const { apiVersion, kind } = spec.template;
    const [group = ""] = String(apiVersion).includes("/") ? String(apiVersion).split("/") : [];
    const isAllowed = [JOB_WORKLOAD, ...workloads].flatMap(kindsOf).includes(`${group}/${String(kind).toLowerCase()}`);
    return isAllowed
      ? undefined
      : `spec.template: ${String(kind)} of ${String(apiVersion)} may not be a template here; an administrator of the hub allows it with --workload`;
  }

  async #ensureFinalizer(object: KubeObject): Promise<boolean> {
    const { hub, cache } = this.#parts;
    const marked = withFinalizer(object);
    if (!marked) return true;
    cache.wrote(await hub.update(JOBS, marked));
    return false;
  }

  async #letGo(key: string, object: KubeObject): Promise<undefined> {
    const freed = withoutFinalizer(object);
    if (freed) await this.#parts.hub.update(JOBS, freed);
    this.#forget(key);
    return undefined;
  }

  /** [J17] Only this life of it, and only as it was seen. */
  async #expire(hub: KubeClient, { metadata }: KubeObject): Promise<void> {
    const { uid, resourceVersion } = metadata;
    try {
      await hub.delete(JOBS, metadata, {
        preconditions: { ...(uid && { uid }), ...(resourceVersion && { resourceVersion }) },
      });
    } catch (error) {
      if (!(error instanceof NotFoundError)) throw error;
    }
  }

  /** Ledgers of earlier lives: their owners are gone. */
  async #collect(key: string): Promise<void> {
    const { hub, ledgers, cache } = this.#parts;
    const { namespace = "", name } = nameOfKey(key);
    for (const ledger of ledgers.ofEarlierLives({ namespace, name }, cache.getByKey(key)?.metadata.uid)) {
      const owner = ledgerOwner(ledger, JOB_LEDGERS.kind);
      const now = await hub.find(JOBS, { namespace, name });
      if (owner && now?.metadata.uid !== owner.uid) await ledgers.remove(ledger);
    }
  }

  #forget(key: string): void {
    const bundle = this.#bundles.get(key);
    if (bundle) this.#parts.engine.untrack(bundle);
    this.#bundles.delete(key);
    this.#sessions.delete(key);
    this.#lifetimes.forget(key);
    this.#looks.forget(key);
    this.#parts.reporter.forget(key);
  }
}
