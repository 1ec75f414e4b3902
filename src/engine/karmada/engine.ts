import { setMaxListeners } from "node:events";
import type { KubeClient, KubeObject, Reflector } from "../../kube/index.ts";
import { type Clock, isJsonObject, type Log, type Random, silentLog } from "../../runtime/index.ts";
import {
  carriedBy,
  isStatusOnly,
  isTemplateOf,
  mainObject,
  manifestOf,
  objectsOf,
  refKey,
  refOf,
  workName,
} from "../dispatch-objects.ts";
import { Dispatches } from "../dispatches.ts";
import { reflect, reflectWorks } from "../hub-works.ts";
import { MARKS } from "../marks.ts";
import { type AccessPoint, AccessSecrets, type MemberConnection } from "../members/access.ts";
import { liveSnapshot, unreachable } from "../members/live-snapshot.ts";
import { MemberStreams } from "../members/streams.ts";
import { OwnWorks } from "../own-works.ts";
import type {
  Claim,
  Dispatched,
  DispatchOrder,
  DivisionRequest,
  Divisions,
  Engine,
  EngineApp,
  EngineBundle,
  EngineCluster,
  EngineOwner,
  EngineSchedule,
  EngineSetting,
  HoldState,
  MemberAccess,
  ObjectRef,
  Snapshot,
  Unheld,
} from "../port.ts";
import { SharedStrings } from "../shared-strings.ts";
import { markOf, type Tracked, Tracking } from "../tracking.ts";
import { Divider } from "./divisions.ts";
import { Endings } from "./endings.ts";
import { ForeignWorks, foreignOutline, rivalWords } from "./foreign-works.ts";
import { Holds } from "./holds.ts";
import { heldTemplates, isHold, readCluster, readSchedule, templateOfBinding } from "./hub.ts";
import { KarmadaMember } from "./member.ts";
import { fightingControllers, Watchman } from "./other-controllers.ts";
import { throughProxy } from "./proxy.ts";
import {
  BINDING_ID,
  CLUSTER_OVERRIDE_POLICIES,
  CLUSTERS,
  clusterOfNamespace,
  executionNamespace,
  OVERRIDE_POLICIES,
  RESOURCE_BINDINGS,
  WORKS,
} from "./resources.ts";
import { Rivals } from "./rivals.ts";
import { fightingSettings, unsafeSetting } from "./settings.ts";
import {
  deliveryFailure,
  outlineOf,
  readWork,
  reflectedStatus,
  reservationFor,
  UNWANTED_OF_WORKS,
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
  /** How often it looks for autoscalers and rebalancers that would work against a rollout. Absent: never. */
  readonly looksEveryMs?: number;
}

/**
 * The Karmada adapter, with a hold and own Works: Karmada schedules, Lockstep renders and dispatches, Karmada delivers.
 */
export class KarmadaEngine implements Engine {
  readonly #hub: KubeClient;
  readonly #clock: Clock;
  readonly #streams: MemberStreams;
  readonly #clusters: Reflector<KubeObject>;
  readonly #works: Reflector<KubeObject>;
  readonly #otherWorks: Reflector<KubeObject>;
  readonly #tracking = new Tracking(() => this.#streams);
  readonly #own: OwnWorks;
  readonly #dispatches: Dispatches;
  readonly #endings: Endings;
  readonly #rivals: Rivals;
  readonly #foreign: ForeignWorks;
  readonly #holds: Holds;
  readonly #divider: Divider;
  /** Secrets that give access to members, for dry runs: Karmada's proxy does not pass them on. */
  readonly #accesses: AccessSecrets | undefined;
  readonly #bindings: Reflector<KubeObject>;
  readonly #policies: Reflector<KubeObject>;
  readonly #clusterPolicies: Reflector<KubeObject>;
  /** The policies of other writers, until one of them changes: there are as many holds as applications. */
  #foreignPolicies: readonly KubeObject[] | undefined;
  readonly #watchman: Watchman | undefined;

  constructor(options: KarmadaEngineOptions) {
    const { hub, clock, random } = options;
    const log = options.log ?? silentLog;
    this.#hub = hub;
    this.#clock = clock;
    const from = { hub, clock, random, log };
    this.#clusters = reflect(from, CLUSTERS);
    const strings = new SharedStrings();
    const works = reflectWorks(from, WORKS, {
      deliveredBy: carriedBy,
      outlineOf: (work) => outlineOf(work, strings.of),
      foreignOutline,
      unwanted: UNWANTED_OF_WORKS,
    });
    this.#works = works.marked;
    this.#otherWorks = works.others;
    this.#foreign = new ForeignWorks({
      hub,
      unlabelled: this.#otherWorks.cache,
      labelled: this.#works.cache,
      clock: this.#clock,
    });
    this.#own = new OwnWorks({
      hub,
      works: WORKS,
      namespaceOf: executionNamespace,
      reservationFor,
      cache: this.#works.cache,
      changed: (mark) => this.#tracking.ownChanged(mark),
    });
    const [own, foreign, cache] = [this.#own, this.#foreign, this.#works.cache];
    const read = { works: WORKS, cache, namespaceOf: executionNamespace, read: readWork, versionOf };
    this.#dispatches = new Dispatches({ hub, own, ...read });
    this.#endings = new Endings({ hub, own, dispatches: this.#dispatches, member: (cluster) => this.member(cluster) });
    this.#rivals = new Rivals({ hub, own, foreign });
    this.#bindings = reflect(from, RESOURCE_BINDINGS, {
      transform: withoutAggregatedStatus,
      indexes: { template: (binding) => [templateOfBinding(binding)].flatMap((ref) => (ref ? [refKey(ref)] : [])) },
    });
    this.#policies = reflect(from, OVERRIDE_POLICIES, {
      indexes: {
        holds: (policy) => heldTemplates(policy).map(refKey),
        divisions: (policy) => (isDivisionHold(policy) ? [markOf(policy)] : []),
      },
    });
    this.#holds = new Holds(hub, this.#policies.cache);
    this.#divider = new Divider({
      hub,
      clock,
      holds: this.#holds,
      holdsOf: (mark) => this.#policies.cache.byIndex("divisions", mark),
      binding: (template) => this.#binding(template),
    });
    this.#clusterPolicies = reflect(from, CLUSTER_OVERRIDE_POLICIES);
    const { openMember } = options;
    const access = { hub, clock, random, log, clusterOf: clusterOfNamespace };
    this.#accesses = openMember && new AccessSecrets({ ...access, open: openMember });
    const { looksEveryMs: everyMs } = options;
    this.#watchman =
      everyMs === undefined
        ? undefined
        : new Watchman({
            hub,
            member: throughProxy(hub).client,
            clusters: () => this.clusters().flatMap(({ name, state }) => (state === "Ready" ? [name] : [])),
            clock,
            log,
            everyMs,
            changed: () => this.#tracking.allChanged(),
          });
    this.#streams = new MemberStreams({
      ...throughProxy(hub),
      clock,
      random,
      log,
      changed: (_cluster, ref) => this.#tracking.streamChanged(ref),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    // Every stream listens to it, one for each cluster and kind, so the number of listeners is not a leak.
    setMaxListeners(0, signal);
    this.#streams.start(signal);
    this.#clusters.cache.subscribe({
      added: (cluster) => {
        this.#streams.addCluster(cluster.metadata.name);
        this.#tracking.allChanged();
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
        if (essence(now) !== essence(before)) this.#tracking.allChanged();
      },
      deleted: (cluster) => {
        this.#streams.removeCluster(cluster.metadata.name);
        this.#tracking.allChanged();
      },
    });
    this.#otherWorks.cache.subscribe(this.#tracking.followingOthers(carriedBy));
    const workChanged = (work: KubeObject) => {
      this.#own.tell(work);
      this.#tracking.rivalsChanged(work, carriedBy(work));
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
      if (!ref) return;
      this.#tracking.objectChanged(ref);
      for (const hold of this.#policies.cache.byIndex("holds", refKey(ref))) {
        if (isDivisionHold(hold)) this.#tracking.ownChanged(markOf(hold));
      }
    };
    const bindingUpdated = (binding: KubeObject, previous: KubeObject) => {
      if (!isStatusOnly(binding, previous) || scheduleText(binding) !== scheduleText(previous)) bindingChanged(binding);
    };
    this.#bindings.cache.subscribe({ added: bindingChanged, updated: bindingUpdated, deleted: bindingChanged });
    const policyChanged = (policy: KubeObject) => {
      // A hold affects only its own application; any other policy may affect all.
      if (isHold(policy)) this.#tracking.ownChanged(markOf(policy));
      else {
        this.#foreignPolicies = undefined;
        this.#tracking.allChanged();
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
    await Promise.all([...running, this.#accesses?.run(signal), this.#watchman?.run(signal)]);
    await this.#streams.stopped();
    await this.#accesses?.close();
  }

  synced(): boolean {
    return this.#hubReflectors().every(({ cache }) => cache.hasSynced);
  }

  get streamCount(): number {
    return this.#streams.count;
  }

  track(app: EngineOwner, changed: Tracked["changed"]): void {
    this.#tracking.track(app, changed);
  }

  untrack(app: EngineOwner): void {
    this.#tracking.untrack(app);
  }

  clusters(): readonly EngineCluster[] {
    return this.#clusters.cache.list().map(readCluster);
  }

  schedule(app: EngineOwner): EngineSchedule {
    if (app.kind !== undefined)
      return { kind: "unknown", message: `Karmada schedules no ${app.kind}; name its clusters` };
    return readSchedule(this.#binding(app.template), app.template);
  }

  divide(
    owner: EngineBundle,
    requests: readonly DivisionRequest[],
    beforeWriting: () => Promise<void>,
  ): Promise<Divisions> {
    return this.#divider.divide(owner, requests, beforeWriting);
  }

  /** Karmada finds the path of an object in a member by the kinds of its own API server. */
  needsHubKinds(): boolean {
    return true;
  }

  settings({ template }: EngineApp): readonly EngineSetting[] {
    return [
      ...fightingSettings(this.#binding(template), template, this.#clusters.cache.list()),
      ...(this.#watchman ? fightingControllers(this.#watchman.others, template) : []),
    ];
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
    if (rivals.length > 0) await this.#rivals.takeOverAfter(app, rivals);
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

  delivers(mark: string, cluster: string, ref: ObjectRef): boolean {
    return this.#own.delivers(mark, cluster, ref);
  }

  dispatched(app: EngineOwner): readonly Dispatched[] {
    return this.#dispatches.of(app);
  }

  readDispatched(app: EngineOwner): Promise<readonly Dispatched[]> {
    return this.#dispatches.readAll(app, this.#clusterNames());
  }

  stamp(app: EngineOwner, term: number, clusters = this.#clusterNames()): Promise<readonly Dispatched[]> {
    return this.#dispatches.stamp(app, term, clusters);
  }

  reserve(app: EngineOwner, refs: readonly ObjectRef[], claim: Claim): Promise<readonly Dispatched[]> {
    return this.#dispatches.reserve(app, refs, claim);
  }

  async dispatch(app: EngineOwner, order: DispatchOrder): Promise<Dispatched> {
    const work = await this.#dispatches.write(app, order, async () => {
      if (isTemplateOf(app, refOf(order.manifest))) {
        await this.#rivals.refuse(app, order, bindingId(this.#binding(app.template)));
      }
      return (previous) => workFor(app, order, previous);
    });
    return this.#dispatches.written(order, work);
  }

  withdraw(app: EngineOwner, dispatched: Dispatched, what: "keep" | "remove"): Promise<boolean> {
    return this.#endings.withdraw(app, dispatched, what);
  }

  async adopt(app: EngineApp, cluster: string): Promise<void> {
    const id = bindingId(this.#binding(app.template));
    const works = id === undefined ? [] : await this.#foreign.rendered(id, executionNamespace(cluster));
    for (const work of works) await this.#foreign.end(work);
    this.#foreign.forget(app.template);
  }

  snapshot(owner: EngineOwner, cluster: string, ref: ObjectRef = mainObject(owner)): Snapshot {
    const atMs = this.#clock.now();
    return liveSnapshot(this.#streams, { owner, cluster, ref, atMs }, (state) =>
      this.#reflected(owner, cluster, ref, state, atMs),
    );
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

  #binding(template: ObjectRef): KubeObject | undefined {
    return this.#bindings.cache.byIndex("template", refKey(template))[0];
  }

  /** Whether the Work's status replaces a workload that cannot be read directly. */
  #isReadFrom(work: KubeObject): boolean {
    const owner = this.#tracking.ownerOf(work);
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

  #hubReflectors(): Reflector<KubeObject>[] {
    return [this.#clusters, this.#works, this.#otherWorks, this.#bindings, this.#policies, this.#clusterPolicies];
  }
}

function bindingId(binding: KubeObject | undefined): string | undefined {
  return binding?.metadata.labels?.[BINDING_ID];
}

/** A hold of a bundle's: of a copy by which Karmada divides replicas. */
function isDivisionHold(policy: KubeObject): boolean {
  return isHold(policy) && policy.metadata.annotations?.[MARKS.appKind] !== undefined;
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
