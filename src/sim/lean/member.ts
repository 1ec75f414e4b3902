import { statefulSetDefaults } from "../../apiserver/index.ts";
import { ANNOTATIONS } from "../../contract/index.ts";
import { canonicalText, clone, isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { Dice } from "../seed/dice.ts";
import type { GroundMember } from "../world/ground.ts";
import { type Parts, partsAmong, refersTo } from "../world/told.ts";
import type { DownCause, Instance, TrueMember, Witness } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import type { Application } from "./application.ts";
import type { KarmadaMember } from "./karmada.ts";
import { LeanStore, type StoredObject } from "./store.ts";

/** How the workload's own controller behaves. */
export interface Operator {
  /** Acts only on its turn: a forged turn makes it act. */
  readonly heedsTurns: boolean;
  /** One read of the object and the instances; its next action follows from that. */
  sync(member: LeanMember, workload: StoredObject | undefined): void;
}

export interface MemberTimes {
  readonly startMs: readonly [number, number];
  readonly stopMs: readonly [number, number];
  readonly syncMs: readonly [number, number];
}

export interface LeanMemberOptions {
  readonly world: World;
  readonly name: string;
  readonly workload: { readonly kind: string; readonly plural: string; readonly name: string };
  readonly operator: Operator;
  readonly times: MemberTimes;
  readonly witness: Witness;
  /** Shared with other workloads of the same member; by default its own. */
  readonly store?: LeanStore;
  readonly application: Application;
  /** The leader has changed. */
  readonly news: () => void;
  /** Its operator reports the application's own members, in the leader's cluster. */
  readonly listsMembers: boolean;
  /** Its leading pod has the label that shows it. */
  readonly labelsLeader: boolean;
}

/** An object as a writer wants it to be; the API server adds the rest. */
export interface Replacement extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: JsonObject & {
    readonly name: string;
    readonly namespace: string;
    readonly labels: Record<string, string>;
    readonly annotations: Record<string, string>;
  };
}

/** On the leading pod, if pods show the leader. */
export const LEADER_LABEL = { key: "role", value: "leader" } as const;

/** On everything that Karmada has put there, until Karmada releases it. */
const MANAGED = "karmada.io/managed";
/** A revision with this in its name never becomes ready. */
const BROKEN = "broken";
const OPERATOR_PACE_MS = 5;
/** How long a custom operator takes from reading an object to acting on what it read. */
const THINKING_MS: readonly [number, number] = [10, 400];

/** A minimal member cluster: one workload, its instances, and a controller that moves them. */
export class LeanMember implements GroundMember, KarmadaMember {
  readonly name: string;
  readonly store: LeanStore;
  readonly instances = new Map<number, Instance>();
  readonly dice: Dice;
  readonly world: World;
  reachable = true;
  /**
   * Stays true until it has everything that its object requires, because its actions may be visible long afterwards.
   */
  dishonest = false;
  misbehaves = false;
  stalled = false;
  /** What the StatefulSet controller keeps in ControllerRevisions. */
  currentRevision: string | undefined;
  readonly #options: LeanMemberOptions;
  readonly #uids: Dice;
  #syncing = false;
  #again = false;
  #members: { members: string[]; membersAt: string } | undefined;
  #labelled: number | undefined;

  constructor(options: LeanMemberOptions) {
    this.#options = options;
    this.world = options.world;
    this.name = options.name;
    this.dice = options.world.dice.branch(`member ${options.name}`);
    this.#uids = this.dice.branch("uids");
    this.store = options.store ?? new LeanStore();
    this.store.onPodDeleted(({ metadata }) => this.#podDeleted(metadata.name));
  }

  get workload(): StoredObject | undefined {
    const { plural, name } = this.#options.workload;
    return this.store.get(plural, name);
  }

  get live(): TrueMember["live"] {
    const { workload } = this;
    if (!workload) return undefined;
    const spec = isJsonObject(workload.spec) ? workload.spec : {};
    const epoch = Number(workload.metadata.annotations[ANNOTATIONS.epoch] ?? -1);
    const { generation } = workload.metadata;
    return { epoch, replicas: typeof spec.replicas === "number" ? spec.replicas : 0, generation };
  }

  get parts(): Parts {
    return partsAmong(this.store.list("configmaps"));
  }

  get refersTo(): readonly string[] {
    return refersTo(this.workload?.metadata.annotations ?? {});
  }

  /** As the contract requires: the leading instance's name in its cluster, "" in the others. */
  get reportedLeader(): string | undefined {
    const { leader } = this.#options.application;
    if (!leader) return undefined;
    return leader.cluster === this.name ? this.podName(leader.ordinal) : "";
  }

  /** As the contract requires: reported in the leader's cluster, with the time of the list's last change. */
  get reportedMembers(): { members: string[]; membersAt: string } | undefined {
    const { application, listsMembers } = this.#options;
    if (!listsMembers || application.leader?.cluster !== this.name) return undefined;
    const members = application.members.map(({ ordinal }) => this.podName(ordinal));
    if (JSON.stringify(members) !== JSON.stringify(this.#members?.members)) {
      const membersAt = new Date(this.world.startWallMs + this.world.nowMs).toISOString();
      this.#members = { members, membersAt };
    }
    return this.#members;
  }

  /** The operator asks the application to make the instance of that name the leader. */
  transferLeaderTo(name: string): void {
    const { application } = this.#options;
    const to = application.members.find(({ ordinal }) => this.podName(ordinal) === name);
    if (application.leader?.cluster !== this.name || !to || !application.transferTo(to)) return;
    this.world.note(this.name, `requests the leader in ${to.cluster}`);
    this.#options.witness.leaderMoved(this);
  }

  /** The operator removes instances from the application that are gone and no longer wanted here. */
  dismissAllBut(wanted: readonly number[]): void {
    const { application, news } = this.#options;
    if (application.dismiss(this.name, (ordinal) => !wanted.includes(ordinal) && !this.instances.has(ordinal))) news();
  }

  /** Pods that show the leader do so a moment after it has changed. */
  labelLeader(): void {
    const { application, labelsLeader } = this.#options;
    if (!labelsLeader) return;
    const { leader } = application;
    const here = leader?.cluster === this.name ? leader.ordinal : undefined;
    if (here === this.#labelled) return;
    const before = this.instances.get(this.#labelled ?? -1);
    this.#labelled = here;
    const now = this.instances.get(here ?? -1);
    for (const each of [before, now]) if (each && each.state !== "terminating") this.#publish(each);
  }

  get showsPods(): boolean {
    return this.#options.workload.kind === "StatefulSet";
  }

  /** Karmada's execution controller applies a manifest. False: it refuses to take over an unknown object. */
  apply(manifest: StoredObject): boolean {
    const plural = pluralOf(manifest.kind, this.#options.workload);
    const before = this.store.get(plural, manifest.metadata.name);
    const { labels = {}, annotations = {}, name, namespace = "" } = manifest.metadata;
    const takesOver = annotations["work.karmada.io/conflict-resolution"] === "overwrite";
    if (before && before.metadata.labels[MANAGED] !== "true" && !takesOver) return false;
    const { metadata: _metadata, status: _status, ...content } = manifest;
    this.replace({
      ...content,
      metadata: {
        name,
        namespace,
        labels: { ...before?.metadata.labels, ...labels },
        annotations: { ...before?.metadata.annotations, ...annotations },
      },
    });
    this.#options.witness.applied(this, manifest.kind, name, content.spec);
    return true;
  }

  /** Stores the object with exactly these labels, annotations and owners; its uid and its status stay. */
  replace({ metadata, ...content }: Replacement): void {
    const plural = pluralOf(content.kind, this.#options.workload);
    const before = this.store.get(plural, metadata.name);
    const spec = content.kind === "StatefulSet" ? withDefaults({ ...content, metadata }).spec : content.spec;
    const sameSpec = before !== undefined && canonicalText(before.spec) === canonicalText(spec);
    this.store.put(plural, {
      ...content,
      spec,
      ...(before?.status !== undefined && { status: before.status }),
      metadata: {
        ...metadata,
        uid: before?.metadata.uid ?? this.#uids.random.uuid(),
        generation: before ? before.metadata.generation + (sameSpec ? 0 : 1) : 1,
      },
    });
    if (plural === this.#options.workload.plural) this.wake();
  }

  pluralOf(kind: string): string {
    return pluralOf(kind, this.#options.workload);
  }

  /** An agent has written something that a grant says, not only its own mark. */
  noteApplied(kind: string, name: string, spec: unknown): void {
    this.#options.witness.applied(this, kind, name, spec);
  }

  /** The object is deleted in the member, together with its instances. */
  remove(kind: string, name: string): void {
    const plural = pluralOf(kind, this.#options.workload);
    if (!this.store.get(plural, name)) return;
    this.store.remove(plural, name);
    this.#options.witness.deleted(this, kind, name);
    if (plural !== this.#options.workload.plural) return;
    for (const { ordinal } of [...this.instances.values()]) this.stop(ordinal, "removal");
  }

  /** Whether the object exists: Karmada cannot end a Work that keeps its object before it has seen it. */
  release(kind: string, name: string): boolean {
    const plural = pluralOf(kind, this.#options.workload);
    const object = this.store.get(plural, name);
    if (!object) return false;
    const { [MANAGED]: _gone, ...labels } = object.metadata.labels;
    this.store.put(plural, { ...object, metadata: { ...object.metadata, labels } });
    return true;
  }

  /** A client changes the live object directly. */
  edit(change: (object: StoredObject) => StoredObject): void {
    const { workload } = this;
    if (!workload) return;
    this.store.put(this.#options.workload.plural, change(workload));
    this.wake();
  }

  writeStatus(status: JsonObject): void {
    const { workload } = this;
    if (!workload || JSON.stringify(workload.status) === JSON.stringify(status)) return;
    this.store.put(this.#options.workload.plural, { ...workload, status });
  }

  /** The controller reconciles again, soon; several causes result in one reconcile. */
  wake(): void {
    if (this.stalled) return;
    if (this.#syncing) {
      this.#again = true;
      return;
    }
    this.#syncing = true;
    this.world.after(this.#draw(this.#options.times.syncMs), `sync ${this.name}`, () => this.#sync());
  }

  /**
   * An operator acts some time after it has read; like every controller, it does not read the same object again
   * meanwhile.
   */
  think(act: () => void): void {
    this.#syncing = true;
    this.world.after(this.#draw(THINKING_MS), `act ${this.name}`, () => {
      if (!this.stalled && this.workload) act();
      this.#rest();
    });
  }

  /** Adds an instance, or restores one. */
  start(ordinal: number, revision: string, joined: boolean): void {
    const instance: Instance = {
      ordinal,
      revision,
      state: "starting",
      up: false,
      joined,
      downBy: joined ? this.#downBy.get(ordinal) : undefined,
      downSinceMs: this.world.nowMs,
    };
    this.instances.set(ordinal, instance);
    this.#ended.delete(ordinal);
    this.#readyAtEnd.delete(ordinal);
    this.#options.witness.starts(this, instance);
    this.#publish(instance);
    this.#becomeReady(instance);
  }

  /** Restarts an instance in place, as operators without pods do. */
  restart(ordinal: number, revision: string): void {
    const instance = this.instances.get(ordinal);
    // A terminating instance cannot be started again before it is gone.
    if (!instance || instance.state === "terminating") return;
    if (instance.up) this.#goDown(instance, "update");
    instance.revision = revision;
    instance.state = "starting";
    this.#options.witness.starts(this, instance);
    this.#becomeReady(instance);
  }

  /** Starts to end an instance; it answers until it is gone, as pods do. */
  stop(ordinal: number, cause: DownCause, durationMs?: number): void {
    const instance = this.instances.get(ordinal);
    if (!instance || instance.state === "terminating") return;
    if (instance.up) this.#goDown(instance, cause);
    // If it is not ready while it starts, its operator is still the cause.
    else instance.downBy ??= cause;
    this.#downBy.set(ordinal, cause === "removal" ? undefined : (instance.downBy ?? cause));
    const showedReady = instance.state === "ready";
    if (cause === "removal") this.#ended.delete(ordinal);
    else if (instance.joined) this.#ended.set(ordinal, instance.revision);
    if (showedReady) this.#readyAtEnd.add(ordinal);
    else this.#readyAtEnd.delete(ordinal);
    instance.state = "terminating";
    this.#publish(instance, showedReady);
    this.world.after(durationMs ?? this.#draw(this.#options.times.stopMs), `gone ${this.name}`, () => {
      if (this.instances.get(ordinal) !== instance) return;
      this.instances.delete(ordinal);
      this.#options.witness.gone(this, instance);
      if (this.showsPods) this.store.remove("pods", this.podName(ordinal));
      this.wake();
    });
  }

  stall(stands: boolean): void {
    this.stalled = stands;
    this.wake();
  }

  misbehave(): boolean {
    if (this.showsPods) return false;
    this.dishonest = true;
    this.misbehaves = true;
    this.wake();
    return true;
  }

  behave(): void {
    this.misbehaves = false;
    this.wake();
  }

  /** Its operator has found everything as its object requires. */
  noteWhole(): void {
    if (!this.misbehaves) this.dishonest = false;
  }

  tamper(): boolean {
    if (!this.workload) return false;
    const keys = [ANNOTATIONS.epoch, ANNOTATIONS.processor, ANNOTATIONS.revision, ANNOTATIONS.partition];
    const key = this.dice.pick(keys);
    const value = key === ANNOTATIONS.processor ? this.dice.pick(["true", "false"]) : String(this.dice.whole(0, 3));
    // An epoch on an object that was not adopted yet makes it another ledger's, and Lockstep leaves that to users.
    if (key === ANNOTATIONS.epoch && (this.live?.epoch ?? 0) < 0) return false;
    // With a forged turn it may do everything that its spec requires, without a grant.
    if (key === ANNOTATIONS.processor && value === "true" && this.#options.operator.heedsTurns) this.dishonest = true;
    this.edit((object) => {
      const annotations = { ...object.metadata.annotations, [key]: value };
      return { ...object, metadata: { ...object.metadata, annotations } };
    });
    return true;
  }

  hasObject(): boolean {
    return this.workload !== undefined;
  }

  deleteOne(isOld: (revision: string) => boolean): boolean {
    const all = [...this.instances.values()].filter(({ state }) => state !== "terminating");
    // Broken instances first; serving ones only while all are serving.
    const down = all.filter(({ up }) => !up);
    const old = (down.length > 0 ? down : all).find(({ revision }) => isOld(revision));
    if (!old || all.length < this.instances.size) return false;
    this.stop(old.ordinal, "accident");
    this.wake();
    return true;
  }

  hang(durationMs: number): boolean {
    const victim = this.#victim();
    if (!victim) return false;
    this.stop(victim.ordinal, "accident", durationMs);
    this.wake();
    return true;
  }

  #victim(): Instance | undefined {
    const ready = [...this.instances.values()].filter(({ state }) => state === "ready");
    return ready.length > 0 ? this.dice.pick(ready) : undefined;
  }

  /** One instance stops answering by itself, and recovers by itself. */
  fail(durationMs: number): boolean {
    const instance = this.#victim();
    if (!instance) return false;
    this.#goDown(instance, "accident");
    instance.state = "starting";
    this.#publish(instance);
    this.wake();
    this.#becomeReady(instance, durationMs);
    return true;
  }

  podName(ordinal: number): string {
    return `${this.#options.workload.name}-${ordinal}`;
  }

  /** Whether the instance of this ordinal ended without having been removed: then it returns, and does not join. */
  hadInstance(ordinal: number): boolean {
    return this.#ended.has(ordinal);
  }

  /** What it ran, if it ended without having been removed. */
  lostRevision(ordinal: number): string | undefined {
    return this.#ended.get(ordinal);
  }

  /** A terminating pod shows the readiness that it had. */
  showsReady(ordinal: number): boolean {
    const instance = this.instances.get(ordinal);
    if (instance?.state !== "terminating") return instance?.state === "ready";
    return this.#readyAtEnd.has(ordinal);
  }

  readonly #downBy = new Map<number, DownCause | undefined>();
  readonly #ended = new Map<number, string>();
  readonly #readyAtEnd = new Set<number>();

  #sync(): void {
    this.#syncing = false;
    if (!this.stalled) this.#options.operator.sync(this, this.workload);
    if (!this.#syncing) this.#rest();
  }

  #rest(): void {
    this.#syncing = false;
    if (!this.#again) return;
    this.#again = false;
    this.world.after(OPERATOR_PACE_MS, `again ${this.name}`, () => this.wake());
  }

  #goDown(instance: Instance, cause: DownCause): void {
    instance.up = false;
    instance.downBy = cause;
    instance.downSinceMs = this.world.nowMs;
    this.#options.witness.goesDown(this, instance, cause);
  }

  #becomeReady(instance: Instance, durationMs = this.#draw(this.#options.times.startMs)): void {
    const { revision } = instance;
    if (revision.includes(BROKEN)) {
      this.wake();
      return;
    }
    this.world.after(durationMs, `ready ${this.name}`, () => {
      const current = this.instances.get(instance.ordinal) === instance;
      if (!current || instance.state !== "starting" || instance.revision !== revision) return;
      instance.state = "ready";
      instance.up = true;
      instance.joined = true;
      instance.downBy = undefined;
      this.#downBy.delete(instance.ordinal);
      this.#options.witness.up(this, instance);
      this.#publish(instance);
      this.wake();
    });
  }

  #publish(instance: Instance, showsReady = instance.state === "ready"): void {
    if (!this.showsPods) return;
    const { workload } = this;
    const name = this.podName(instance.ordinal);
    const before = this.store.get("pods", name);
    const isTerminating = instance.state === "terminating";
    const wasTerminating = before?.metadata.deletionTimestamp !== undefined;
    const same = before !== undefined && !wasTerminating;
    this.store.put("pods", {
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        namespace: workload?.metadata.namespace ?? before?.metadata.namespace ?? "default",
        uid: same || isTerminating ? (before?.metadata.uid ?? this.#uids.random.uuid()) : this.#uids.random.uuid(),
        generation: 1,
        labels: {
          "statefulset.kubernetes.io/pod-name": name,
          "controller-revision-hash": instance.revision,
          ...(this.#labelled === instance.ordinal && { [LEADER_LABEL.key]: LEADER_LABEL.value }),
        },
        annotations: {},
        ownerReferences: [
          { apiVersion: "apps/v1", kind: "StatefulSet", name: this.#options.workload.name, controller: true, uid: "" },
        ],
        ...(isTerminating && { deletionTimestamp: "2025-01-01T00:00:00Z" }),
      },
      status: { conditions: [{ type: "Ready", status: showsReady ? "True" : "False" }] },
    });
  }

  #podDeleted(pod: string): void {
    const [, owner, ordinal] = /^(.*)-(\d+)$/.exec(pod) ?? [];
    if (owner !== this.#options.workload.name) return;
    this.stop(Number(ordinal), this.#isToStay(Number(ordinal)) ? "update" : "removal");
  }

  #isToStay(ordinal: number): boolean {
    const spec = isJsonObject(this.workload?.spec) ? this.workload.spec : {};
    const start = isJsonObject(spec.ordinals) && typeof spec.ordinals.start === "number" ? spec.ordinals.start : 0;
    return typeof spec.replicas === "number" && ordinal < start + spec.replicas;
  }

  #draw([low, high]: readonly [number, number]): number {
    return this.dice.whole(low, high);
  }
}

/** Defaults that a StatefulSet's API server fills in, so that setting them explicitly makes no difference. */
function withDefaults(manifest: Replacement): Replacement {
  const filled = clone(manifest);
  statefulSetDefaults(filled);
  return filled;
}

function pluralOf(kind: string, workload: { kind: string; plural: string }): string {
  return kind === workload.kind ? workload.plural : `${kind.toLowerCase()}s`;
}
