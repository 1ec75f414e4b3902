/**
 * One reconcile of one CrossClusterStatefulset, from top to bottom. It decides nothing: it gathers what the planner
 * needs, writes the ledger, carries the grants out, and reports. If it is interrupted at any point, the next run comes
 * to the same result.
 */
import type { ParsedCrossClusterStatefulset, Workload } from "../../api/index.ts";
import type { Engine, ObjectRef } from "../../engine/index.ts";
import type { Cache, KubeClient, KubeObject, WorkResult } from "../../kube/index.ts";
import { plan } from "../../plan/index.ts";
import { type Clock, isJsonObject } from "../../runtime/index.ts";
import type { Approvals } from "../common/approvals.ts";
import type { HubObjects } from "../common/hub/hub-objects.ts";
import type { LifetimeState, Lifetimes } from "../common/lifetimes.ts";
import { ownerOf } from "../common/owner.ts";
import { STATEFULSETS, withFinalizer, withoutFinalizer } from "../common/resources.ts";
import type { Telemetry } from "../common/telemetry.ts";
import { type CarriedOut, type CarryOutOptions, carryOut } from "./act/carry-out.ts";
import { tidy } from "./act/tidy.ts";
import type { Applications } from "./applications.ts";
import type { Ending } from "./ending.ts";
import type { LedgerStore } from "./ledger/ledger-store.ts";
import { claimedMessage } from "./observe/claims.ts";
import { parseForDeletion } from "./observe/deletion.ts";
import type { Gatherer } from "./observe/gather.ts";
import { takeMoment } from "./observe/moment.ts";
import type { Quotas } from "./observe/quotas.ts";
import { findTemplate, unknownKindText } from "./observe/template.ts";
import { refusedKind } from "./observe/template-kind.ts";
import { type Volumes, withVolumes } from "./observe/volumes.ts";
import { withAwaited } from "./report/delivery.ts";
import { fieldErrorsText } from "./report/report.ts";
import type { Reporter } from "./report/reporter.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { Subject } from "./subject.ts";

/** What a reconcile works with. */
export interface ReconcilerParts {
  readonly hub: KubeClient;
  readonly engine: Engine;
  readonly clock: Clock;
  /** All CrossClusterStatefulsets. */
  readonly cache: Cache<KubeObject>;
  readonly hubObjects: HubObjects;
  readonly applications: Applications;
  readonly sessions: Sessions;
  readonly ledgers: LedgerStore;
  readonly approvals: Approvals;
  readonly gatherer: Gatherer;
  readonly volumes: Volumes;
  readonly quotas: Quotas;
  readonly carryOutOptions: CarryOutOptions;
  readonly reporter: Reporter;
  readonly telemetry: Telemetry;
  readonly ending: Ending;
  readonly lifetimes: Lifetimes;
  /** Kinds that may be templates, beside StatefulSets; absent: any. */
  readonly workloads: readonly Workload[] | undefined;
  /** Throws when the application's object is not there any more. */
  readonly mustStillExist: (key: string) => Promise<void>;
  /** Everything that is kept in memory about an object that is gone. */
  readonly forget: (key: string) => void;
}

/** How soon an object that is being deleted is checked again, if no event reports that it is gone. */
const UNFINISHED_RETRY_MS = 2_000;
const UNFINISHED: WorkResult = { requeueAfterMs: UNFINISHED_RETRY_MS };
/** [S18] What is free in a cluster changes with every pod; no event reports that. */
const ROOM_RETRY_MS = 30_000;
/** The plan needs to know more, which has been read meanwhile. */
const PLAN_AGAIN: WorkResult = { requeueAfterMs: 0 };

export class Reconciler {
  readonly #parts: ReconcilerParts;

  constructor(parts: ReconcilerParts) {
    this.#parts = parts;
  }

  async reconcile(key: string): Promise<WorkResult | undefined> {
    const { cache, ending } = this.#parts;
    await ending.collect(key, cache.getByKey(key));
    // Read after the wait: an object that arrived meanwhile must not be forgotten, because its event comes only once.
    const object = cache.getByKey(key);
    if (!object) {
      this.#parts.forget(key);
      return undefined;
    }
    if (object.metadata.deletionTimestamp !== undefined) return this.#delete(key, object);
    const life = await this.#lifeOf(object);
    if (life.kind === "ended") return undefined;
    return withLookAgain(await this.#lead(key, object), life.lookAgainMs);
  }

  async #lead(key: string, object: KubeObject): Promise<WorkResult | undefined> {
    const { engine, hubObjects, reporter, sessions, mustStillExist } = this.#parts;
    hubObjects.begin(key);
    const subject = this.#subjectOf(key, object);
    if (!subject) return undefined;
    if (!engine.synced()) return UNFINISHED;
    if (!(await this.#ensureFinalizer(object))) return undefined;
    const hold = await engine.hold(subject.app, () => mustStillExist(key));
    if (hold.kind === "unsafe") {
      reporter.refuse(object, "HoldDefeated", `${hold.message}; ${hold.remedy}`);
      return undefined;
    }
    const found = await sessions.open(key, object, subject.app);
    if (found.kind === "unreadable") {
      reporter.refuse(object, "LedgerUnreadable", found.message);
      return undefined;
    }
    return this.#step(subject, new Set(hold.kind === "adopting" ? hold.clusters : []), found.session);
  }

  /** [T7] An end does not begin while a cluster that has instances is away: they could be what a quorum needs. */
  async #lifeOf(object: KubeObject): Promise<LifetimeState> {
    const { engine, ledgers, lifetimes } = this.#parts;
    const mayEnd = isJsonObject(object.spec) && object.spec.deletionPolicy === "Teardown" && engine.synced();
    if (!mayEnd) return { kind: "lives", lookAgainMs: undefined };
    return lifetimes.check(object, () => {
      const found = ledgers.find(ownerOf(object));
      const granted = Object.entries(found.kind === "stored" ? found.stored.ledger.clusters : {});
      const ready = new Set(engine.clusters().flatMap(({ name, state }) => (state === "Ready" ? [name] : [])));
      const away = granted.filter(([name, { grant }]) => grant && !ready.has(name)).map(([name]) => name);
      return away.length === 0 ? undefined : `cluster ${away.join(", ")} is not ready; it begins when it is`;
    });
  }

  /** The object with its template, parsed and owned; undefined: it waits, and why is said on it. */
  #subjectOf(key: string, object: KubeObject): Subject | undefined {
    const { applications, hubObjects, reporter, workloads } = this.#parts;
    const parsed = applications.parse(key, object);
    if (!parsed.ok) {
      reporter.refuse(object, "InvalidSpec", fieldErrorsText(parsed.errors));
      return undefined;
    }
    const statefulset = parsed.value;
    const { resourceSelector, template: inline } = statefulset.spec;
    const refused = workloads && refusedKind(resourceSelector, workloads, inline ? "template" : "resourceSelector");
    if (refused !== undefined) {
      reporter.refuse(object, "KindNotAllowed", refused);
      return undefined;
    }
    const template = findTemplate(hubObjects, key, statefulset);
    if (template.kind === "unknown") {
      const text = unknownKindText(template);
      if (text !== undefined) reporter.refuse(object, "UnknownKind", text);
      return undefined;
    }
    const target = applications.targetOf(key, statefulset, template.kind === "one" ? template.object : undefined);
    if (!target) {
      if (template.kind === "none") reporter.refuse(object, "TemplateMissing", template.message);
      return undefined;
    }
    if (!this.#owns(key, object, target)) return undefined;
    return { key, object, statefulset, app: applications.track(key, statefulset, target), template };
  }

  /**
   * Whether it owns the object that it selects. One that does not waits: that is said, and nothing is written for it.
   */
  #owns(key: string, object: KubeObject, target: ObjectRef): boolean {
    const { applications, sessions, reporter } = this.#parts;
    const ownership = applications.ownership(key, object, target);
    if (ownership?.kind === "owner") return true;
    applications.untrack(key);
    sessions.close(key);
    if (ownership?.kind === "claimed") {
      reporter.refuse(object, "TemplateClaimed", claimedMessage(target, ownership.by));
    }
    return false;
  }

  /** False: it was added just now, and the event of that write brings us back. */
  async #ensureFinalizer(object: KubeObject): Promise<boolean> {
    const marked = withFinalizer(object);
    if (!marked) return true;
    this.#parts.cache.wrote(await this.#parts.hub.update(STATEFULSETS, marked));
    return false;
  }

  /**
   * A deletion comes before everything else: neither an invalid spec, a missing template nor a namespace that is being
   * deleted with it keeps it from ending. It creates nothing in the application's own namespace.
   */
  async #delete(key: string, object: KubeObject): Promise<WorkResult | undefined> {
    const { applications, ending, engine, ledgers, reporter, sessions } = this.#parts;
    if (!withoutFinalizer(object)) return undefined;
    if (!engine.synced()) return UNFINISHED;
    const app = applications.deleted(key, object);
    const parsed = parseForDeletion(object, app.template);
    const isOwner = applications.ownership(key, object, app.template)?.kind === "owner";
    const statefulset = isOwner ? parsed : released(parsed);
    const template = { kind: "none" as const, message: `CrossClusterStatefulset ${key} is being deleted` };
    if (ledgers.find(ownerOf(object)).kind === "none" && !sessions.has(key)) {
      // It was never granted anything: there is nothing to release, and no ledger is needed.
      const dispatched = await engine.readDispatched(app);
      if (dispatched.length === 0) {
        await ending.letGo(object, app);
        return undefined;
      }
    }
    const found = await sessions.open(key, object, app);
    if (found.kind === "unreadable") {
      reporter.refuse(object, "LedgerUnreadable", found.message);
      return undefined;
    }
    return this.#step({ key, object, statefulset, app, template }, new Set(), found.session);
  }

  /** `rendered`: clusters that the engine itself rendered the template for. */
  async #step(subject: Subject, rendered: ReadonlySet<string>, session: Session): Promise<WorkResult | undefined> {
    const { engine, clock, gatherer, volumes, quotas, carryOutOptions, reporter, approvals, ending, telemetry } =
      this.#parts;
    const { key, statefulset } = subject;
    const { ledger } = session;
    const moment = takeMoment(engine, subject, ledger, rendered, clock.now());
    const {
      intent,
      seen: gathered,
      former,
    } = await gatherer.gather(subject, ledger, moment, rendered, quotas.known(key));
    const known = volumes.take(key);
    const seen = withVolumes(gathered, known?.found);
    const result = plan(intent, ledger, seen, moment.nowMs);
    if (await volumes.ask(subject, moment, ledger, result, known)) return PLAN_AGAIN;
    if (await quotas.ask(subject, moment, ledger, result)) return PLAN_AGAIN;
    quotas.used(key, result);

    const adopting = new Set([...rendered, ...former]);
    const wanted = intent.deletion || intent.schedule.kind !== "known" ? [] : intent.schedule.clusters;
    const names = wanted.filter(({ replicas }) => replicas > 0).map(({ cluster }) => cluster);
    const done = await carryOut(carryOutOptions, subject, session, result, moment, adopting, names);
    telemetry.reconciled(key, {
      ...result,
      before: ledger.clusters,
      after: result.ledger.clusters,
      nowMs: moment.nowMs,
    });
    if (await ending.finish(subject, session, result)) return undefined;
    reporter.report(subject, moment, withAwaited(result, done.awaited), seen.clusters, done.failures);
    const waves = statefulset.spec.updateStrategy.rollingUpdate.waves ?? [];
    await approvals.report(key, result, waves.length, moment.nowMs);
    await tidy(statefulset, session, result, done.context, moment.clusters, intent);
    const dueMs = result.requeueAt === undefined ? undefined : Math.max(0, result.requeueAt - moment.nowMs);
    const roomMs = result.waiting.some(({ code }) => code === "NoRoom") ? ROOM_RETRY_MS : undefined;
    return lookAgain([dueMs, retryMs(done)], [session.saveAfterMs, volumes.askAgainAfterMs(key, result), roomMs]);
  }
}

/** What belongs to another application stays in the clusters, whatever its deletion policy says. */
function released(statefulset: ParsedCrossClusterStatefulset): ParsedCrossClusterStatefulset {
  return { ...statefulset, spec: { ...statefulset.spec, deletionPolicy: "Release" } };
}

function retryMs({ unfinished, failures }: CarriedOut): number | undefined {
  return unfinished || failures.length > 0 ? UNFINISHED_RETRY_MS : undefined;
}

function lookAgain(due: readonly (number | undefined)[], canWait: readonly (number | undefined)[]): WorkResult {
  // Otherwise, many applications that were updated together would write their marks before others write their grants.
  return { requeueAfterMs: soonest(due), whenFreeAfterMs: soonest(canWait) };
}

function withLookAgain(result: WorkResult | undefined, afterMs: number | undefined): WorkResult | undefined {
  if (afterMs === undefined) return result;
  return { ...result, requeueAfterMs: soonest([result?.requeueAfterMs, afterMs]) };
}

function soonest(delays: readonly (number | undefined)[]): number | undefined {
  const known = delays.filter((delay) => delay !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
