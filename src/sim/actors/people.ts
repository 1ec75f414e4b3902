import type { KubeObject } from "../../apiserver/index.ts";
import { isJsonObject, type JsonObject, timestamp } from "../../runtime/index.ts";
import { HubRefused, write } from "../lean/hub.ts";
import { imageIn, topologyOf, withImage } from "../seed/app.ts";
import type { Scenario } from "../seed/scenario.ts";
import type { Dispatching } from "../world/dispatching.ts";
import type { HubDoor } from "../world/ground.ts";
import type { World } from "../world/world.ts";

const CCS_API = "/apis/apps.karmada.io/v1alpha1";
const OWN_APP_LABEL = "lockstep.karmada.io/app";
/** About how often a user looks at the object. */
const LOOKS_EVERY_MS = 12_000;

/** Listeners for what users do. */
export interface PeopleTold {
  /** Where instances should be. */
  placed(replicas: ReadonlyMap<string, number>): void;
  /** They changed something: from now on, instances may move. */
  acted(): void;
  /** They run the application without Lockstep; false: creating its template is enough. */
  ranByHand(): boolean;
  /** They delete an instance that never became ready, where Lockstep cannot. */
  deleteBroken(): void;
  /** They delete an instance of an old revision, if nothing else would ever restart it. */
  deleteOld(): void;
}

/** The users who edit, scale, pause, undo and delete; and, at the end, the user who does what needs a user. */
export class People {
  readonly #world: World;
  readonly #server: HubDoor;
  readonly #scenario: Scenario;
  readonly #replicas: Map<string, number>;
  readonly #drains = new Set<string>();
  /** Clusters that a user gave up, and when. */
  readonly #lost = new Map<string, string>();
  readonly #dispatching: Dispatching;
  readonly #told: PeopleTold;
  #image: string;
  #hasTemplate = false;
  #hasObject = false;
  #approvals = 0;
  #edits = 0;
  /** What they want to do and cannot, because the hub is unreachable. */
  #waiting: (() => void)[] | undefined;
  object: KubeObject | undefined;
  isDeleted = false;

  constructor(world: World, server: HubDoor, scenario: Scenario, dispatching: Dispatching, told: PeopleTold) {
    this.#world = world;
    this.#dispatching = dispatching;
    this.#server = server;
    this.#scenario = scenario;
    this.#image = imageIn(scenario.template);
    this.#replicas = new Map(Object.entries(scenario.replicas));
    this.#told = told;
    server.onCommit(({ type, key, object }) => {
      if (key.resource !== "apps.karmada.io/crossclusterstatefulsets") return;
      this.object = type === "DELETED" ? undefined : object;
    });
  }

  get confirmedDrain(): ReadonlySet<string> {
    return this.#drains;
  }

  get confirmedLost(): ReadonlyMap<string, string> {
    return this.#lost;
  }

  /** The object exists, or existed: from then on, every movement is caused by Lockstep. */
  get hasObject(): boolean {
    return this.#hasObject;
  }

  get replicas(): ReadonlyMap<string, number> {
    return this.#replicas;
  }

  get image(): string {
    return this.#image;
  }

  get status(): JsonObject {
    return isJsonObject(this.object?.status) ? this.object.status : {};
  }

  /** The object before its template, so that nothing is dispatched before the hold. */
  create(): void {
    this.#hasObject = true;
    const { namespace, adoption, explicit } = this.#scenario;
    const [first = "", count = 0] = [...this.#replicas][0] ?? [];
    // A user who takes over a running application may want something else at once.
    if (adoption?.differs && explicit) this.#replicas.set(first, count + 1);
    const isNamed = explicit && !this.#scenario.ocm?.placed;
    const topology = isNamed && { topology: topologyOf(Object.fromEntries(this.#replicas)) };
    const spec = { ...this.#scenario.spec, ...topology };
    const metadata = { name: this.#scenario.workload.name, namespace };
    const object = { apiVersion: "apps.karmada.io/v1alpha1", kind: "CrossClusterStatefulset", metadata, spec };
    this.#send("creates the CrossClusterStatefulset", "POST", this.#collection, object);
  }

  createTemplate(): void {
    this.#hasTemplate = true;
    const { template } = this.#scenario;
    if (this.#told.ranByHand()) return;
    this.#send("creates the template", "POST", this.#templates, template);
  }

  edit(image: string): void {
    if (this.#isInline) {
      if (!this.object || this.isDeleted) return;
      this.#image = image;
      this.#spec(`edits the template: ${image}`, { template: { spec: withImage(this.#scenario.template, image) } });
      return;
    }
    if (!this.#hasTemplate) return;
    this.#image = image;
    const path = `${this.#templates}/${this.#scenario.workload.name}`;
    const spec = withImage(this.#scenario.template, image);
    if (!this.#scenario.explicit) spec.replicas = this.#total;
    this.#send(`edits the template: ${image}`, "PATCH", path, { spec });
  }

  scale(cluster: string, by: number): void {
    const before = this.#replicas.get(cluster) ?? 0;
    const others = [...this.#replicas.values()].reduce((sum, count) => sum + count, 0) - before;
    this.#resize(cluster, Math.max(others > 0 ? 0 : 1, before + by));
  }

  drain(cluster: string): void {
    const others = [...this.#replicas.entries()].some(([name, count]) => name !== cluster && count > 0);
    if (others) this.#resize(cluster, 0);
  }

  /** The cluster no longer counts: what only it had is wanted elsewhere. */
  giveUp(cluster: string): void {
    const rest = [...this.#replicas].filter(([name]) => name !== cluster && !this.#lost.has(name));
    const [elsewhere] = rest;
    if (elsewhere && rest.every(([, count]) => count === 0)) {
      this.#resize(elsewhere[0], this.#replicas.get(cluster) ?? 1);
    }
    this.drain(cluster);
  }

  /** A user who has checked confirms that the cluster will not return. */
  confirmLost(cluster: string): void {
    this.#lost.set(cluster, this.#now());
    const confirmedLost = [...this.#lost].map(([name, at]) => ({ name, at }));
    if (!this.object) return;
    // Also during a teardown, which cannot continue without it.
    this.#send(`confirms that ${cluster} is lost`, "PATCH", this.#path, { spec: { failover: { confirmedLost } } });
  }

  setPaused(paused: boolean): void {
    if (!this.#isRolling) return;
    const body = { updateStrategy: { rollingUpdate: { paused } } };
    this.#spec(paused ? "pauses the rollout" : "lets the rollout continue", body);
  }

  restart(): void {
    this.#spec("restarts every instance", { restartedAt: this.#now() });
  }

  /** To the newest revision that is not the one being rolled out. */
  undo(): void {
    const history = Array.isArray(this.status.history) ? this.status.history.filter(isJsonObject) : [];
    const earlier = history.map(({ revision }) => revision).find((revision) => revision !== this.status.updateRevision);
    if (typeof earlier === "string") this.#spec("undoes", { undo: { to: earlier, at: this.#now() } });
  }

  /**
   * Removes the protection of what Lockstep dispatched to a cluster, and deletes it. Returns whether there was
   * something.
   */
  deleteWorks(cluster: string, all: boolean): boolean {
    const { works: kind, worksPath, clusterOf, unprotected } = this.#dispatching;
    const ofWorkload = `-${this.#scenario.workload.kind.toLowerCase()}-`;
    const works = this.#server.snapshot().objects.filter(({ resource, object }) => {
      const { metadata } = object;
      if (resource !== kind || clusterOf(object) !== cluster) return false;
      return metadata.labels?.[OWN_APP_LABEL] !== undefined && (all || metadata.name.includes(ofWorkload));
    });
    for (const { object } of works) {
      const path = `${worksPath(cluster)}/${object.metadata.name}`;
      if (unprotected)
        this.#send(`removes the protection of ${object.metadata.name} for ${cluster}`, "PATCH", path, unprotected);
      this.#send(`deletes ${object.metadata.name} for ${cluster}`, "DELETE", path);
    }
    return works.length > 0;
  }

  delete(): void {
    if (this.isDeleted) return;
    this.isDeleted = true;
    this.#send("deletes the CrossClusterStatefulset", "DELETE", this.#path);
  }

  /** From now on a user follows its runbooks. */
  lookAfter(): void {
    const { rollingUpdate } = (this.#scenario.spec.updateStrategy ?? {}) as { rollingUpdate?: JsonObject };
    if (rollingUpdate?.partition !== undefined) {
      this.#spec("removes the partition", { updateStrategy: { rollingUpdate: { partition: 0 } } });
    }
    this.setPaused(false);
    const isUndone = isJsonObject(this.object?.spec) && this.object.spec.undo !== undefined;
    if (isUndone || this.#image.includes("broken") || this.status.rejectedRevision !== undefined)
      this.edit("app:final");
    const look = () => {
      this.#look();
      this.#world.after(LOOKS_EVERY_MS, "a user looks", look);
    };
    this.#world.after(LOOKS_EVERY_MS, "a user looks", look);
  }

  #look(): void {
    if (!this.object || this.isDeleted) return;
    const { reason, phase, clusters, updateRevision, rejectedRevision } = this.status;
    const rows = Array.isArray(clusters) ? clusters.filter(isJsonObject) : [];
    const reasons = new Set([reason, ...rows.map((row) => row.reason)]);
    // "Watch the pods in this cluster": one that never becomes ready holds the others back.
    if (phase === "Halted" || reasons.has("WaitingForUpdated")) this.#told.deleteBroken();
    if (phase === "Halted") {
      this.#spec("resumes", { resumedAt: this.#now() });
    }
    if (rejectedRevision !== undefined && !this.#image.startsWith("app:final")) this.edit("app:final");
    // What was undone stays undone until the template changes.
    else if (reasons.has("RevisionRejected")) this.edit(`app:final${++this.#edits}`);
    if (reasons.has("AwaitingApproval") && typeof updateRevision === "string") {
      const rollout = isJsonObject(this.status.rollout) ? this.status.rollout : {};
      this.#approve(updateRevision, typeof rollout.wave === "number" ? rollout.wave : 1);
    }
    const returned = rows
      .filter((row) => row.reason === "ReturnedNotScheduled" || row.reason === "ReturnedAfterReplacement")
      .map((row) => String(row.name));
    const isNews = returned.some((name) => !this.#drains.has(name));
    for (const name of returned) this.#drains.add(name);
    // A user does not wait for a cluster that has left the fleet.
    const awaited = rows.filter((row) => row.reason === "ClusterNotReady" || row.reason === "ClusterLost");
    for (const row of awaited) if (isGone(row)) this.giveUp(String(row.name));
    if (isNews)
      this.#spec("allows the drain of the returned cluster", { failover: { confirmedDrain: [...this.#drains] } });
    if (!this.#isRolling) this.#told.deleteOld();
  }

  get #isInline(): boolean {
    return this.#scenario.spec.template !== undefined;
  }

  get #isRolling(): boolean {
    const { updateStrategy } = this.#scenario.spec;
    return !isJsonObject(updateStrategy) || updateStrategy.type !== "OnDelete";
  }

  #approve(revision: string, wave: number): void {
    const name = `approval-${++this.#approvals}`;
    const path = `${CCS_API}/namespaces/${this.#scenario.namespace}/rolloutapprovals`;
    this.#send(`approves ${revision} after wave ${wave}`, "POST", path, {
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "RolloutApproval",
      metadata: { name, namespace: this.#scenario.namespace },
      spec: { name: this.#scenario.workload.name, revision, wave },
    });
  }

  #resize(cluster: string, count: number): void {
    const before = this.#replicas.get(cluster);
    if (before === count) return;
    this.#replicas.set(cluster, count);
    const what = `scales ${cluster} from ${before} to ${count}`;
    if (this.#scenario.explicit) {
      this.#spec(what, { topology: topologyOf(Object.fromEntries(this.#replicas)) });
      this.#told.placed(this.#replicas);
      return;
    }
    this.#told.placed(this.#replicas);
    const path = `${this.#templates}/${this.#scenario.workload.name}`;
    this.#send(what, "PATCH", path, { spec: { replicas: this.#total } });
  }

  get #total(): number {
    return [...this.#replicas.values()].reduce((sum, each) => sum + each, 0);
  }

  get #collection(): string {
    return `${CCS_API}/namespaces/${this.#scenario.namespace}/crossclusterstatefulsets`;
  }

  get #path(): string {
    return `${this.#collection}/${this.#scenario.workload.name}`;
  }

  get #templates(): string {
    const { apiVersion, plural } = this.#scenario.workload;
    return `/apis/${apiVersion}/namespaces/${this.#scenario.namespace}/${plural}`;
  }

  #spec(what: string, spec: JsonObject): void {
    if (this.object && !this.isDeleted) this.#send(what, "PATCH", this.#path, { spec });
  }

  /** The hub is unreachable; afterwards users do what they wanted to do meanwhile, in that order. */
  hubDown(isDown: boolean): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = isDown ? [] : undefined;
    for (const act of isDown ? [] : waiting) act();
  }

  #send(what: string, method: "POST" | "PATCH" | "DELETE", path: string, body?: JsonObject): void {
    if (this.#waiting) {
      this.#waiting.push(() => this.#send(what, method, path, body));
      return;
    }
    this.#world.note("USER", what);
    if (method !== "POST") this.#told.acted();
    write(this.#server, method, path, body).catch((error: unknown) => {
      if (!(error instanceof HubRefused)) throw error;
      this.#world.note("USER", "was refused", () => error.message);
      if (error.status === 422) this.#world.violated("users ask for what is possible", error.message);
    });
  }

  #now(): string {
    return timestamp(this.#world.startWallMs + this.#world.nowMs);
  }
}

/** The evidence for the wait shows that the fleet does not have the cluster. */
function isGone({ evidence }: JsonObject): boolean {
  return Array.isArray(evidence) && evidence.some((each) => isJsonObject(each) && each.value === "Gone");
}
