import { setMaxListeners } from "node:events";
import { type KubeClient, type KubeObject, Reflector, type Resource } from "../../kube/index.ts";
import { type Clock, type Log, type Random, silentLog } from "../../runtime/index.ts";
import {
  isRefusedSwap,
  isStatusOnly,
  laterTermOf,
  mainObject,
  objectsOf,
  refKey,
  refOf,
  termOf,
  workName,
} from "../dispatch-objects.ts";
import { DispatchConflictError, laterTerm } from "../errors.ts";
import { MARKS } from "../marks.ts";
import {
  type AccessPoint,
  MEMBER_ACCESS_LABEL,
  MemberAccesses,
  type MemberConnection,
  SECRETS,
} from "../members/access.ts";
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
  HoldState,
  MemberAccess,
  News,
  ObjectRef,
  Snapshot,
} from "../port.ts";
import { isDetaching, readManagedCluster } from "./clusters.ts";
import { ClusterDetachingError, Endings } from "./endings.ts";
import { EXECUTOR_WORK, executorOf } from "./executor.ts";
import { deliveredBy, ForeignWorks, foreignOutline } from "./foreign-works.ts";
import { Holdings } from "./holdings.ts";
import { ReachableMember, ReportedMember } from "./member.ts";
import { isReportedOtherwise, isWrittenOtherwise } from "./news.ts";
import { readPlacement } from "./placements.ts";
import { Plurals } from "./plurals.ts";
import { isApplied } from "./reports.ts";
import {
  MANAGED_CLUSTERS,
  MANIFEST_WORKS,
  PLACEMENT_DECISIONS,
  PLACEMENT_LABEL,
  PLACEMENT_SCORES,
  PLACEMENTS,
} from "./resources.ts";
import { withWeights } from "./scores.ts";
import { appOfWork, FRESH_MS, SignsOfLife } from "./signs-of-life.ts";
import { podsToObserve, snapshotByValues } from "./values.ts";
import { configsOf, outlineOf, readWork, reservationFor, versionOf, wasRemoving, workFor } from "./works.ts";
import { lineageFrom } from "./write-marks.ts";

export interface OcmEngineOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  /** Opens the connection to a cluster's own API server, if a Secret gives access. */
  readonly openMember: (point: AccessPoint) => Promise<MemberConnection>;
}

interface Tracked {
  readonly app: EngineOwner;
  readonly changed: (news: News) => void;
}

/**
 * The Open Cluster Management adapter, with own ManifestWorks: nothing on the hub renders a template by itself, so
 * there is nothing to hold. A cluster is read directly if a Secret gives access to it. Otherwise only its agent's
 * reports are available, and they count only with our own mark among their values.
 */
export class OcmEngine implements Engine {
  readonly #hub: KubeClient;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #clusters: Reflector<KubeObject>;
  readonly #works: Reflector<KubeObject>;
  /** ManifestWorks of all other writers, only what they deliver. */
  readonly #otherWorks: Reflector<KubeObject>;
  readonly #placements: Reflector<KubeObject>;
  readonly #decisions: Reflector<KubeObject>;
  /** Runs from when the first application asks for scores: few hubs have add-ons that give them. */
  readonly #scores: Reflector<KubeObject>;
  #runScores: (() => void) | undefined;
  #wantsScores = false;
  readonly #secrets: Reflector<KubeObject>;
  readonly #accesses: MemberAccesses;
  readonly #streams: MemberStreams;
  readonly #plurals: Plurals;
  readonly #own: OwnWorks;
  readonly #foreign: ForeignWorks;
  readonly #endings: Endings;
  readonly #signs: SignsOfLife;
  readonly #holdings: Holdings;
  readonly #byApp = new Map<string, Tracked>();
  /** Applications by the object that they manage. One owns it; another may be releasing it, and is notified too. */
  readonly #byTemplate = new Map<string, Set<Tracked>>();
  /** The applications that this process has written for, and its term: it asks for signs of life of no others. */
  readonly #led = new Map<string, number>();
  readonly #readWorks = new WeakMap<KubeObject, Dispatched>();
  #hasWarned = false;

  constructor({ hub, clock, random, log = silentLog, openMember }: OcmEngineOptions) {
    this.#hub = hub;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    const reflect = (of: Resource, more: Partial<ConstructorParameters<typeof Reflector<KubeObject>>[0]> = {}) =>
      new Reflector<KubeObject>({ client: hub, resource: of, clock, random, log, ...more });
    this.#clusters = reflect(MANAGED_CLUSTERS);
    const delivers = (work: KubeObject) => deliveredBy(work).map(refKey);
    this.#works = reflect(MANIFEST_WORKS, {
      selection: { labelSelector: MARKS.app },
      selects: (work) => work.metadata.labels?.[MARKS.app] !== undefined,
      indexes: { app: (work) => [appOfWork(work)], delivers },
      transform: outlineOf,
    });
    this.#otherWorks = reflect(MANIFEST_WORKS, {
      selection: { labelSelector: `!${MARKS.app}` },
      selects: (work) => work.metadata.labels?.[MARKS.app] === undefined,
      indexes: { delivers },
      transform: foreignOutline,
    });
    this.#placements = reflect(PLACEMENTS);
    this.#decisions = reflect(PLACEMENT_DECISIONS, { indexes: { placement: placementOf } });
    this.#scores = reflect(PLACEMENT_SCORES);
    this.#secrets = reflect(SECRETS, {
      selection: { labelSelector: MEMBER_ACCESS_LABEL },
      selects: (secret) => secret.metadata.labels?.[MEMBER_ACCESS_LABEL] !== undefined,
    });
    this.#accesses = new MemberAccesses({
      clock,
      random,
      log,
      open: openMember,
      clusterOf: (namespace) => namespace,
      opened: (cluster) => {
        this.#streams.addCluster(cluster);
        this.#allChanged();
      },
      closed: (cluster) => {
        this.#streams.removeCluster(cluster);
        this.#allChanged();
      },
    });
    this.#plurals = new Plurals(hub, (cluster) => this.#accesses.client(cluster));
    this.#streams = new MemberStreams({
      client: (cluster) => this.#accesses.mustClient(cluster),
      // As the cluster itself serves it: the hub need not know the kind.
      findKind: async (cluster, apiVersion, kind, signal) =>
        this.#accesses.mustClient(cluster).discovery.resource(apiVersion, kind, { signal }),
      clock,
      random,
      log,
      changed: (_cluster, ref) => (ref ? this.#templateChanged(ref) : this.#allChanged()),
    });
    const [works, unlabelled] = [this.#works.cache, this.#otherWorks.cache];
    this.#own = new OwnWorks({
      hub,
      works: MANIFEST_WORKS,
      namespaceOf: (cluster) => cluster,
      reservationFor: async (app, ref, claim) =>
        reservationFor(app, ref, claim, await this.#writing(claim.cluster, ref)),
      cache: works,
      changed: (mark) => this.#byApp.get(mark)?.changed("own"),
    });
    this.#foreign = new ForeignWorks({ unlabelled, labelled: works, isCluster: (name) => this.#isCluster(name) });
    const pluralOf = this.#plurals.of.bind(this.#plurals);
    this.#endings = new Endings({ hub, clock, own: this.#own, works, unlabelled, pluralOf });
    this.#signs = new SignsOfLife({
      hub,
      clock,
      log,
      works,
      readFrom: () => this.#readFrom(),
      changed: (work) => this.#byApp.get(appOfWork(work))?.changed("own"),
    });
    this.#holdings = new Holdings({ hub, clock, works, signs: this.#signs });
  }

  async run(signal: AbortSignal): Promise<void> {
    // Every stream listens to it, one for each cluster and kind, so the number of listeners is not a leak.
    setMaxListeners(0, signal);
    this.#streams.start(signal);
    this.#clusters.cache.subscribe({
      added: ({ metadata }) => this.#clusterCame(metadata.name),
      updated: (cluster, previous) => this.#clusterUpdated(cluster, previous),
      deleted: ({ metadata }) => this.#clusterWent(metadata.name),
    });
    const deliveredChanged = (work: KubeObject) => {
      for (const ref of deliveredBy(work)) this.#templateChanged(ref);
    };
    this.#otherWorks.cache.subscribe({
      added: deliveredChanged,
      updated: (work, previous) => {
        if (isStatusOnly(work, previous)) return;
        deliveredChanged(previous);
        deliveredChanged(work);
      },
      deleted: deliveredChanged,
    });
    this.#works.cache.subscribe({
      added: (work) => this.#workChanged(work),
      updated: (work, previous) => {
        // An agent reports often; its reports are read only if the member itself cannot be read.
        const isReadFrom = this.#isReadFrom(work);
        const isBack = isReadFrom && this.#signs.saw(work);
        // The next step of a removal waits for it.
        const isLetGo = wasRemoving(work) && isApplied(work) === true && isApplied(previous) !== true;
        const isTold = isWrittenOtherwise(work, previous) || isBack || isLetGo;
        if (isTold || (isReadFrom && isReportedOtherwise(work, previous))) this.#workChanged(work);
      },
      deleted: (work) => {
        this.#signs.forget(work);
        this.#workChanged(work);
      },
    });
    const selectionChanged = (namespace: string | undefined, placement: string | undefined) => {
      for (const { app, changed } of this.#byApp.values()) {
        if (app.namespace === namespace && app.placement === placement) changed("own");
      }
    };
    const placed = ({ metadata }: KubeObject) => selectionChanged(metadata.namespace, metadata.name);
    this.#placements.cache.subscribe({ added: placed, updated: placed, deleted: placed });
    const decided = ({ metadata }: KubeObject) => {
      selectionChanged(metadata.namespace, metadata.labels?.[PLACEMENT_LABEL]);
    };
    this.#decisions.cache.subscribe({ added: decided, updated: decided, deleted: decided });
    const scored = () => {
      for (const { app, changed } of this.#byApp.values()) if (scoreOf(app)) changed("own");
    };
    this.#scores.cache.subscribe({ added: scored, updated: scored, deleted: scored });
    const read = (secret: KubeObject) => {
      if (this.#isCluster(secret.metadata.namespace)) void this.#accesses.read(secret);
    };
    this.#secrets.cache.subscribe({
      added: read,
      updated: read,
      deleted: (secret) => void this.#accesses.forget(secret),
    });
    const scores = new Promise<void>((resolve, reject) => {
      this.#runScores = () => void this.#scores.run(signal).then(resolve, reject);
      signal.addEventListener("abort", () => this.#wantsScores || resolve(), { once: true });
    });
    if (this.#wantsScores) this.#runScores?.();
    await Promise.all([
      ...this.#hubReflectors().map((reflector) => reflector.run(signal)),
      scores,
      this.#secrets.run(signal),
      this.#signs.run(signal),
    ]);
    await this.#streams.stopped();
    await this.#accesses.close();
  }

  synced(): boolean {
    // Without the right to read them, no cluster is read directly; that is no reason to wait.
    const { hasSynced, isForbidden } = this.#secrets.health;
    return this.#hubReflectors().every(({ cache }) => cache.hasSynced) && (hasSynced || isForbidden);
  }

  track(app: EngineOwner, changed: Tracked["changed"]): void {
    const mark = this.#own.mark(app);
    const previous = this.#byApp.get(mark);
    if (previous) this.untrack(previous.app);
    const tracked = { app, changed };
    this.#byApp.set(mark, tracked);
    if (scoreOf(app) && !this.#wantsScores) {
      this.#wantsScores = true;
      this.#runScores?.();
    }
    for (const ref of objectsOf(app)) {
      const key = refKey(ref);
      this.#byTemplate.set(key, (this.#byTemplate.get(key) ?? new Set()).add(tracked));
    }
    for (const kind of streamKindsOf(app)) this.#streams.wantKind(kind, app.namespace);
  }

  untrack(app: EngineOwner): void {
    const mark = this.#own.mark(app);
    const tracked = this.#byApp.get(mark);
    if (!tracked) return;
    this.#byApp.delete(mark);
    this.#led.delete(mark);
    for (const ref of objectsOf(tracked.app)) {
      const others = this.#byTemplate.get(refKey(ref));
      others?.delete(tracked);
      if (others?.size === 0) this.#byTemplate.delete(refKey(ref));
    }
    for (const kind of streamKindsOf(tracked.app)) this.#streams.unwantKind(kind, tracked.app.namespace);
  }

  clusters(): readonly EngineCluster[] {
    return this.#clusters.cache.list().flatMap((cluster) => readManagedCluster(cluster) ?? []);
  }

  schedule(app: EngineOwner): EngineSchedule {
    const { namespace, placement = "" } = app;
    const found = this.#placements.cache.get({ namespace, name: placement });
    const schedule = readPlacement(app, found, this.#decisions.cache.byIndex("placement", `${namespace}/${placement}`));
    if (schedule.kind === "unknown") return schedule;
    // OCM taints clusters that are not available, and Placements without tolerations drop them at once, as they drop
    // clusters that are being detached. That is no decision to drain them: they are lost, and the rules for lost clusters say what happens.
    const selected = new Set(schedule.clusters.map(({ cluster }) => cluster));
    const holding = new Set(this.dispatched(app).map(({ cluster }) => cluster));
    const lost = [...holding].filter((cluster) => !selected.has(cluster) && !this.#isReady(cluster)).sort();
    const all = [...schedule.clusters, ...lost.map((cluster) => ({ cluster, replicas: 1 }))];
    return withWeights({ ...schedule, clusters: all }, scoreOf(app), this.#scores.cache, this.#clock.now());
  }

  /** A manifest's options name its plural, which only the hub or the cluster itself can tell. */
  needsHubKinds(clusters: readonly string[]): boolean {
    return clusters.some((cluster) => !this.#accesses.client(cluster));
  }

  async hold(app: EngineApp): Promise<HoldState> {
    return this.#foreign.state(app);
  }

  dispatched(app: EngineOwner): readonly Dispatched[] {
    return this.#own.of(app).flatMap((work) => this.#read(work) ?? []);
  }

  async readDispatched(app: EngineOwner): Promise<readonly Dispatched[]> {
    return readAll(await this.#own.read(app, this.#clusterNames()));
  }

  async stamp(app: EngineOwner, term: number, clusters = this.#clusterNames()): Promise<readonly Dispatched[]> {
    const stamped = readAll(await this.#own.stamp(app, term, clusters));
    this.#led.set(this.#own.mark(app), term);
    // The last answers may be old: the former leader asked.
    for (const work of this.#own.of(app)) if (this.#isReadFrom(work)) void this.#signs.ask(work);
    return stamped;
  }

  awaitsLeader(app: EngineApp): boolean {
    const term = this.#led.get(this.#own.mark(app));
    return this.#own.of(app).some((work) => termOf(work) !== term && this.#isReadFrom(work));
  }

  async reserve(app: EngineOwner, refs: readonly ObjectRef[], claim: Claim): Promise<readonly Dispatched[]> {
    this.#led.set(this.#own.mark(app), claim.term);
    const reserved = await Promise.all(refs.map((ref) => this.#own.reserve(app, ref, claim)));
    return readAll(reserved.flatMap((work) => work ?? []));
  }

  async dispatch(app: EngineOwner, order: DispatchOrder): Promise<Dispatched> {
    const { expected, cluster, term, manifest } = order;
    const ref = refOf(manifest);
    const what = `the ManifestWork of ${ref.kind} ${ref.name}`;
    const name = { namespace: cluster, name: workName(app, ref) };
    if (expected && expected.term > term) throw laterTerm({ kind: MANIFEST_WORKS.kind, ...name }, term, expected.term);
    if (app.kind === undefined && refKey(ref) === refKey(app.template)) this.#refuseRival(app, order);
    const writing = await this.#writing(cluster, ref);
    this.#led.set(this.#own.mark(app), term);
    let previous = expected ? this.#works.cache.get(name) : undefined;
    for (let attempt = 0; attempt < SWAP_ATTEMPTS; attempt++) {
      if (previous && termOf(previous) > term) throw laterTermOf(previous, term, termOf(previous));
      if ((previous && versionOf(previous)) !== expected?.version) throw new DispatchConflictError(cluster, what);
      const pods = this.#accesses.client(cluster) ? [] : podsToObserve(manifest, previous);
      const work = workFor(app, order, previous, { ...writing, pods });
      try {
        const send = () => (previous ? this.#hub.update(MANIFEST_WORKS, work) : this.#hub.create(MANIFEST_WORKS, work));
        const written = await this.#own.write(app, work, send);
        this.#warnOfPolling(written);
        const read = readWork(written);
        if (!read) throw new DispatchConflictError(cluster, what);
        return read;
      } catch (error) {
        if (!isRefusedSwap(error)) throw error;
        // Most often the agent has just written its report; then the object is still the expected version.
        previous = await this.#hub.find(MANIFEST_WORKS, name);
        if (previous) this.#works.cache.wrote(previous);
      }
    }
    throw new DispatchConflictError(cluster, what);
  }

  withdraw(app: EngineOwner, dispatched: Dispatched, what: "keep" | "remove"): Promise<boolean> {
    return this.#endings.withdraw(app, dispatched, what);
  }

  adopt(app: EngineApp, cluster: string): Promise<void> {
    return this.#endings.adopt(cluster, this.#foreign.in(app, cluster));
  }

  snapshot(owner: EngineOwner, cluster: string, ref: ObjectRef = mainObject(owner)): Snapshot {
    if (!this.#accesses.client(cluster)) return this.#byValues(owner, cluster, ref);
    const isOwned = owner.kind !== undefined;
    const state = this.#streams.state(cluster, { ...ref, isOwned });
    if (state.kind === "broken") return unreachable(state.message, state.isStarved, state.isForbidden);
    if (state.kind === "never") {
      const seen = this.#byValues(owner, cluster, ref, state.message);
      return seen.kind === "unreachable" && state.isForbidden ? { ...seen, isForbidden: true } : seen;
    }
    const atMs = this.#clock.now();
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
    const client = this.#accesses.client(cluster);
    if (client) return new ReachableMember(client, cluster);
    return new ReportedMember(cluster, (configMap) => this.#holdings.look(cluster, configMap));
  }

  #byValues(owner: EngineOwner, cluster: string, ref: ObjectRef, failure?: string): Snapshot {
    const found = this.#clusters.cache.get({ name: cluster });
    const facts = found && readManagedCluster(found);
    if (facts?.state !== "Ready") {
      const message = facts
        ? `cluster ${cluster} is not available to the hub`
        : `cluster ${cluster} is not in the fleet: 'kubectl get managedclusters' shows those that have joined`;
      return { kind: "unreachable", message, ...(facts?.sinceMs !== undefined && { sinceMs: facts.sinceMs }) };
    }
    const work = this.#works.cache.get({ namespace: cluster, name: workName(owner, ref) });
    if (!work) {
      const message = failure ?? `nothing has been dispatched to cluster ${cluster} yet`;
      return { kind: "unreachable", message, isUnasked: true };
    }
    const provenMs = this.#signs.provenMs(work);
    if (provenMs === undefined) {
      return {
        kind: "unreachable",
        message: `the agent of cluster ${cluster} has not reported on ManifestWork ${work.metadata.name} yet`,
      };
    }
    if (!this.#signs.isFresh(work)) {
      const message = `the agent of cluster ${cluster} has given no sign of life for ${FRESH_MS / 1000} s, and its last reports no longer prove anything`;
      return { kind: "unreachable", message, sinceMs: this.#signs.silentSinceMs(work) };
    }
    return snapshotByValues(ref, work, provenMs);
  }

  /** What a first write needs in addition to the order. */
  async #writing(cluster: string, { apiVersion, kind }: ObjectRef) {
    const found = this.#clusters.cache.get({ name: cluster });
    if (found && isDetaching(found)) throw new ClusterDetachingError(cluster);
    const plural = await this.#plurals.of(cluster, apiVersion, kind);
    const executor = executorOf(this.#otherWorks.cache.get({ namespace: cluster, name: EXECUTOR_WORK }));
    return { plural, lineage: lineageFrom(this.#random.next()), nowMs: this.#clock.now(), pods: [], executor };
  }

  /**
   * Another writer's ManifestWork for the same object would conflict with ours: what it delivers must be adopted first.
   */
  #refuseRival(app: EngineApp, { cluster, takeOver }: DispatchOrder): void {
    const [rival] = takeOver ? [] : this.#foreign.in(app, cluster);
    if (!rival) return;
    const { kind, name } = app.template;
    throw new DispatchConflictError(cluster, `what ManifestWork ${rival.metadata.name} delivers of ${kind} ${name}`);
  }

  /** A hub before OCM 1.2 drops the field: its agents report changes 10 to 60 seconds late. */
  #warnOfPolling(work: KubeObject): void {
    if (this.#hasWarned || configsOf(work).every(({ feedbackScrapeType }) => feedbackScrapeType === "Watch")) return;
    this.#hasWarned = true;
    this.#log.warn(
      "this hub's ManifestWorks have no field feedbackScrapeType: agents poll, and every step waits for them. Update OCM to 1.2 or newer",
      { work: work.metadata.name, cluster: work.metadata.namespace },
    );
  }

  #clusterCame(name: string): void {
    for (const secret of this.#secretsIn(name)) void this.#accesses.read(secret);
    this.#allChanged();
  }

  #clusterWent(name: string): void {
    for (const secret of this.#secretsIn(name)) void this.#accesses.forget(secret);
    this.#allChanged();
  }

  #secretsIn(namespace: string): KubeObject[] {
    return this.#secrets.cache.list().filter(({ metadata }) => metadata.namespace === namespace);
  }

  /** What a tenant writes in a namespace of its own is about no cluster, whatever it looks like. */
  #isCluster(namespace = ""): boolean {
    return this.#clusters.cache.get({ name: namespace }) !== undefined;
  }

  #clusterUpdated(cluster: KubeObject, previous: KubeObject): void {
    const [now, before] = [readManagedCluster(cluster), readManagedCluster(previous)];
    // A watch may have stalled while the cluster was unreachable, and may stay stalled for minutes.
    if (now?.state === "Ready" && before?.state !== "Ready") {
      this.#streams.listAnew(now.name, `cluster ${now.name} is back; its objects are being listed again`);
    }
    if (JSON.stringify(now) !== JSON.stringify(before)) this.#allChanged();
  }

  #workChanged(work: KubeObject): void {
    this.#own.tell(work);
    // A Work of another application, or one that imitates ours.
    for (const ref of deliveredBy(work)) {
      for (const tracked of this.#byTemplate.get(refKey(ref)) ?? []) {
        if (this.#own.mark(tracked.app) !== appOfWork(work)) tracked.changed("own");
      }
    }
  }

  /** Once per version of a ManifestWork: they are read far more often than they change. */
  #read(work: KubeObject): Dispatched | undefined {
    const known = this.#readWorks.get(work);
    if (known) return known;
    const read = readWork(work);
    if (read) this.#readWorks.set(work, read);
    return read;
  }

  /** The ManifestWorks whose reports are all that is known of a workload, as long as no later leader has stamped them. */
  #readFrom(): KubeObject[] {
    return [...this.#led].flatMap(([mark, term]) => {
      const app = this.#byApp.get(mark)?.app;
      const works = app ? this.#own.of(app) : [];
      return works.filter((work) => termOf(work) === term && this.#isReadFrom(work));
    });
  }

  #isReadFrom(work: KubeObject): boolean {
    const { namespace: cluster = "", name, deletionTimestamp } = work.metadata;
    const app = this.#byApp.get(appOfWork(work))?.app;
    if (!app || deletionTimestamp !== undefined) return false;
    const ref = objectsOf(app).find((each) => workName(app, each) === name);
    if (!ref) return false;
    if (!this.#accesses.client(cluster)) return true;
    return this.#streams.state(cluster, { ...ref, isOwned: app.kind !== undefined }).kind === "never";
  }

  #isReady(cluster: string): boolean {
    const found = this.#clusters.cache.get({ name: cluster });
    return found !== undefined && !isDetaching(found) && readManagedCluster(found)?.state === "Ready";
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
    return [this.#clusters, this.#works, this.#otherWorks, this.#placements, this.#decisions];
  }
}

function unreachable(message: string, isBlind: boolean, isForbidden = false): Snapshot {
  return { kind: "unreachable", message, ...(isBlind && { isBlind }), ...(isForbidden && { isForbidden }) };
}

function scoreOf(owner: EngineOwner): EngineApp["placementScore"] {
  return owner.kind === undefined ? owner.placementScore : undefined;
}

function readAll(works: readonly KubeObject[]): Dispatched[] {
  return works.flatMap((work) => readWork(work) ?? []);
}

function placementOf({ metadata }: KubeObject): string[] {
  const placement = metadata.labels?.[PLACEMENT_LABEL];
  return placement === undefined ? [] : [`${metadata.namespace}/${placement}`];
}
