import { isJsonObject, type JsonObject, sameJson, timestamp, valueAt } from "../../runtime/index.ts";
import type { KarmadaMember } from "../lean/karmada.ts";
import type { Replacement } from "../lean/member.ts";
import type { OcmMember } from "../lean/ocm/spoke.ts";
import { LeanStore, type StoredObject } from "../lean/store.ts";
import type { Dice } from "../seed/dice.ts";
import type { World } from "../world/world.ts";
import { indexList, podPlanOf, unitOf } from "./shape.ts";

/** How a member's Jobs behave. */
export interface JobTraits {
  readonly runMs: readonly [number, number];
  /** How likely a pod fails. */
  readonly failRate: number;
  readonly graceMs: number;
  /** Its clock is slow: deadlines come so much later. */
  readonly slowMs: number;
  /** What its wall clock is wrong by. */
  readonly skewMs: number;
  /** So late its Job controller begins with a new Job. */
  readonly lateMs: number;
  /** Its Jobs say how many pods are terminating. */
  readonly saysTerminating: boolean;
  /** The engine keeps the pod template and selector of a Job that it updates, as Karmada does; otherwise the server refuses a change. */
  readonly keepsTemplate: boolean;
}

export interface JobMemberOptions {
  readonly world: World;
  readonly name: string;
  readonly traits: JobTraits;
  /** A pod begins to run. */
  readonly starts: (pod: JobPod) => void;
  readonly reach: (situation: string) => void;
  /** What the hub's dispatch object delivers now. */
  readonly current: (job: string) => StoredObject | undefined;
}

export interface JobPod {
  readonly job: string;
  /** The work's own index. */
  readonly unit: number | undefined;
  /** Of its Job. */
  readonly completions: number | undefined;
}

interface Pod extends JobPod {
  readonly jobUid: string;
  readonly index: number | undefined;
  state: "running" | "ending";
}

interface Record {
  startedMs: number;
  isSuspended: boolean;
  end: { type: "Complete" | "Failed"; reason: string } | undefined;
  succeeded: number;
  readonly done: Set<number>;
  failed: number;
  /** The deadline that a timer is set for. */
  timedFor: number | undefined;
}

const MANAGED = "karmada.io/managed";
const OWNER = "lockstep.karmada.io/owner";
/** On Jobs of another writer: they do other work, and nothing of Lockstep's may touch them. */
const STRANGER = "stranger";
const JOBS = "jobs";
const PIN = "controller-uid";
const SYNC_MS = [5, 250] as const;
/** How long Kubernetes' garbage collector takes to notice that a pod's owner is gone. */
const COLLECT_MS = [10, 400] as const;
const DRIFT_MS = [800, 5_000] as const;

/** A member with Kubernetes' Job controller: Jobs, their pods, and every version that was ever delivered. */
export class JobMember implements KarmadaMember, OcmMember {
  readonly name: string;
  readonly store = new LeanStore();
  reachable = true;
  readonly #options: JobMemberOptions;
  readonly #dice: Dice;
  readonly #pods = new Set<Pod>();
  readonly #records = new Map<string, Record>();
  readonly #delivered = new Map<string, StoredObject[]>();
  readonly #syncing = new Set<string>();
  /** Jobs that a queue in the member suspends, by name: deliveries do not resume them. */
  readonly #held = new Set<string>();
  /** By name: other writers' Jobs, as they were created. */
  readonly #strangers = new Map<string, string>();
  /** Pods that really succeeded. */
  readonly succeeded: JobPod[] = [];

  constructor(options: JobMemberOptions) {
    this.#options = options;
    this.name = options.name;
    this.#dice = options.world.dice.branch(`jobs ${options.name}`);
    this.store.onChange((plural, name, type) => {
      if (plural === JOBS && type === "DELETED") this.#collect(name);
    });
  }

  /** Names of Jobs of which pods run or are going away. */
  alive(): Set<string> {
    return new Set([...this.#pods].map(({ job }) => job));
  }

  /** Pods that run or are going away. */
  pods(): readonly JobPod[] {
    return [...this.#pods];
  }

  /** Whether a Job was ever delivered here. */
  get hasHad(): boolean {
    return this.#delivered.size > 0;
  }

  jobs(): StoredObject[] {
    return this.store.list(JOBS).filter((job) => !isStranger(job));
  }

  /** Another writer creates a Job of its own under this name. Returns whether the name was free. */
  take(name: string): boolean {
    if (this.store.get(JOBS, name)) return false;
    const metadata = { name, namespace: "default", labels: { [STRANGER]: "yes" }, annotations: {} };
    this.replace({ apiVersion: "batch/v1", kind: "Job", metadata, spec: { parallelism: 3, template: { spec: {} } } });
    this.#strangers.set(name, JSON.stringify(this.store.get(JOBS, name)));
    return true;
  }

  /** Other writers' Jobs that are not as they were created. */
  touched(): string[] {
    return [...this.#strangers]
      .filter(([name, was]) => JSON.stringify(this.store.get(JOBS, name)) !== was)
      .map(([name]) => name);
  }

  /** A user removes Lockstep's label from a Job that runs. Returns whether there was one. */
  strip(): boolean {
    const running = this.jobs().find(
      ({ metadata }) => metadata.labels[OWNER] !== undefined && this.alive().has(metadata.name),
    );
    if (!running) return false;
    const { [OWNER]: _gone, ...labels } = running.metadata.labels;
    this.store.put(JOBS, { ...running, metadata: { ...running.metadata, labels } });
    return true;
  }

  /** A queue in the member suspends a Job of which pods run, or any. Returns its name. */
  hold(): string | undefined {
    const all = this.jobs().filter(({ metadata }) => !this.#records.get(metadata.uid)?.end);
    const job = all.find(({ metadata }) => this.alive().has(metadata.name)) ?? all[0];
    if (!job) return undefined;
    this.#held.add(job.metadata.name);
    this.#suspend(job, true);
    return job.metadata.name;
  }

  /** The queue resumes it: it starts again. */
  resume(name: string): void {
    const job = this.store.get(JOBS, name);
    if (this.#held.delete(name) && job) this.#suspend(job, false);
  }

  #suspend(job: StoredObject, suspend: boolean): void {
    const { metadata, status: _status, ...content } = job;
    const spec = isJsonObject(job.spec) ? job.spec : {};
    this.replace({ ...content, metadata, spec: { ...spec, suspend } });
  }

  /** Karmada's execution controller. False: refused. */
  apply(manifest: StoredObject): boolean {
    const { name, namespace = "", labels = {}, annotations = {} } = manifest.metadata;
    if (manifest.kind === "Job" && this.#refusal(manifest) !== undefined) return false;
    const before = this.store.get(this.pluralOf(manifest.kind), name);
    const takesOver = annotations["work.karmada.io/conflict-resolution"] === "overwrite";
    if (before && before.metadata.labels[MANAGED] !== "true" && !takesOver) return false;
    const { metadata: _metadata, status: _status, ...content } = manifest;
    this.replace({ ...content, metadata: { name, namespace, labels: { ...labels, [MANAGED]: "true" }, annotations } });
    this.#remember(manifest);
    return true;
  }

  replace({ metadata, ...content }: Replacement): void {
    const plural = this.pluralOf(content.kind);
    const { name } = metadata;
    const before = this.store.get(plural, name);
    const uid = before?.metadata.uid ?? this.#dice.random.uuid();
    const asked = content.kind === "Job" ? this.#jobSpec(content.spec, before, uid) : content.spec;
    const spec = this.#held.has(name) && before && isJsonObject(asked) ? { ...asked, suspend: true } : asked;
    const isSame = JSON.stringify(before?.spec) === JSON.stringify(spec);
    const generation = before ? before.metadata.generation + (isSame ? 0 : 1) : 1;
    const status = before?.status === undefined ? {} : { status: before.status };
    this.store.put(plural, { ...content, spec, ...status, metadata: { ...metadata, uid, generation } });
    if (plural === JOBS) this.#wake(name);
  }

  /** Karmada deletes only what its own Work has created. */
  remove(kind: string, name: string): void {
    const plural = this.pluralOf(kind);
    const object = this.store.get(plural, name);
    if (object && !isStranger(object)) this.store.remove(plural, name);
  }

  release(kind: string, name: string): boolean {
    const plural = this.pluralOf(kind);
    const object = this.store.get(plural, name);
    if (!object) return false;
    if (isStranger(object)) return true;
    const { [MANAGED]: _gone, ...labels } = object.metadata.labels;
    this.store.put(plural, { ...object, metadata: { ...object.metadata, labels } });
    return true;
  }

  pluralOf(kind: string): string {
    return `${kind.toLowerCase()}s`;
  }

  noteApplied(kind: string, name: string, spec: unknown): void {
    const object = this.store.get(this.pluralOf(kind), name);
    if (object && isJsonObject(spec)) this.#remember({ ...object, spec });
  }

  /** A user deletes a Job here. Returns whether there was one. */
  deleteOne(): boolean {
    const all = this.jobs();
    if (all.length === 0) return false;
    const { name } = this.#dice.pick(all).metadata;
    this.store.remove(JOBS, name);
    // The engine creates what it misses, unless the member refuses that: a grant is for one uid.
    this.#options.world.after(DRIFT_MS[1], `drift ${this.name}`, () => this.#correct(name));
    return true;
  }

  /** The engine delivers an old version, and corrects that later. Returns what it did to which Job. */
  deliverLate(): "nothing" | "updated" | "created" {
    const all = [...this.#delivered.values()].filter(({ length }) => length > 0);
    if (all.length === 0) return "nothing";
    const versions = this.#dice.pick(all);
    const old = this.#dice.chance(0.6) ? versions[0] : this.#dice.pick(versions);
    if (!old) return "nothing";
    const { name } = old.metadata;
    const isNew = this.store.get(JOBS, name) === undefined;
    if (!this.#put(old)) return "nothing";
    const { world } = this.#options;
    world.after(this.#dice.whole(...DRIFT_MS), `drift ${this.name}`, () => this.#correct(name));
    return isNew ? "created" : "updated";
  }

  /** While the cluster is cut off the engine waits, and compares again when it is back. */
  #correct(name: string): void {
    const { world, current } = this.#options;
    if (!this.reachable) {
      world.after(DRIFT_MS[1], `drift ${this.name}`, () => this.#correct(name));
      return;
    }
    const newest = current(name);
    if (newest) this.#put(newest);
  }

  /** An agent inside the cluster creates what is missing from its own memory. Returns whether it could. */
  recreate(): boolean {
    const missing = [...this.#delivered.entries()].filter(([name]) => this.store.get(JOBS, name) === undefined);
    const newest = missing.at(-1)?.[1].at(-1);
    return newest !== undefined && this.#put(newest);
  }

  #put(manifest: StoredObject): boolean {
    if (this.#refusal(manifest) !== undefined) return false;
    const { metadata, status: _status, ...content } = manifest;
    const { name, namespace = "", labels = {}, annotations = {} } = metadata;
    const before = this.store.get(JOBS, name);
    if (before && isStranger(before)) return false;
    const owners = before?.metadata.ownerReferences ?? metadata.ownerReferences;
    const owned = owners === undefined ? {} : { ownerReferences: owners };
    this.replace({
      ...content,
      metadata: { name, namespace, labels: { ...labels, [MANAGED]: "true" }, annotations, ...owned },
    });
    return true;
  }

  #remember(manifest: StoredObject): void {
    if (manifest.kind !== "Job") return;
    const versions = this.#delivered.get(manifest.metadata.name) ?? [];
    const newest = versions.at(-1);
    if (newest && JSON.stringify(newest.spec) === JSON.stringify(manifest.spec)) return;
    this.#delivered.set(manifest.metadata.name, [...versions, manifest]);
  }

  /** As an API server answers. */
  #refusal(manifest: StoredObject): string | undefined {
    const before = this.store.get(JOBS, manifest.metadata.name);
    const pin = pinOf(manifest);
    const selector = valueAt(manifest, "spec", "selector");
    if (valueAt(manifest, "spec", "template", "spec") === undefined) return "spec.template: Required value";
    if (!before) return pin === undefined && selector === undefined ? undefined : "it is generated";
    if (this.#options.traits.keepsTemplate) return undefined;
    if (pin !== undefined && pin !== before.metadata.uid) return "spec.template: field is immutable";
    const own = valueAt(before, "spec", "selector");
    return selector === undefined || sameJson(selector, own) ? undefined : "spec.selector: field is immutable";
  }

  #jobSpec(wanted: unknown, before: StoredObject | undefined, uid: string): JsonObject {
    const spec = isJsonObject(wanted) ? wanted : {};
    if (isJsonObject(before?.spec)) {
      return { ...spec, template: before.spec.template ?? null, selector: before.spec.selector ?? null };
    }
    const template = isJsonObject(spec.template) ? spec.template : {};
    const metadata = isJsonObject(template.metadata) ? template.metadata : {};
    const labels = {
      ...(isJsonObject(metadata.labels) ? metadata.labels : {}),
      [PIN]: uid,
      [`batch.kubernetes.io/${PIN}`]: uid,
    };
    const selector = { matchLabels: { [`batch.kubernetes.io/${PIN}`]: uid } };
    return { ...spec, selector, template: { ...template, metadata: { ...metadata, labels } } };
  }

  #wake(name: string): void {
    if (this.#syncing.has(name)) return;
    this.#syncing.add(name);
    const isNew = !this.#records.has(this.store.get(JOBS, name)?.metadata.uid ?? "");
    const lateMs = isNew ? this.#options.traits.lateMs : 0;
    this.#options.world.after(lateMs + this.#dice.whole(...SYNC_MS), `sync ${this.name}`, () => {
      this.#syncing.delete(name);
      this.#sync(name);
    });
  }

  #podsOf(uid: string, state?: Pod["state"]): Pod[] {
    return [...this.#pods].filter((pod) => pod.jobUid === uid && (state === undefined || pod.state === state));
  }

  #sync(name: string): void {
    const { world, traits, reach } = this.#options;
    const job = this.store.get(JOBS, name);
    if (!job || isStranger(job)) return;
    const { uid } = job.metadata;
    const spec = isJsonObject(job.spec) ? job.spec : {};
    const record: Record = this.#records.get(uid) ?? {
      ...{ startedMs: world.nowMs, isSuspended: false, end: undefined, succeeded: 0, done: new Set(), failed: 0 },
      timedFor: undefined,
    };
    this.#records.set(uid, record);
    const isSuspended = spec.suspend === true;
    // Each time that it is resumed, its deadline starts again.
    if (record.isSuspended && !isSuspended) Object.assign(record, { startedMs: world.nowMs, timedFor: undefined });
    record.isSuspended = isSuspended;
    const deadline = spec.activeDeadlineSeconds;
    if (!record.end && !isSuspended && typeof deadline === "number") {
      const leftMs = record.startedMs + deadline * 1000 + traits.slowMs - world.nowMs;
      if (leftMs <= 0) {
        record.end = { type: "Failed", reason: "DeadlineExceeded" };
        if (deadline > 1) reach("a cluster ends its own work at the deadline");
      } else if (record.timedFor !== deadline) {
        record.timedFor = deadline;
        world.after(leftMs, `deadline ${this.name}`, () => this.#sync(name));
      }
    }
    const running = this.#podsOf(uid, "running");
    const { parallelism, completions = parallelism + record.succeeded } = podPlanOf(job);
    const wanted = record.end || isSuspended ? 0 : Math.min(parallelism, completions - record.succeeded);
    for (const pod of running.slice(wanted)) this.#stop(pod);
    // podReplacementPolicy Failed: not beside one that is going away.
    for (let count = this.#podsOf(uid).length; count < wanted; count++) this.#start(job, record);
    this.#report(name);
  }

  #start(object: StoredObject, record: Record): void {
    const { world, traits, starts, reach } = this.#options;
    const { name: job, uid: jobUid } = object.metadata;
    const { completions, isIndexed, retries } = podPlanOf(object);
    const held = new Set([...record.done, ...this.#podsOf(jobUid).map(({ index }) => index)]);
    const index = isIndexed ? range(completions ?? 0).find((each) => !held.has(each)) : undefined;
    if (isIndexed && index === undefined) return;
    const unit = unitOf(object, index);
    const pod: Pod = { job, jobUid, index, unit, completions, state: "running" };
    this.#pods.add(pod);
    world.note(this.name, unit === undefined ? `a pod of ${job} runs` : `a pod of ${job} runs index ${unit}`);
    if (record.failed > 0) reach("a Job tries a failed pod again");
    starts(pod);
    const fails = this.#dice.chance(traits.failRate);
    world.after(this.#dice.whole(...traits.runMs), `pod ${this.name}`, () => {
      if (!this.#pods.has(pod) || pod.state !== "running") return;
      this.#pods.delete(pod);
      if (fails) record.failed++;
      else record.succeeded++;
      if (!fails) this.succeeded.push(pod);
      if (!fails && index !== undefined) record.done.add(index);
      if (record.failed > retries) record.end ??= { type: "Failed", reason: "BackoffLimitExceeded" };
      if (record.succeeded >= (completions ?? 1)) record.end ??= { type: "Complete", reason: "CompletionsReached" };
      world.note(this.name, `the pod of ${job} ${fails ? "fails" : "succeeds"}`);
      this.#wake(job);
    });
  }

  #stop(pod: Pod): void {
    if (pod.state === "ending") return;
    const { world, traits } = this.#options;
    pod.state = "ending";
    world.after(this.#dice.whole(50, traits.graceMs), `ends ${this.name}`, () => {
      this.#pods.delete(pod);
      world.note(this.name, `the pod of ${pod.job} is gone`);
      this.#wake(pod.job);
    });
  }

  #collect(job: string): void {
    const orphans = [...this.#pods].filter((pod) => pod.job === job);
    const delayMs = this.#dice.whole(...COLLECT_MS);
    for (const pod of orphans) this.#options.world.after(delayMs, `collect ${this.name}`, () => this.#stop(pod));
  }

  #report(name: string): void {
    const { world, traits } = this.#options;
    const job = this.store.get(JOBS, name);
    const record = job && this.#records.get(job.metadata.uid);
    if (!job || !record) return;
    const { uid } = job.metadata;
    const terminating = this.#podsOf(uid, "ending").length;
    const active = this.#podsOf(uid, "running").length;
    const { end, isSuspended, succeeded, failed } = record;
    const conditions = [
      ...(isSuspended ? [{ type: "Suspended", status: "True", reason: "JobSuspended", message: "" }] : []),
      ...(end ? [{ type: end.type, status: "True", reason: end.reason, message: "" }] : []),
    ];
    const startTime = timestamp(world.startWallMs + record.startedMs + traits.skewMs);
    const status: JsonObject = {
      startTime,
      ...{ active, ready: active, succeeded, failed },
      ...(podPlanOf(job).isIndexed && { completedIndexes: indexList(record.done) }),
      ...(traits.saysTerminating && { terminating }),
      ...(conditions.length > 0 && { conditions }),
    };
    if (JSON.stringify(status) !== JSON.stringify(job.status)) this.store.put(JOBS, { ...job, status });
  }
}

function range(count: number): number[] {
  return Array.from({ length: count }, (_, at) => at);
}

function isStranger({ metadata }: StoredObject): boolean {
  return metadata.labels[STRANGER] !== undefined;
}

function pinOf(manifest: JsonObject): string | undefined {
  const pin = valueAt(manifest, "spec", "template", "metadata", "labels", PIN);
  return typeof pin === "string" ? pin : undefined;
}
