import { setMaxListeners } from "node:events";
import { type KubeClient, type KubeObject, Reflector, type Resource } from "../../kube/index.ts";
import { type Clock, isJsonObject, type Log, type Random, silentLog } from "../../runtime/index.ts";
import {
  carriedBy,
  isRefusedSwap,
  isStatusOnly,
  laterTermOf,
  mainObject,
  manifestOf,
  objectsOf,
  refKey,
  refOf,
  takesOver,
  termOf,
  workName,
} from "../dispatch-objects.ts";
import { DispatchConflictError, laterTerm } from "../errors.ts";
import { MARKS } from "../marks.ts";
import { type AccessPoint, AccessSecrets, type MemberConnection } from "../members/access.ts";
import { MemberStreams, ownerIndexValue, PODS, streamKindsOf } from "../members/streams.ts";
import { OwnWorks, SWAP_ATTEMPTS } from "../own-works.ts";
import type {
  Claim,
  Dispatched,
  DispatchOrder,
  Engine,
  EngineApp,
  EngineCluster,
  EngineOwner,
  EngineSchedule,
  EngineSetting,
  HoldState,
  MemberAccess,
  News,
  ObjectRef,
  Snapshot,
  Unheld,
} from "../port.ts";
import { ForeignWorks, foreignOutline, rivalWords } from "./foreign-works.ts";
import { Holds } from "./holds.ts";
import { heldTemplates, isHold, readCluster, readSchedule, templateOfBinding, unsafeSetting } from "./hub.ts";
import { KarmadaMember } from "./member.ts";
import { isUnserved as isUnservedIn, throughProxy } from "./proxy.ts";
import {
  BINDING_ID,
  CLUSTER_OVERRIDE_POLICIES,
  CLUSTERS,
  clusterOfNamespace,
  executionNamespace,
  KARMADA_MANAGED,
  OVERRIDE_POLICIES,
  RESOURCE_BINDINGS,
  WORKS,
} from "./resources.ts";
import { fightingSettings } from "./settings.ts";
import {
  deliveryFailure,
  emptyingPatch,
  freeingPatch,
  keepsObject,
  outlineOf,
  readWork,
  reflectedStatus,
  reservationFor,
  takingOverPatch,
  versionOf,
  wholeManifestOf,
  workFor,
} from "./works.ts";

export interface KarmadaEngineOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  /** Opens the connection to a cluster's own API server, if a Secret gives access. Absent: none does. */
  readonly openMember?: (point: AccessPoint) => Promise<MemberConnection>;
}

interface Tracked {
  readonly app: EngineOwner;
  readonly changed: (news: News) => void;
}

/**
 * The Karmada adapter, with a hold and own Works: Karmada schedules, Lockstep renders and dispatches, Karmada delivers.
 */
export class KarmadaEngine implements Engine {
  readonly #hub: KubeClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #streams: MemberStreams;
  readonly #clusters: Reflector<KubeObject>;
  readonly #works: Reflector<KubeObject>;
  /** Works of other writers, only as outlines of what they carry: a hub may have ten times as many of them as ours. */
  readonly #otherWorks: Reflector<KubeObject>;
  readonly #own: OwnWorks;
  readonly #foreign: ForeignWorks;
  readonly #holds: Holds;
  /** Secrets that give access to members, for dry runs: Karmada's proxy does not pass them on. */
  readonly #accesses: AccessSecrets | undefined;
  readonly #bindings: Reflector<KubeObject>;
  readonly #policies: Reflector<KubeObject>;
  readonly #clusterPolicies: Reflector<KubeObject>;
  readonly #byApp = new Map<string, Tracked>();
  /** Applications by the object that they manage. One owns it; another may be releasing it, and is notified too. */
  readonly #byTemplate = new Map<string, Set<Tracked>>();
  readonly #readWorksByObject = new WeakMap<KubeObject, Dispatched>();
  /** The policies of other writers, until one of them changes: there are as many holds as applications. */
  #foreignPolicies: readonly KubeObject[] | undefined;

  constructor(options: KarmadaEngineOptions) {
    const { hub, clock, random } = options;
    const log = options.log ?? silentLog;
    this.#hub = hub;
    this.#clock = clock;
    this.#log = log;
    const reflect = (of: Resource, more: Partial<ConstructorParameters<typeof Reflector<KubeObject>>[0]> = {}) =>
      new Reflector<KubeObject>({ client: hub, resource: of, clock, random, log, ...more });
    this.#clusters = reflect(CLUSTERS);
    this.#works = reflect(WORKS, {
      selection: { labelSelector: MARKS.app },
      selects: (work) => work.metadata.labels?.[MARKS.app] !== undefined,
      indexes: { app: (work) => labelValues(work, MARKS.app), carries: carriedKeys },
      transform: outlineOf,
    });
    this.#otherWorks = reflect(WORKS, {
      selection: { labelSelector: `!${MARKS.app}` },
      selects: (work) => work.metadata.labels?.[MARKS.app] === undefined,
      indexes: { carries: carriedKeys },
      transform: foreignOutline,
    });
    this.#foreign = new ForeignWorks({ hub, unlabelled: this.#otherWorks.cache, labelled: this.#works.cache });
    this.#own = new OwnWorks({
      hub,
      works: WORKS,
      namespaceOf: executionNamespace,
      reservationFor,
      cache: this.#works.cache,
      changed: (mark) => this.#byApp.get(mark)?.changed("own"),
    });
    this.#bindings = reflect(RESOURCE_BINDINGS, {
      transform: withoutAggregatedStatus,
      indexes: { template: (binding) => [templateOfBinding(binding)].flatMap((ref) => (ref ? [refKey(ref)] : [])) },
    });
    this.#policies = reflect(OVERRIDE_POLICIES, { indexes: { holds: (policy) => heldTemplates(policy).map(refKey) } });
    this.#holds = new Holds(hub, this.#policies.cache);
    this.#clusterPolicies = reflect(CLUSTER_OVERRIDE_POLICIES);
    const { openMember } = options;
    const access = { hub, clock, random, log, clusterOf: clusterOfNamespace };
    this.#accesses = openMember && new AccessSecrets({ ...access, open: openMember });
    this.#streams = new MemberStreams({
      ...throughProxy(hub),
      clock,
      random,
      log,
      changed: (_cluster, ref) => (ref ? this.#templateChanged(ref) : this.#allChanged()),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    // Every stream listens to it, one for each cluster and kind, so the number of listeners is not a leak.
    setMaxListeners(0, signal);
    this.#streams.start(signal);
    this.#clusters.cache.subscribe({
      added: (cluster) => {
        this.#streams.addCluster(cluster.metadata.name);
        this.#allChanged();
      },
      updated: (cluster, previous) => {
        const [now, before] = [readCluster(cluster), readCluster(previous)];
        // A watch may have stalled while the cluster was unreachable, and may stay stalled for minutes.
        if (now.state === "Ready" && (before.state !== "Ready" || before.sinceMs !== now.sinceMs)) {
          this.#streams.listAnew(now.name, `cluster ${now.name} is back; its objects are being listed again`);
        }
        // Karmada writes a heartbeat every few seconds; only the fields that the planner reads are a change. What is free
        // changes with every pod: an application that waits for room looks again by itself.
        const essence = (each: EngineCluster) => JSON.stringify({ ...each, capacity: undefined });
        if (essence(now) !== essence(before)) this.#allChanged();
      },
      deleted: (cluster) => {
        this.#streams.removeCluster(cluster.metadata.name);
        this.#allChanged();
      },
    });
    const carriedChanged = (work: KubeObject) => {
      for (const ref of carriedBy(work)) this.#templateChanged(ref);
    };
    this.#otherWorks.cache.subscribe({
      added: carriedChanged,
      updated: (work, previous) => {
        if (isStatusOnly(work, previous)) return;
        carriedChanged(previous);
        carriedChanged(work);
      },
      deleted: carriedChanged,
    });
    const workChanged = (work: KubeObject) => {
      this.#own.tell(work);
      // A Work of another application, or one that imitates ours.
      for (const ref of carriedBy(work)) {
        for (const tracked of this.#byTemplate.get(refKey(ref)) ?? []) {
          if (this.#own.mark(tracked.app) !== work.metadata.labels?.[MARKS.app]) tracked.changed("own");
        }
      }
    };
    const workUpdated = (work: KubeObject, previous: KubeObject) => {
      // Karmada writes a Work's status often. The engine reads it only if the member cannot be read, or refused the
      // object.
      const isTold = deliveryFailure(work) !== deliveryFailure(previous);
      if (isTold || !isStatusOnly(work, previous) || this.#isReadFrom(work)) workChanged(work);
    };
    this.#works.cache.subscribe({ added: workChanged, updated: workUpdated, deleted: workChanged });
    const bindingChanged = (binding: KubeObject) => {
      const ref = templateOfBinding(binding);
      if (ref) this.#templateChanged(ref);
    };
    const bindingUpdated = (binding: KubeObject, previous: KubeObject) => {
      if (!isStatusOnly(binding, previous) || scheduleText(binding) !== scheduleText(previous)) bindingChanged(binding);
    };
    this.#bindings.cache.subscribe({ added: bindingChanged, updated: bindingUpdated, deleted: bindingChanged });
    const policyChanged = (policy: KubeObject) => {
      // A hold affects only its own application; any other policy may affect all.
      if (isHold(policy)) this.#byApp.get(policy.metadata.labels?.[MARKS.app] ?? "")?.changed("own");
      else {
        this.#foreignPolicies = undefined;
        this.#allChanged();
      }
    };
    for (const { cache } of [this.#policies, this.#clusterPolicies]) {
      const updated = (policy: KubeObject, previous: KubeObject) => {
        policyChanged(previous);
        policyChanged(policy);
      };
      cache.subscribe({ added: policyChanged, updated, deleted: policyChanged });
    }
    const running = this.#hubReflectors().map((reflector) => reflector.run(signal));
    await Promise.all([...running, this.#accesses?.run(signal)]);
    await this.#streams.stopped();
  }

  synced(): boolean {
    return this.#hubReflectors().every(({ cache }) => cache.hasSynced);
  }

  get streamCount(): number {
    return this.#streams.count;
  }

  track(app: EngineOwner, changed: Tracked["changed"]): void {
    const tracked = { app, changed };
    const mark = this.#own.mark(app);
    const previous = this.#byApp.get(mark);
    if (previous) this.untrack(previous.app);
    this.#byApp.set(mark, tracked);
    for (const ref of objectsOf(app)) {
      const key = refKey(ref);
      this.#byTemplate.set(key, (this.#byTemplate.get(key) ?? new Set()).add(tracked));
    }
    for (const kind of streamKindsOf(app)) this.#streams.wantKind(kind, app.namespace);
  }

  untrack(app: EngineOwner): void {
    const tracked = this.#byApp.get(this.#own.mark(app));
    if (!tracked) return;
    this.#byApp.delete(this.#own.mark(app));
    for (const ref of objectsOf(tracked.app)) {
      const others = this.#byTemplate.get(refKey(ref));
      others?.delete(tracked);
      if (others?.size === 0) this.#byTemplate.delete(refKey(ref));
    }
    for (const kind of streamKindsOf(tracked.app)) this.#streams.unwantKind(kind, tracked.app.namespace);
  }

  clusters(): readonly EngineCluster[] {
    return this.#clusters.cache.list().map(readCluster);
  }

  schedule(app: EngineOwner): EngineSchedule {
    if (app.kind !== undefined)
      return { kind: "unknown", message: `Karmada schedules no ${app.kind}; name its clusters` };
    return readSchedule(this.#binding(app.template), app.template);
  }

  /** Karmada finds the path of an object in a member by the kinds of its own API server. */
  needsHubKinds(): boolean {
    return true;
  }

  settings({ template }: EngineApp): readonly EngineSetting[] {
    return fightingSettings(this.#binding(template), template, this.#clusters.cache.list());
  }

  overridePolicies(): readonly KubeObject[] {
    this.#foreignPolicies ??= [...this.#clusterPolicies.cache.list(), ...this.#policies.cache.list()].filter(
      (policy) => !isHold(policy),
    );
    return this.#foreignPolicies;
  }

  async hold(app: EngineApp, beforeWriting?: () => Promise<void>): Promise<HoldState> {
    // Karmada renders only what it has a binding for: of an inline template, an object of the same name on the hub.
    const isNeeded = !app.isInline || this.#binding(app.template) !== undefined;
    const hold = isNeeded ? await this.#holds.ensure(app, beforeWriting) : undefined;
    const { state, rivals } = await this.#worthOf(hold, app);
    if (rivals.length > 0) await this.#takeOverAfter(app, rivals);
    return state;
  }

  /** What a hold would be worth right now. Writes nothing: for previews. */
  async foreseeHold(app: EngineApp): Promise<HoldState> {
    return (await this.#worthOf(undefined, app)).state;
  }

  async #worthOf(
    hold: KubeObject | undefined,
    app: EngineApp,
  ): Promise<{ readonly state: HoldState; readonly rivals: readonly KubeObject[] }> {
    const binding = this.#binding(app.template);
    const unsafe = unsafeSetting(binding);
    if (unsafe) return { state: { kind: "unsafe", ...unsafe }, rivals: [] };
    // An edit of the hold, or a new schedule, may have let Karmada render. Then a version that was checked before
    // proves nothing.
    const restsOn = [hold, binding].map((each) => `${each?.metadata.uid}/${each?.metadata.generation}`).join(" ");
    const { rendered, rivals } = await this.#foreign.look(app, bindingId(binding), restsOn);
    if (rivals.length > 0) return { state: { kind: "unsafe", ...rivalWords(app, rivals) }, rivals };
    return { state: rendered.length > 0 ? { kind: "adopting", clusters: rendered } : { kind: "held" }, rivals };
  }

  async unhold(app: EngineApp): Promise<Unheld> {
    return this.#holds.giveUp(app, this.#binding(app.template) !== undefined);
  }

  dispatched(app: EngineOwner): readonly Dispatched[] {
    return this.#own.of(app).flatMap((work) => this.#read(work) ?? []);
  }

  async readDispatched(app: EngineOwner): Promise<readonly Dispatched[]> {
    return readAll(await this.#own.read(app, this.#clusterNames()));
  }

  async stamp(app: EngineOwner, term: number, clusters = this.#clusterNames()): Promise<readonly Dispatched[]> {
    return readAll(await this.#own.stamp(app, term, clusters));
  }

  async reserve(app: EngineOwner, refs: readonly ObjectRef[], claim: Claim): Promise<readonly Dispatched[]> {
    const reserved = await Promise.all(refs.map((ref) => this.#own.reserve(app, ref, claim)));
    return readAll(reserved.flatMap((work) => work ?? []));
  }

  async dispatch(app: EngineOwner, order: DispatchOrder): Promise<Dispatched> {
    const { expected, cluster, term } = order;
    const what = `the Work of ${order.manifest.kind} ${order.manifest.metadata.name}`;
    const name = { namespace: executionNamespace(cluster), name: workName(app, refOf(order.manifest)) };
    if (expected && expected.term > term) throw laterTerm({ kind: WORKS.kind, ...name }, term, expected.term);
    let previous = expected ? this.#works.cache.get(name) : undefined;
    if (app.kind === undefined && refKey(refOf(order.manifest)) === refKey(app.template)) {
      await this.#refuseRival(app, order);
    }
    for (let attempt = 0; attempt < SWAP_ATTEMPTS; attempt++) {
      if (previous && termOf(previous) > term) throw laterTermOf(previous, term, termOf(previous));
      if ((previous && versionOf(previous)) !== expected?.version) throw new DispatchConflictError(cluster, what);
      const work = workFor(app, order, previous);
      try {
        const send = () => (previous ? this.#hub.update(WORKS, work) : this.#hub.create(WORKS, work));
        const written = await this.#own.write(app, work, send);
        const read = readWork(written);
        if (!read) throw new DispatchConflictError(cluster, what);
        return read;
      } catch (error) {
        if (!isRefusedSwap(error)) throw error;
        // Most often Karmada has just written its status; then the object is still the expected version.
        previous = await this.#hub.find(WORKS, name);
        if (previous) this.#works.cache.wrote(previous);
      }
    }
    throw new DispatchConflictError(cluster, what);
  }

  async withdraw(app: EngineOwner, dispatched: Dispatched, what: "keep" | "remove"): Promise<boolean> {
    const written = await this.#freed(app, dispatched, what);
    if (!written) return true;
    if (written.metadata.deletionTimestamp === undefined) return this.#own.delete(app, written);
    await this.#unblock(app, dispatched, written);
    return false;
  }

  /**
   * Karmada cannot end a preserving Work whose object is absent from the member, nor one whose object has lost Karmada's
   * label already (it removes the label first, and the finalizer in a second write that can fail). Nor can it end any
   * Work of a kind that is served no more. With nothing left to clean up in the member, such a Work is emptied, and
   * Karmada ends it.
   */
  async #unblock(app: EngineOwner, { cluster, ref }: Dispatched, work: KubeObject): Promise<void> {
    if (!manifestOf(work)) return;
    try {
      const isUnserved = await isUnservedIn(this.#hub, cluster, ref);
      if (!isUnserved && !keepsObject(work)) return;
      const found = isUnserved ? undefined : await this.member(cluster).read(ref);
      if (found?.kind === "unknown") return;
      if (found?.kind === "present" && found.object.metadata.labels?.[KARMADA_MANAGED] !== undefined) return;
      await this.#own.write(app, work, () => this.#hub.patch(WORKS, work.metadata, emptyingPatch(work)));
    } catch {
      // The member cannot be asked, or Karmada has just written the Work: the next attempt finds out.
    }
  }

  async adopt(app: EngineApp, cluster: string): Promise<void> {
    const id = bindingId(this.#binding(app.template));
    const works = id === undefined ? [] : await this.#foreign.rendered(id, executionNamespace(cluster));
    for (const work of works) await this.#foreign.end(work);
    this.#foreign.forget(app.template);
  }

  snapshot(owner: EngineOwner, cluster: string, ref: ObjectRef = mainObject(owner)): Snapshot {
    const atMs = this.#clock.now();
    const isOwned = owner.kind !== undefined;
    const state = this.#streams.state(cluster, { ...ref, isOwned });
    if (state.kind === "broken") return unreachable(state.message, state.isStarved, state.isForbidden);
    if (state.kind === "never") return this.#reflected(owner, cluster, ref, state, atMs);
    const object = state.cache.get(ref);
    if (!object) return { kind: "absent", atMs };
    if (isOwned || ref.kind !== "StatefulSet") return { kind: "present", object, source: "live", atMs };
    const pods = this.#streams.state(cluster, PODS);
    if (pods.kind === "live") {
      const own = pods.cache.byIndex("owner", ownerIndexValue(ref));
      return { kind: "present", object, source: "live", atMs, pods: own };
    }
    // A StatefulSet's status counts terminating pods as ready. It is used alone only if the controller has no right to
    // read pods.
    if (pods.isForbidden) return { kind: "present", object, source: "live", atMs };
    return unreachable(`its pods cannot be read: ${pods.message}`, pods.kind === "broken" && pods.isStarved);
  }

  member(cluster: string): MemberAccess {
    const direct = this.#accesses?.client(cluster);
    return new KarmadaMember(this.#streams.client(cluster), cluster, throughProxy(this.#hub).findKind, direct);
  }

  /** If the proxy cannot reach the cluster: the granted manifest with the status that Karmada collected. */
  #reflected(
    owner: EngineOwner,
    cluster: string,
    ref: ObjectRef,
    { message, isForbidden }: { readonly message: string; readonly isForbidden: boolean },
    atMs: number,
  ): Snapshot {
    const name = { namespace: executionNamespace(cluster), name: workName(owner, ref) };
    const work = this.#works.cache.get(name);
    const manifest = work && wholeManifestOf(work);
    const status = work && reflectedStatus(work);
    if (!manifest || !status) return unreachable(message, false, isForbidden);
    return { kind: "present", object: { ...manifest, status }, source: "reflected", atMs };
  }

  /**
   * Another writer's Work for the same object would conflict with ours: what Karmada delivers must be adopted first.
   */
  async #refuseRival(app: EngineApp, { cluster, takeOver, expected }: DispatchOrder): Promise<void> {
    if (takeOver) return;
    let [rival] = this.#foreign.in(app, cluster);
    const isFirst = !expected || expected.manifest.kind === undefined;
    const id = bindingId(this.#binding(app.template));
    // The watch may be behind; if no Work of ours is known, the server is asked.
    if (!rival && isFirst && id !== undefined) {
      [rival] = await this.#foreign.rendered(id, executionNamespace(cluster));
    }
    if (!rival) return;
    this.#foreign.forget(app.template);
    const { kind, name } = app.template;
    throw new DispatchConflictError(cluster, `what Work ${rival.metadata.name} delivers of ${kind} ${name}`);
  }

  /**
   * A deleted Work takes away the mark by which Karmada knows its objects, and Karmada would then refuse ours. So ours
   * records that they take the object over.
   */
  async #takeOverAfter(app: EngineApp, rivals: readonly KubeObject[]): Promise<void> {
    const places = new Set(rivals.map(({ metadata }) => metadata.namespace));
    for (const work of this.#own.of(app)) {
      if (!places.has(work.metadata.namespace) || takesOver(work)) continue;
      if (work.metadata.name === workName(app, app.template)) await this.#markTakingOver(app, work);
    }
  }

  /** The rival may be gone before the next look: a swap that Karmada's status write defeated is retried here. */
  async #markTakingOver(app: EngineApp, seen: KubeObject): Promise<void> {
    let work: KubeObject | undefined = seen;
    for (let attempt = 0; work?.metadata.uid === seen.metadata.uid && work && attempt < SWAP_ATTEMPTS; attempt++) {
      const current: KubeObject = work;
      try {
        await this.#own.write(app, current, () => this.#hub.patch(WORKS, current.metadata, takingOverPatch(current)));
        return;
      } catch (error) {
        if (!isRefusedSwap(error)) throw error;
        work = await this.#hub.find(WORKS, seen.metadata);
      }
    }
  }

  /** The Work, ready to be deleted; undefined if it is gone or is being deleted already. */
  async #freed(app: EngineOwner, dispatched: Dispatched, what: "keep" | "remove"): Promise<KubeObject | undefined> {
    const name = { namespace: executionNamespace(dispatched.cluster), name: workName(app, dispatched.ref) };
    const ifIt = (work: KubeObject | undefined) => (work?.metadata.uid === dispatched.uid ? work : undefined);
    let work = ifIt(this.#works.cache.get(name)) ?? ifIt(await this.#hub.find(WORKS, name));
    for (let attempt = 0; work && attempt < SWAP_ATTEMPTS; attempt++) {
      if (work.metadata.deletionTimestamp !== undefined) return work;
      if (termOf(work) > dispatched.term) throw laterTermOf(work, dispatched.term, termOf(work));
      const patch = freeingPatch(work, what);
      try {
        return await this.#own.write(app, work, () => this.#hub.patch(WORKS, name, patch));
      } catch (error) {
        if (!isRefusedSwap(error)) throw error;
        work = ifIt(await this.#hub.find(WORKS, name));
      }
    }
    if (work) throw new DispatchConflictError(dispatched.cluster, `Work ${work.metadata.name}`);
    return undefined;
  }

  #binding(template: ObjectRef): KubeObject | undefined {
    return this.#bindings.cache.byIndex("template", refKey(template))[0];
  }

  /** Once per version of a Work: Works are read far more often than they change. */
  #read(work: KubeObject): Dispatched | undefined {
    const known = this.#readWorksByObject.get(work);
    if (known) return known;
    const read = readWork(work);
    if (read) this.#readWorksByObject.set(work, read);
    return read;
  }

  /** Whether the Work's status replaces a workload that cannot be read directly. */
  #isReadFrom(work: KubeObject): boolean {
    const owner = this.#byApp.get(work.metadata.labels?.[MARKS.app] ?? "")?.app;
    const manifest = manifestOf(work);
    if (!owner || !manifest) return false;
    const ref = refOf(manifest);
    if (!objectsOf(owner).some((each) => refKey(each) === refKey(ref))) return false;
    const cluster = clusterOfNamespace(work.metadata.namespace ?? "") ?? "";
    return this.#streams.state(cluster, { ...ref, isOwned: owner.kind !== undefined }).kind === "never";
  }

  #clusterNames(): string[] {
    return this.#clusters.cache.list().map(({ metadata }) => metadata.name);
  }

  #templateChanged(ref: ObjectRef): void {
    for (const { changed } of this.#byTemplate.get(refKey(ref)) ?? []) changed("own");
  }

  #allChanged(): void {
    for (const { changed } of this.#byApp.values()) changed("shared");
  }

  #hubReflectors(): Reflector<KubeObject>[] {
    return [this.#clusters, this.#works, this.#otherWorks, this.#bindings, this.#policies, this.#clusterPolicies];
  }
}

function unreachable(message: string, isBlind: boolean, isForbidden = false): Snapshot {
  return { kind: "unreachable", message, ...(isBlind && { isBlind }), ...(isForbidden && { isForbidden }) };
}

function readAll(works: readonly KubeObject[]): Dispatched[] {
  return works.flatMap((work) => readWork(work) ?? []);
}

function bindingId(binding: KubeObject | undefined): string | undefined {
  return binding?.metadata.labels?.[BINDING_ID];
}

function carriedKeys(work: KubeObject): string[] {
  return carriedBy(work).map(refKey);
}

function labelValues(object: KubeObject, label: string): string[] {
  const value = object.metadata.labels?.[label];
  return value === undefined ? [] : [value];
}

/** A binding repeats every cluster's status; only its schedule is read. */
function withoutAggregatedStatus(binding: KubeObject): KubeObject {
  if (!isJsonObject(binding.status)) return binding;
  const { aggregatedStatus: _dropped, ...status } = binding.status;
  return { ...binding, status };
}

function scheduleText(binding: KubeObject): string {
  const template = templateOfBinding(binding);
  return template ? JSON.stringify(readSchedule(binding, template)) : "";
}
