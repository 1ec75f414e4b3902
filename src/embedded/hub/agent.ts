import type { Commit, KubeObject } from "../../apiserver/index.ts";
import { type Interpreter, prunedForWork } from "../../interpret/index.ts";
import { WorkQueue } from "../../kube/index.ts";
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type Log,
  type Random,
  sameJson,
  valueAt,
} from "../../runtime/index.ts";
import type { Link } from "../link.ts";
import type { LocalApi, Send } from "../local-api.ts";
import { conditionOf, isDeleting, objectAt, objectsAt, withCondition } from "../values.ts";
import { deliver, isDrifted, release, remove, versionOf } from "./delivery.ts";
import { executionNamespace, KARMADA, RESOURCES } from "./kinds.ts";

export interface AgentOptions {
  readonly cluster: string;
  readonly hub: LocalApi;
  readonly member: LocalApi;
  /** The connection between hub and member; nothing is read or written while it is closed. */
  readonly link: Link;
  readonly interpreter: Interpreter;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** From a change of a Work to its arrival, and from a member's change to the hub. */
  readonly deliveryMs: number;
}

/** A Work that cannot be applied is retried after this time at the latest; Karmada's default is far longer. */
const RETRY_MAX_MS = 5_000;

/** Karmada's execution and work-status controllers for one member, the same for push and pull. */
export class Agent {
  readonly #options: AgentOptions;
  readonly #namespace: string;
  readonly #queue: WorkQueue;
  readonly #send: Send;
  /**
   * The version of each member object after this agent's last write: another version is drift. By resource and name.
   */
  readonly #written = new Map<string, string>();
  /** The generation of each Work that was fully applied. */
  readonly #applied = new Map<string, number | undefined>();
  /** The Works that each member object belongs to; more than one only if two writers conflict. */
  readonly #worksOf = new Map<string, Set<string>>();

  constructor(options: AgentOptions) {
    const { hub, member, clock, random, log, cluster } = options;
    this.#options = options;
    this.#namespace = executionNamespace(cluster);
    const transport = options.link.transport();
    this.#send = (request) => transport.request(request);
    this.#queue = new WorkQueue({
      clock,
      random,
      log: log.with({ cluster }),
      concurrency: 1,
      retryMaxMs: RETRY_MAX_MS,
      work: (name) => this.#sync(name),
    });
    hub.on(RESOURCES.works, (commit) => this.#workChanged(commit));
    hub.on(RESOURCES.clusters, ({ key, object, old }) => {
      const turned = old && readiness(object) !== readiness(old);
      if (key.name === cluster && turned && this.#isReady()) this.syncAll();
    });
    member.onAny(({ key }) => {
      const works = this.#worksOf.get(memberKey(key.resource, key.namespace, key.name));
      for (const work of works ?? []) this.#add(work);
    });
  }

  start(): void {
    this.#queue.start();
    this.syncAll();
  }

  syncAll(): void {
    for (const { metadata } of this.#options.hub.list(RESOURCES.works, this.#namespace)) this.#add(metadata.name);
  }

  stop(): Promise<void> {
    return this.#queue.shutdown();
  }

  #add(name: string): void {
    this.#queue.addAfter(name, this.#options.deliveryMs);
  }

  #isReady(): boolean {
    const cluster = this.#options.hub.get(RESOURCES.clusters, "", this.#options.cluster);
    return cluster !== undefined && readiness(cluster) === "True";
  }

  /** Its own reports are not news. */
  #workChanged({ type, key, object, old }: Commit): void {
    if (key.namespace !== this.#namespace || type === "DELETED") return;
    const isNews = old === undefined || old.metadata.generation !== object.metadata.generation || isDeleting(object);
    if (isNews) this.#add(key.name);
  }

  async #sync(name: string): Promise<undefined> {
    const { hub, link } = this.#options;
    const work = hub.get(RESOURCES.works, this.#namespace, name);
    // While the connection is closed nothing is known, and Karmada writes to no cluster that is not Ready. When the
    // cluster becomes Ready, everything is reconciled again.
    if (!work || !link.isOpen || !this.#isReady()) return undefined;
    if (isDeleting(work)) return this.#finish(work);
    if (valueAt(work, "spec", "suspendDispatching") === true) return undefined;
    const manifests = manifestsOf(work);
    const failures: string[] = [];
    const isNew = this.#applied.get(name) !== work.metadata.generation;
    for (const manifest of manifests) {
      try {
        await this.#apply(name, manifest, isNew);
      } catch (error) {
        failures.push(error instanceof Error ? error.message : String(error));
      }
    }
    if (failures.length === 0) this.#applied.set(name, work.metadata.generation);
    await this.#report(name, manifests, failures);
    if (failures.length > 0) throw new Error(failures.join("; "));
    return undefined;
  }

  async #apply(work: string, manifest: KubeObject, isNew: boolean): Promise<void> {
    const { member, interpreter, cluster } = this.#options;
    const key = this.#keyOf(manifest);
    const works = this.#worksOf.get(key);
    if (works) works.add(work);
    else this.#worksOf.set(key, new Set([work]));
    const live = this.#live(manifest);
    if (live && !isNew && !isDrifted(manifest, live, this.#written.get(key))) return;
    await deliver({ manifest, live, member, interpreter, cluster, send: this.#send });
    const written = this.#live(manifest);
    if (written) this.#written.set(key, versionOf(written));
  }

  async #finish(work: KubeObject): Promise<undefined> {
    const { hub, member, interpreter, cluster } = this.#options;
    const { finalizers = [], name } = work.metadata;
    if (!finalizers.includes(KARMADA.executionFinalizer)) return undefined;
    const isKept = valueAt(work, "spec", "preserveResourcesOnDeletion") === true;
    for (const manifest of manifestsOf(work)) {
      const live = this.#live(manifest);
      if (isKept) await release({ manifest, live, member, interpreter, cluster, send: this.#send });
      else if (live) await remove(live, member, this.#send);
      this.#worksOf.get(this.#keyOf(manifest))?.delete(name);
      this.#written.delete(this.#keyOf(manifest));
    }
    this.#applied.delete(name);
    const current = hub.get(RESOURCES.works, this.#namespace, name);
    if (!current) return undefined;
    const left = finalizers.filter((finalizer) => finalizer !== KARMADA.executionFinalizer);
    await hub.update({ ...current, metadata: { ...current.metadata, finalizers: left } });
    return undefined;
  }

  /** The member's result for each manifest, and whether it could be applied. */
  async #report(name: string, manifests: readonly KubeObject[], failures: readonly string[]): Promise<void> {
    const { hub, clock } = this.#options;
    const work = hub.get(RESOURCES.works, this.#namespace, name);
    if (!work) return;
    const applied =
      failures.length === 0
        ? { status: "True", reason: "AppliedSuccessful", message: "Manifest has been successfully applied" }
        : {
            status: "False",
            reason: "AppliedFailed",
            message: `Failed to apply all manifests (${manifests.length - failures.length}/${manifests.length}): ${failures.join("; ")}`,
          };
    const before = objectsAt(work, "status", "conditions");
    const conditions = withCondition(before, { type: "Applied", ...applied }, clock.now());
    const manifestStatuses = manifests.flatMap((manifest, ordinal) => this.#statusOf(manifest, ordinal));
    const status: JsonObject = manifestStatuses.length === 0 ? { conditions } : { conditions, manifestStatuses };
    if (!sameJson(work.status, status)) await hub.updateStatus({ ...work, status });
  }

  #statusOf(manifest: KubeObject, ordinal: number): JsonObject[] {
    const { member, interpreter } = this.#options;
    const live = this.#live(manifest);
    if (!live) return [];
    const [group, version] = live.apiVersion.includes("/") ? live.apiVersion.split("/") : ["", live.apiVersion];
    const reflected = interpreter.interpret("InterpretStatus", { object: live });
    const status = reflected.state === "known" && isJsonObject(reflected.value) ? reflected.value : undefined;
    const health = interpreter.interpret("InterpretHealth", { object: live });
    const { namespace, name } = live.metadata;
    const shown: JsonObject = {
      identifier: {
        ordinal,
        ...(group && { group }),
        version: version ?? "",
        kind: live.kind,
        resource: member.resourceOf(live.apiVersion, live.kind)?.plural ?? "",
        ...(namespace && { namespace }),
        name,
      },
      ...(status && { status: live.kind === "StatefulSet" ? asKarmadaReflects(status) : status }),
      // If health cannot be determined, Karmada reports Healthy.
      health: health.state === "known" && !health.value ? "Unhealthy" : "Healthy",
    };
    return [shown];
  }

  #live({ apiVersion, kind, metadata }: KubeObject): KubeObject | undefined {
    return this.#options.member.find(apiVersion, kind, metadata.namespace ?? "", metadata.name);
  }

  #keyOf({ apiVersion, kind, metadata }: KubeObject): string {
    const served = this.#options.member.resourceOf(apiVersion, kind);
    const namespace = served?.namespaced === false ? "" : (metadata.namespace ?? "");
    return memberKey(served?.resource ?? `${apiVersion}/${kind}`, namespace, metadata.name);
  }
}

/** Lockstep's own reflection keeps more of a StatefulSet's status than Karmada's native one, which is used here. */
function asKarmadaReflects(status: JsonObject): JsonObject {
  const { observedGeneration, currentRevision, updateRevision, collisionCount, conditions, ...reflected } = status;
  return reflected;
}

function readiness(cluster: KubeObject): unknown {
  return conditionOf(cluster, "Ready")?.status;
}

function memberKey(resource: string, namespace: string, name: string): string {
  return `${resource} ${namespace}/${name}`;
}

/** Karmada's webhook prunes them when a Work is written. */
function manifestsOf(work: KubeObject): KubeObject[] {
  return objectsAt(work, "spec", "workload", "manifests").map(prunedForWork).filter(isManifest);
}

function isManifest(value: JsonObject): value is KubeObject {
  return (
    typeof value.apiVersion === "string" &&
    typeof value.kind === "string" &&
    typeof objectAt(value, "metadata").name === "string"
  );
}
