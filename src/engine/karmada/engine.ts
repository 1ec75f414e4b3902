import { setMaxListeners } from "node:events";
import {
  AlreadyExistsError,
  ConflictError,
  type KubeClient,
  type KubeObject,
  NotFoundError,
  Reflector,
  type Resource,
} from "../../kube/index.ts";
import { type Clock, isJsonObject, type Log, type Random, silentLog } from "../../runtime/index.ts";
import { DispatchConflictError, SupersededError } from "../errors.ts";
import type {
  Claim,
  Dispatched,
  DispatchOrder,
  Engine,
  EngineApp,
  EngineCluster,
  EngineSchedule,
  HoldState,
  MemberAccess,
  News,
  ObjectRef,
  Snapshot,
} from "../port.ts";
import {
  holdName,
  holdPolicy,
  isHold,
  isHolding,
  readCluster,
  readSchedule,
  templateOfBinding,
  unsafeSetting,
} from "./hub.ts";
import { KarmadaMember } from "./member.ts";
import { OwnWorks, SWAP_ATTEMPTS } from "./own-works.ts";
import {
  CLUSTER_OVERRIDE_POLICIES,
  CLUSTERS,
  clusterOfNamespace,
  executionNamespace,
  MARKS,
  OVERRIDE_POLICIES,
  PROTECTION,
  RESOURCE_BINDINGS,
  WORKS,
} from "./resources.ts";
import { kindId, MemberStreams, ownerIndexValue, PODS } from "./streams.ts";
import {
  deliveryFailure,
  freeingPatch,
  isStatusOnly,
  manifestOf,
  outlineOf,
  readWork,
  reflectedStatus,
  refOf,
  termOf,
  uidPrecondition,
  versionOf,
  wholeManifestOf,
  workFor,
  workName,
} from "./works.ts";

export interface KarmadaEngineOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
}

interface Tracked {
  readonly app: EngineApp;
  readonly changed: (news: News) => void;
}

const FIELD_MANAGER = "lockstep";
/** Karmada's own mark, on a binding and on each Work it rendered for it. */
const BINDING_ID = "resourcebinding.karmada.io/permanent-id";

/** Karmada by hold and own Works: it schedules, Lockstep renders and dispatches, Karmada delivers. */
export class KarmadaEngine implements Engine {
  readonly #hub: KubeClient;
  readonly #clock: Clock;
  readonly #log: Log;
  readonly #streams: MemberStreams;
  readonly #clusters: Reflector<KubeObject>;
  readonly #works: Reflector<KubeObject>;
  readonly #own: OwnWorks;
  readonly #bindings: Reflector<KubeObject>;
  readonly #policies: Reflector<KubeObject>;
  readonly #clusterPolicies: Reflector<KubeObject>;
  /** By application, and by the template it manages: one application manages one template. */
  readonly #byApp = new Map<string, Tracked>();
  readonly #byTemplate = new Map<string, Tracked>();
  /** Templates whose rendered Works were looked for, with what the answer rests on. */
  readonly #adoptionChecked = new Map<string, { restsOn: string; clusters: readonly string[] }>();

  readonly #readWorksByObject = new WeakMap<KubeObject, Dispatched>();
  /** The policies of others, until one of them changes: holds are as many as applications. */
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
      indexes: { app: (work) => labelValues(work, MARKS.app) },
      transform: outlineOf,
    });
    this.#own = new OwnWorks({
      hub,
      cache: this.#works.cache,
      changed: (mark) => this.#byApp.get(mark)?.changed("own"),
    });
    this.#bindings = reflect(RESOURCE_BINDINGS, {
      transform: withoutAggregatedStatus,
      indexes: { template: (binding) => [templateOfBinding(binding)].flatMap((ref) => (ref ? [refKey(ref)] : [])) },
    });
    this.#policies = reflect(OVERRIDE_POLICIES);
    this.#clusterPolicies = reflect(CLUSTER_OVERRIDE_POLICIES);
    this.#streams = new MemberStreams({
      hub,
      clock,
      random,
      log,
      changed: (_cluster, ref) => (ref ? this.#byTemplate.get(refKey(ref))?.changed("own") : this.#allChanged()),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    // Every stream listens to it: as many as there are clusters and kinds, which is meant and not a leak.
    setMaxListeners(0, signal);
    this.#streams.start(signal);
    this.#clusters.cache.subscribe({
      added: (cluster) => {
        this.#streams.addCluster(cluster.metadata.name);
        this.#allChanged();
      },
      updated: (cluster, previous) => {
        const [now, before] = [readCluster(cluster), readCluster(previous)];
        // A watch may have stood still while the cluster was away, and go on standing for minutes.
        if (now.state === "Ready" && (before.state !== "Ready" || before.sinceMs !== now.sinceMs)) {
          this.#streams.listAnew(now.name, `cluster ${now.name} is back; what it holds is being listed anew`);
        }
        // Karmada writes a heartbeat every few seconds; only what the planner reads is a change.
        if (JSON.stringify(now) !== JSON.stringify(before)) this.#allChanged();
      },
      deleted: (cluster) => {
        this.#streams.removeCluster(cluster.metadata.name);
        this.#allChanged();
      },
    });
    const workChanged = (work: KubeObject) => this.#own.tell(work);
    const workUpdated = (work: KubeObject, previous: KubeObject) => {
      // Karmada writes a Work's status all the time; it is read only where the member itself cannot be, or refused it.
      const isTold = deliveryFailure(work) !== deliveryFailure(previous);
      if (isTold || !isStatusOnly(work, previous) || this.#isReadFrom(work)) workChanged(work);
    };
    this.#works.cache.subscribe({ added: workChanged, updated: workUpdated, deleted: workChanged });
    const bindingChanged = (binding: KubeObject) => {
      const ref = templateOfBinding(binding);
      if (ref) this.#byTemplate.get(refKey(ref))?.changed("own");
    };
    const bindingUpdated = (binding: KubeObject, previous: KubeObject) => {
      if (!isStatusOnly(binding, previous) || scheduleText(binding) !== scheduleText(previous)) bindingChanged(binding);
    };
    this.#bindings.cache.subscribe({ added: bindingChanged, updated: bindingUpdated, deleted: bindingChanged });
    const policyChanged = (policy: KubeObject) => {
      // A hold concerns its own application only; anybody's policy may concern all.
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
    await Promise.all(this.#hubReflectors().map((reflector) => reflector.run(signal)));
    await this.#streams.stopped();
  }

  synced(): boolean {
    return this.#hubReflectors().every(({ cache }) => cache.hasSynced);
  }

  get streamCount(): number {
    return this.#streams.count;
  }

  track(app: EngineApp, changed: Tracked["changed"]): void {
    const tracked = { app, changed };
    const mark = this.#own.mark(app);
    const previous = this.#byApp.get(mark);
    if (previous) this.untrack(previous.app);
    this.#byApp.set(mark, tracked);
    this.#byTemplate.set(refKey(app.template), tracked);
    this.#streams.wantKind(app.template.apiVersion, app.template.kind);
    if (app.template.kind === "StatefulSet") this.#streams.wantKind(PODS.apiVersion, PODS.kind);
  }

  untrack(app: EngineApp): void {
    const tracked = this.#byApp.get(this.#own.mark(app));
    if (!tracked) return;
    const { template } = tracked.app;
    this.#byApp.delete(this.#own.mark(app));
    this.#byTemplate.delete(refKey(template));
    this.#streams.unwantKind(template.apiVersion, template.kind);
    if (template.kind === "StatefulSet") this.#streams.unwantKind(PODS.apiVersion, PODS.kind);
  }

  clusters(): readonly EngineCluster[] {
    return this.#clusters.cache.list().map(readCluster);
  }

  schedule(app: EngineApp): EngineSchedule {
    return readSchedule(this.#binding(app.template), app.template);
  }

  overridePolicies(): readonly KubeObject[] {
    this.#foreignPolicies ??= [...this.#clusterPolicies.cache.list(), ...this.#policies.cache.list()].filter(
      (policy) => !isHold(policy),
    );
    return this.#foreignPolicies;
  }

  async hold(app: EngineApp, beforeWriting?: () => Promise<void>): Promise<HoldState> {
    if (!isHolding(this.#policies.cache.get(holdName(app, this.#own.mark(app))), app)) {
      await beforeWriting?.();
      const options = { fieldManager: FIELD_MANAGER, force: true };
      this.#policies.cache.wrote(await this.#hub.apply(OVERRIDE_POLICIES, holdPolicy(app), options));
    }
    const binding = this.#binding(app.template);
    const unsafe = unsafeSetting(binding);
    if (unsafe) return { kind: "unsafe", ...unsafe };
    const rendered = await this.#renderedByKarmada(app, binding);
    return rendered.length > 0 ? { kind: "adopting", clusters: rendered } : { kind: "held" };
  }

  async unhold(app: EngineApp): Promise<"gone" | "kept"> {
    const found = await this.#hub.find(OVERRIDE_POLICIES, holdName(app, this.#own.mark(app)));
    if (!found) return "gone";
    const freed = withoutProtection(found);
    const written = isProtected(found) ? await this.#hub.update(OVERRIDE_POLICIES, freed) : found;
    this.#policies.cache.wrote(written);
    // Without the hold Karmada would render the template as it stands now, to all clusters at once.
    if (this.#binding(app.template)) return "kept";
    await this.#hub.delete(OVERRIDE_POLICIES, written.metadata, uidPrecondition(written));
    return "gone";
  }

  dispatched(app: EngineApp): readonly Dispatched[] {
    return this.#own.of(app).flatMap((work) => this.#read(work) ?? []);
  }

  async readDispatched(app: EngineApp): Promise<readonly Dispatched[]> {
    return readAll(await this.#own.read(app, this.#clusterNames()));
  }

  async stamp(app: EngineApp, term: number, clusters = this.#clusterNames()): Promise<readonly Dispatched[]> {
    return readAll(await this.#own.stamp(app, term, clusters));
  }

  async reserve(app: EngineApp, refs: readonly ObjectRef[], claim: Claim): Promise<readonly Dispatched[]> {
    const reserved = await Promise.all(refs.map((ref) => this.#own.reserve(app, ref, claim)));
    return readAll(reserved.flatMap((work) => work ?? []));
  }

  async dispatch(app: EngineApp, order: DispatchOrder): Promise<Dispatched> {
    const { expected, cluster, term } = order;
    const what = `the Work of ${order.manifest.kind} ${order.manifest.metadata.name}`;
    if (expected && expected.term > term) throw new SupersededError(what, term, expected.term);
    const name = { namespace: executionNamespace(cluster), name: workName(app, refOf(order.manifest)) };
    let previous = expected ? this.#works.cache.get(name) : undefined;
    const isFirst = !expected || expected.manifest.kind === undefined;
    if (isFirst && refKey(refOf(order.manifest)) === refKey(app.template)) await this.#refuseRival(app, order);
    for (let attempt = 0; attempt < SWAP_ATTEMPTS; attempt++) {
      if (previous && termOf(previous) > term) throw new SupersededError(what, term, termOf(previous));
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
        // Most often Karmada has just written its status; then the object is still the one that was expected.
        previous = await this.#hub.find(WORKS, name);
        if (previous) this.#works.cache.wrote(previous);
      }
    }
    throw new DispatchConflictError(cluster, what);
  }

  async withdraw(app: EngineApp, dispatched: Dispatched, what: "keep" | "remove"): Promise<boolean> {
    const written = await this.#freed(app, dispatched, what);
    if (!written) return true;
    return written.metadata.deletionTimestamp === undefined && this.#own.delete(app, written);
  }

  async adopt(app: EngineApp, cluster: string): Promise<void> {
    const works = await this.#karmadaWorks(this.#binding(app.template), executionNamespace(cluster));
    for (const work of works) {
      const body = { spec: { preserveResourcesOnDeletion: true } };
      const kept = await this.#hub.patch(WORKS, work.metadata, { type: "merge", body });
      await this.#hub.delete(WORKS, kept.metadata, uidPrecondition(kept));
    }
    this.#adoptionChecked.delete(refKey(app.template));
  }

  snapshot(app: EngineApp, cluster: string): Snapshot {
    const { template } = app;
    const atMs = this.#clock.now();
    const state = this.#streams.state(cluster, template.apiVersion, template.kind);
    if (state.kind === "broken") return { kind: "unreachable", message: state.message };
    if (state.kind === "never") return this.#reflected(app, cluster, state.message, atMs);
    const object = state.cache.get(template);
    if (!object) return { kind: "absent", atMs };
    if (template.kind !== "StatefulSet") return { kind: "present", object, source: "live", atMs };
    const pods = this.#streams.state(cluster, PODS.apiVersion, PODS.kind);
    if (pods.kind === "live") {
      const own = pods.cache.byIndex("owner", ownerIndexValue(template));
      return { kind: "present", object, source: "live", atMs, pods: own };
    }
    // A StatefulSet's status counts pods that are going away as ready: it is believed alone only where nobody may read them.
    if (pods.isForbidden) return { kind: "present", object, source: "live", atMs };
    return { kind: "unreachable", message: `its pods cannot be read: ${pods.message}` };
  }

  member(cluster: string): MemberAccess {
    return new KarmadaMember(this.#streams.client(cluster), cluster);
  }

  /** Where the proxy cannot reach: the granted manifest with the status that Karmada brought back. */
  #reflected(app: EngineApp, cluster: string, message: string, atMs: number): Snapshot {
    const name = { namespace: executionNamespace(cluster), name: workName(app, app.template) };
    const work = this.#works.cache.get(name);
    const manifest = work && wholeManifestOf(work);
    const status = work && reflectedStatus(work);
    if (!manifest || !status) return { kind: "unreachable", message };
    return { kind: "present", object: { ...manifest, status }, source: "reflected", atMs };
  }

  /**
   * The clusters for which Karmada itself rendered Works of this template, before the hold. Asked again when the hold is
   * another one or the schedule changed, and while an adoption is not finished; `dispatch` looks once more.
   */
  async #renderedByKarmada(app: EngineApp, binding: KubeObject | undefined): Promise<readonly string[]> {
    if (!binding) return [];
    const key = refKey(app.template);
    const hold = this.#policies.cache.get(holdName(app, this.#own.mark(app)));
    const restsOn = `${hold?.metadata.uid}/${binding.metadata.uid}/${binding.metadata.generation}`;
    const checked = this.#adoptionChecked.get(key);
    if (checked?.restsOn === restsOn && checked.clusters.length === 0) return [];
    const works = await this.#karmadaWorks(binding);
    const clusters = works.flatMap((work) => clusterOfNamespace(work.metadata.namespace ?? "") ?? []);
    this.#adoptionChecked.set(key, { restsOn, clusters });
    return clusters;
  }

  /** A Work of Karmada's own for the same object would fight with ours: what it delivers has to be adopted first. */
  async #refuseRival(app: EngineApp, { cluster, takeOver }: DispatchOrder): Promise<void> {
    if (takeOver) return;
    const rivals = await this.#karmadaWorks(this.#binding(app.template), executionNamespace(cluster));
    if (rivals.length === 0) return;
    this.#adoptionChecked.delete(refKey(app.template));
    throw new DispatchConflictError(
      cluster,
      `what Karmada itself dispatched of ${app.template.kind} ${app.template.name}`,
    );
  }

  async #karmadaWorks(binding: KubeObject | undefined, namespace?: string): Promise<KubeObject[]> {
    const id = binding?.metadata.labels?.[BINDING_ID];
    if (id === undefined) return [];
    const works = await this.#hub.listAll(WORKS, { namespace, labelSelector: `${BINDING_ID}=${id}` });
    return works.items.filter((work) => work.metadata.labels?.[MARKS.app] === undefined);
  }

  /** The Work, free to be deleted; undefined when it is gone, as it is when it is being deleted already. */
  async #freed(app: EngineApp, dispatched: Dispatched, what: "keep" | "remove"): Promise<KubeObject | undefined> {
    const name = { namespace: executionNamespace(dispatched.cluster), name: workName(app, dispatched.ref) };
    const ifIt = (work: KubeObject | undefined) => (work?.metadata.uid === dispatched.uid ? work : undefined);
    let work = ifIt(this.#works.cache.get(name)) ?? ifIt(await this.#hub.find(WORKS, name));
    for (let attempt = 0; work && attempt < SWAP_ATTEMPTS; attempt++) {
      if (work.metadata.deletionTimestamp !== undefined) return work;
      if (termOf(work) > dispatched.term) {
        throw new SupersededError(`Work ${work.metadata.name}`, dispatched.term, termOf(work));
      }
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

  /** Once per version of a Work: they are read far more often than they change. */
  #read(work: KubeObject): Dispatched | undefined {
    const known = this.#readWorksByObject.get(work);
    if (known) return known;
    const read = readWork(work);
    if (read) this.#readWorksByObject.set(work, read);
    return read;
  }

  /** Whether the Work's status stands for a workload that cannot be read itself. */
  #isReadFrom(work: KubeObject): boolean {
    const template = this.#byApp.get(work.metadata.labels?.[MARKS.app] ?? "")?.app.template;
    const manifest = manifestOf(work);
    if (!template || !manifest || refKey(refOf(manifest)) !== refKey(template)) return false;
    const cluster = clusterOfNamespace(work.metadata.namespace ?? "") ?? "";
    return this.#streams.state(cluster, template.apiVersion, template.kind).kind === "never";
  }

  #clusterNames(): string[] {
    return this.#clusters.cache.list().map(({ metadata }) => metadata.name);
  }

  #allChanged(): void {
    for (const { changed } of this.#byApp.values()) changed("everybody's");
  }

  #hubReflectors(): Reflector<KubeObject>[] {
    return [this.#clusters, this.#works, this.#bindings, this.#policies, this.#clusterPolicies];
  }
}

function readAll(works: readonly KubeObject[]): Dispatched[] {
  return works.flatMap((work) => readWork(work) ?? []);
}

/** The object is not the one that was read: changed, created or deleted in the meantime. */
function isRefusedSwap(error: unknown): boolean {
  return error instanceof ConflictError || error instanceof AlreadyExistsError || error instanceof NotFoundError;
}

function isProtected(object: KubeObject): boolean {
  return Object.keys(PROTECTION).some((key) => object.metadata.labels?.[key] !== undefined);
}

function withoutProtection(object: KubeObject): KubeObject {
  const labels = Object.fromEntries(
    Object.entries(object.metadata.labels ?? {}).filter(([key]) => !(key in PROTECTION)),
  );
  return { ...object, metadata: { ...object.metadata, labels } };
}

function labelValues(object: KubeObject, label: string): string[] {
  const value = object.metadata.labels?.[label];
  return value === undefined ? [] : [value];
}

/** A binding repeats every cluster's status; only the schedule is read from it. */
function withoutAggregatedStatus(binding: KubeObject): KubeObject {
  if (!isJsonObject(binding.status)) return binding;
  const { aggregatedStatus: _dropped, ...status } = binding.status;
  return { ...binding, status };
}

function scheduleText(binding: KubeObject): string {
  const template = templateOfBinding(binding);
  return template ? JSON.stringify(readSchedule(binding, template)) : "";
}

function refKey(ref: ObjectRef): string {
  return `${kindId(ref.apiVersion, ref.kind)}/${ref.namespace}/${ref.name}`;
}
