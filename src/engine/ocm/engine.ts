import { setMaxListeners } from "node:events";
import { DEFAULT_SYSTEM_NAMESPACE } from "../../api/index.ts";
import type { KubeClient, KubeObject, Reflector } from "../../kube/index.ts";
import { type Clock, type Log, type Random, silentLog } from "../../runtime/index.ts";
import { isTemplateOf, mainObject, objectsOf, refOf, termOf, workName } from "../dispatch-objects.ts";
import { Dispatches } from "../dispatches.ts";
import { DispatchConflictError } from "../errors.ts";
import { reflect, reflectWorks } from "../hub-works.ts";
import { type AccessPoint, AccessSecrets, type MemberConnection } from "../members/access.ts";
import { liveSnapshot } from "../members/live-snapshot.ts";
import { MemberStreams } from "../members/streams.ts";
import { OwnWorks } from "../own-works.ts";
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
  MemberKind,
  ObjectRef,
  Snapshot,
} from "../port.ts";
import { markOf, type Tracked, Tracking } from "../tracking.ts";
import { isDetaching, isWell, readManagedCluster } from "./clusters.ts";
import { ClustersInUse } from "./clusters-in-use.ts";
import { Drops } from "./drops.ts";
import { ClusterDetachingError, Endings } from "./endings.ts";
import { EXECUTOR_WORK, executorOf } from "./executor.ts";
import { deliveredBy, ForeignWorks, foreignOutline } from "./foreign-works.ts";
import { Holdings } from "./holdings.ts";
import { ReachableMember, ReportedMember } from "./member.ts";
import { isReportedOtherwise, isWrittenOtherwise } from "./news.ts";
import { Plurals } from "./plurals.ts";
import { Reported } from "./reported.ts";
import { isApplied } from "./reports.ts";
import { MANAGED_CLUSTERS, MANIFEST_WORKS } from "./resources.ts";
import { Selections } from "./selections.ts";
import { settingsOf } from "./settings.ts";
import { SignsOfLife } from "./signs-of-life.ts";
import { podsToObserve } from "./values.ts";
import { configsOf, outlineOf, readWork, reservationFor, versionOf, wasRemoving, workFor } from "./works.ts";
import { lineageFrom } from "./write-marks.ts";

export interface OcmEngineOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  /** Lockstep's own namespace on the hub; absent: the usual one. */
  readonly systemNamespace?: string;
  /** Opens the connection to a cluster's own API server, if a Secret gives access. */
  readonly openMember: (point: AccessPoint) => Promise<MemberConnection>;
}

/**
 * The Open Cluster Management adapter, with own ManifestWorks: nothing on the hub renders a template by itself, so
 * there is nothing to hold. A cluster is read directly if a Secret gives access to it. Otherwise only its agent's
 * reports are available, and they count only with our own mark among their values.
 */
export class OcmEngine implements Engine {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Log;
  readonly #clusters: Reflector<KubeObject>;
  readonly #works: Reflector<KubeObject>;
  /** ManifestWorks of all other writers, only what they deliver. */
  readonly #otherWorks: Reflector<KubeObject>;
  readonly #selections: Selections;
  readonly #accesses: AccessSecrets;
  readonly #streams: MemberStreams;
  readonly #plurals: Plurals;
  readonly #tracking = new Tracking(() => this.#streams);
  readonly #own: OwnWorks;
  readonly #dispatches: Dispatches;
  readonly #foreign: ForeignWorks;
  readonly #endings: Endings;
  readonly #signs: SignsOfLife;
  readonly #inUse: ClustersInUse;
  readonly #holdings: Holdings;
  readonly #reported: Reported;
  readonly #drops: Drops;
  /** The applications that this process has written for, and its term: it asks for signs of life of no others. */
  readonly #led = new Map<string, number>();
  #hasWarned = false;

  constructor(options: OcmEngineOptions) {
    const { hub, clock, random, log = silentLog, openMember, systemNamespace = DEFAULT_SYSTEM_NAMESPACE } = options;
    this.#clock = clock;
    this.#random = random;
    this.#log = log;
    const from = { hub, clock, random, log };
    this.#clusters = reflect(from, MANAGED_CLUSTERS);
    const { marked, others } = reflectWorks(from, MANIFEST_WORKS, { deliveredBy, outlineOf, foreignOutline });
    this.#works = marked;
    this.#otherWorks = others;
    this.#selections = new Selections(from, this.#tracking);
    const isCluster = (name: string) => this.#clusters.cache.get({ name }) !== undefined;
    this.#accesses = new AccessSecrets({
      ...from,
      open: openMember,
      // What a tenant writes in a namespace of its own is about no cluster, whatever it looks like.
      isCluster,
      clusterOf: (namespace) => namespace,
      opened: (cluster) => {
        this.#streams.addCluster(cluster);
        this.#tracking.allChanged();
      },
      closed: (cluster) => {
        this.#streams.removeCluster(cluster);
        // From now on its agent's reports count, and their last question may be old.
        for (const work of this.#readFrom()) if (work.metadata.namespace === cluster) void this.#signs.ask(work);
        this.#tracking.allChanged();
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
      changed: (_cluster, ref) => this.#tracking.streamChanged(ref),
    });
    const [works, unlabelled] = [this.#works.cache, this.#otherWorks.cache];
    this.#own = new OwnWorks({
      hub,
      works: MANIFEST_WORKS,
      namespaceOf: (cluster) => cluster,
      reservationFor: async (app, ref, claim) =>
        reservationFor(app, ref, claim, await this.#writing(claim.cluster, ref)),
      cache: works,
      changed: (mark) => this.#tracking.ownChanged(mark),
    });
    const namespaceOf = (cluster: string) => cluster;
    const read = { works: MANIFEST_WORKS, cache: works, namespaceOf, read: readWork, versionOf };
    this.#dispatches = new Dispatches({ hub, own: this.#own, ...read });
    this.#foreign = new ForeignWorks({ unlabelled, labelled: works, isCluster });
    this.#inUse = new ClustersInUse({ hub, clock, log, works, isCluster, systemNamespace });
    const pluralOf = this.#plurals.of.bind(this.#plurals);
    this.#endings = new Endings({ hub, clock, own: this.#own, dispatches: this.#dispatches, unlabelled, pluralOf });
    this.#signs = new SignsOfLife({
      hub,
      clock,
      log,
      works,
      readFrom: () => this.#readFrom(),
      changed: (work) => this.#tracking.ownChanged(markOf(work)),
    });
    this.#holdings = new Holdings({ hub, clock, works, signs: this.#signs });
    this.#drops = new Drops({ hub, clock, log, changed: (owner) => this.#tracking.ownChanged(this.#own.mark(owner)) });
    this.#reported = new Reported({ clusters: this.#clusters.cache, works, signs: this.#signs });
  }

  async run(signal: AbortSignal): Promise<void> {
    // Every stream listens to it, one for each cluster and kind, so the number of listeners is not a leak.
    setMaxListeners(0, signal);
    this.#streams.start(signal);
    this.#drops.run(signal);
    this.#clusters.cache.subscribe({
      added: ({ metadata }) => this.#clusterCame(metadata.name),
      updated: (cluster, previous) => this.#clusterUpdated(cluster, previous),
      deleted: ({ metadata }) => this.#clusterWent(metadata.name),
    });
    this.#otherWorks.cache.subscribe(this.#tracking.followingOthers(deliveredBy));
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
        this.#inUse.workEnded(work.metadata.namespace ?? "");
        this.#workChanged(work);
      },
    });
    await Promise.all([
      ...this.#hubReflectors().map((reflector) => reflector.run(signal)),
      this.#selections.run(signal),
      this.#accesses.run(signal),
      this.#signs.run(signal),
      this.#inUse.run(signal),
    ]);
    await this.#streams.stopped();
    await this.#accesses.close();
  }

  synced(): boolean {
    return (
      this.#hubReflectors().every(({ cache }) => cache.hasSynced) &&
      this.#selections.hasSynced() &&
      this.#accesses.hasSynced()
    );
  }

  track(app: EngineOwner, changed: Tracked["changed"]): void {
    this.#tracking.track(app, changed);
    this.#selections.tracked(app);
  }

  untrack(app: EngineOwner): void {
    this.#tracking.untrack(app);
    this.#led.delete(this.#own.mark(app));
  }

  clusters(): readonly EngineCluster[] {
    return this.#clusters.cache.list().flatMap((cluster) => readManagedCluster(cluster) ?? []);
  }

  schedule(app: EngineOwner): EngineSchedule {
    // OCM taints clusters that are not available, and Placements without tolerations drop them at once, as they drop
    // clusters that are being detached. That is no decision to drain them: they are lost, and the rules for lost clusters
    // say what happens. When they are back, or are just being lost, the decision may be older than what is seen of them.
    const holding = new Set(this.dispatched(app).map(({ cluster }) => cluster));
    return this.#selections.schedule(app, holding, (name, decided) =>
      this.#drops.kept(app, name, { ...decided, cluster: this.#clusters.cache.get({ name }) }),
    );
  }

  /** A manifest's options name its plural, which only the hub or the cluster itself can tell. */
  needsHubKinds(clusters: readonly string[]): boolean {
    return clusters.some((cluster) => !this.#accesses.client(cluster));
  }

  async memberKind(cluster: string, apiVersion: string, kind: string): Promise<MemberKind | undefined> {
    const client = this.#accesses.client(cluster);
    try {
      return await client?.discovery.resource(apiVersion, kind, { maxAttempts: 2 });
    } catch {
      return undefined;
    }
  }

  /** Only where reports are all that is known does it matter how soon they come, and what they leave out. */
  settings(app: EngineApp): readonly EngineSetting[] {
    const works = this.#own.of(app).filter((work) => this.#isReadFrom(work));
    return settingsOf(app.template, works, this.#signs);
  }

  async hold(app: EngineApp): Promise<HoldState> {
    return this.#foreign.state(app);
  }

  delivers(mark: string, cluster: string, ref: ObjectRef): boolean {
    return this.#own.delivers(mark, cluster, ref);
  }

  hasOthersIn(mark: string, cluster: string, namespace: string): boolean {
    return this.#own.hasOthersIn(mark, cluster, namespace);
  }

  dispatched(app: EngineOwner): readonly Dispatched[] {
    return this.#dispatches.of(app);
  }

  readDispatched(app: EngineOwner): Promise<readonly Dispatched[]> {
    return this.#dispatches.readAll(app, this.#clusterNames());
  }

  async stamp(app: EngineOwner, term: number, clusters = this.#clusterNames()): Promise<readonly Dispatched[]> {
    const stamped = await this.#dispatches.stamp(app, term, clusters);
    this.#led.set(this.#own.mark(app), term);
    // The last answers may be old: the former leader asked.
    for (const work of this.#own.of(app)) if (this.#isReadFrom(work)) void this.#signs.ask(work);
    return stamped;
  }

  awaitsLeader(app: EngineApp): boolean {
    const term = this.#led.get(this.#own.mark(app));
    return this.#own.of(app).some((work) => termOf(work) !== term && this.#isReadFrom(work));
  }

  reserve(app: EngineOwner, refs: readonly ObjectRef[], claim: Claim): Promise<readonly Dispatched[]> {
    this.#led.set(this.#own.mark(app), claim.term);
    return this.#dispatches.reserve(app, refs, claim);
  }

  async dispatch(app: EngineOwner, order: DispatchOrder): Promise<Dispatched> {
    const { cluster, term, manifest } = order;
    const ref = refOf(manifest);
    const work = await this.#dispatches.write(app, order, async () => {
      if (isTemplateOf(app, ref)) this.#refuseRival(app, order);
      const writing = await this.#writing(cluster, ref);
      this.#led.set(this.#own.mark(app), term);
      return (previous) => {
        const pods = this.#isReadDirectly(app, cluster, ref) ? [] : podsToObserve(manifest, previous);
        return workFor(app, order, previous, { ...writing, pods });
      };
    });
    this.#warnOfPolling(work);
    return this.#dispatches.written(order, work);
  }

  withdraw(app: EngineOwner, dispatched: Dispatched, what: "keep" | "remove"): Promise<boolean> {
    return this.#endings.withdraw(app, dispatched, what);
  }

  adopt(app: EngineApp, cluster: string): Promise<void> {
    return this.#endings.adopt(cluster, this.#foreign.in(app, cluster));
  }

  snapshot(owner: EngineOwner, cluster: string, ref: ObjectRef = mainObject(owner)): Snapshot {
    if (!this.#accesses.client(cluster)) return this.#reported.snapshot(owner, cluster, ref);
    const atMs = this.#clock.now();
    return liveSnapshot(this.#streams, { owner, cluster, ref, atMs }, ({ message, isForbidden }) => {
      const seen = this.#reported.snapshot(owner, cluster, ref, message);
      return seen.kind === "unreachable" && isForbidden ? { ...seen, isForbidden } : seen;
    });
  }

  member(cluster: string): MemberAccess {
    const client = this.#accesses.client(cluster);
    if (client) return new ReachableMember(client, cluster);
    return new ReportedMember(cluster, (configMap) => this.#holdings.look(cluster, configMap));
  }

  /** What a first write needs in addition to the order. */
  async #writing(cluster: string, { apiVersion, kind }: ObjectRef) {
    const found = this.#clusters.cache.get({ name: cluster });
    if (found && isDetaching(found)) throw new ClusterDetachingError(cluster);
    const [plural] = await Promise.all([this.#plurals.of(cluster, apiVersion, kind), this.#inUse.list(cluster)]);
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
    this.#accesses.clusterCame(name);
    this.#tracking.allChanged();
  }

  #clusterWent(name: string): void {
    this.#accesses.clusterWent(name);
    this.#tracking.allChanged();
  }

  #clusterUpdated(cluster: KubeObject, previous: KubeObject): void {
    const [now, before] = [readManagedCluster(cluster), readManagedCluster(previous)];
    // A watch may have stalled while the cluster was unreachable, and may stay stalled for minutes.
    if (now?.state === "Ready" && before?.state !== "Ready") {
      this.#streams.listAnew(now.name, `cluster ${now.name} is back; its objects are being listed again`);
    }
    // What nodes offer changes on its own: an application that waits for room looks again by itself.
    const essence = (each: EngineCluster | undefined) => JSON.stringify({ ...each, capacity: undefined });
    // OCM removes its taints a moment after the cluster is available again, and a Placement's decision waits for that.
    const isWellAgain = isWell(cluster) !== isWell(previous);
    if (isWellAgain || essence(now) !== essence(before)) this.#tracking.allChanged();
  }

  #workChanged(work: KubeObject): void {
    this.#own.tell(work);
    this.#tracking.rivalsChanged(work, deliveredBy(work));
  }

  /** The ManifestWorks whose reports are all that is known of a workload, as long as no later leader has stamped them. */
  #readFrom(): KubeObject[] {
    return [...this.#led].flatMap(([mark, term]) => {
      const app = this.#tracking.owner(mark);
      const works = app ? this.#own.of(app) : [];
      return works.filter((work) => termOf(work) === term && this.#isReadFrom(work));
    });
  }

  #isReadFrom(work: KubeObject): boolean {
    const { namespace: cluster = "", name, deletionTimestamp } = work.metadata;
    const app = this.#tracking.ownerOf(work);
    if (!app || deletionTimestamp !== undefined) return false;
    const ref = objectsOf(app).find((each) => workName(app, each) === name);
    return ref !== undefined && !this.#isReadDirectly(app, cluster, ref);
  }

  /** False also for a cluster whose API server has not answered since this process began. */
  #isReadDirectly(owner: EngineOwner, cluster: string, ref: ObjectRef): boolean {
    if (!this.#accesses.client(cluster)) return false;
    return this.#streams.state(cluster, { ...ref, isOwned: owner.kind !== undefined }).kind !== "never";
  }

  #clusterNames(): string[] {
    return this.#clusters.cache.list().map(({ metadata }) => metadata.name);
  }

  #hubReflectors(): Reflector<KubeObject>[] {
    return [this.#clusters, this.#works, this.#otherWorks];
  }
}
