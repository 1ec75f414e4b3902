import type { KubeObject } from "../../apiserver/index.ts";
import { WorkQueue, type WorkResult } from "../../kube/index.ts";
import { isJsonObject, type JsonObject, sameJson, timestamp } from "../../runtime/index.ts";
import { type ConfigMap, type Grant, type GrantReading, readGrant, report } from "../../sdk/index.ts";
import type { MemberControllerOptions } from "../member/owner-queue.ts";
import { conditionOf, isDeleting, keyOf, numberAt, objectAt, splitKey, textAt, textsAt } from "../values.ts";
import type { Application } from "./application.ts";
import { type DatabaseKind, groupOf } from "./kinds.ts";

const PODS = "/pods";
const CLAIMS = "/persistentvolumeclaims";
const CONFIG_MAPS = "/configmaps";
/** How soon a running instance that is not admitted yet is checked again. */
const ADMIT_RETRY_MS = 200;
/** How soon missing ConfigMaps that the grant refers to are read again. */
const REFERENCE_RETRY_MS = 1_000;

/** What an instance runs; stored with its claim, so that the instance returns unchanged. */
export interface InstanceSpec {
  readonly revision: string;
  readonly image: string;
  readonly args: readonly string[];
}

/** An instance that is about to run. */
export interface Start {
  readonly name: string;
  readonly address: string;
  readonly spec: InstanceSpec;
  readonly grant: Grant;
}

/** How an operator may violate the contract, to test the consequences. */
export interface Conduct {
  /** It does nothing. */
  readonly stands: boolean;
  /** It reports that everything is done, and does nothing. */
  readonly lies: boolean;
  /** It restarts all outdated instances at once. */
  readonly hastes: boolean;
}

export interface DatabaseOperatorOptions extends MemberControllerOptions {
  readonly kind: DatabaseKind;
  /** The database behind an object, which all clusters share. */
  readonly application: (key: string) => Application;
  /** The container that runs an instance; its volume is called `data`. */
  readonly container: (start: Start) => JsonObject;
  /** Absent: it follows the contract. */
  readonly conduct?: () => Conduct;
}

/** One instance of this cluster, as the grant and the API server have it. */
interface Instance {
  readonly name: string;
  readonly address: string;
  readonly state: "member" | "joining" | "leaving";
  readonly pod: KubeObject | undefined;
  /** The content of its claim; undefined: it never ran here, or was removed. */
  readonly remembered: InstanceSpec | undefined;
}

/**
 * An operator on Lockstep's contract, in one member: the shortest full implementation. It acts on its spec only when it
 * has the turn, one instance at a time, and reports the epoch that it read.
 */
export class DatabaseOperator {
  readonly #options: DatabaseOperatorOptions;
  readonly #queue: WorkQueue;
  /** `group/plural`, as the API server's own controllers name it. */
  readonly #resource: string;
  /** On pods: their owner and revision. On claims: what the instance runs. */
  readonly #marks: { readonly owner: string; readonly revision: string; readonly instance: string };
  /** Instances that run and take part in every decision. */
  readonly #admitted = new Set<string>();

  constructor(options: DatabaseOperatorOptions) {
    const { api, clock, random, log, kind } = options;
    const group = groupOf(kind);
    this.#options = options;
    this.#resource = `${group}/${kind.plural}`;
    this.#marks = { owner: `${group}/cluster`, revision: `${group}/revision`, instance: `${group}/instance` };
    this.#queue = new WorkQueue({ clock, random, log, concurrency: 1, work: (key) => this.#sync(key) });
    api.on(this.#resource, ({ key }) => this.#add(keyOf(key.namespace, key.name)));
    api.on(PODS, ({ type, object }) => this.#podChanged(object, type === "DELETED"));
  }

  start(): void {
    for (const pod of this.#options.api.list(PODS)) this.#podChanged(pod, false);
    this.#queue.start();
    this.syncAll();
  }

  syncAll(): void {
    for (const { metadata } of this.#options.api.list(this.#resource)) {
      this.#add(keyOf(metadata.namespace ?? "", metadata.name));
    }
  }

  stop(): Promise<void> {
    return this.#queue.shutdown();
  }

  #add(key: string): void {
    this.#queue.addAfter(key, this.#options.reactionMs);
  }

  #podChanged(pod: KubeObject, gone: boolean): void {
    const owner = pod.metadata.labels?.[this.#marks.owner];
    if (owner === undefined) return;
    const key = keyOf(pod.metadata.namespace ?? "", owner);
    const isUp = !gone && isRunning(pod);
    if (!isUp) this.#admitted.delete(pod.metadata.name);
    this.#options.application(key).running(pod.metadata.name, isUp);
    this.#add(key);
  }

  async #sync(key: string): Promise<WorkResult | undefined> {
    const { api, isUp, conduct } = this.#options;
    if (!isUp() || conduct?.().stands) return undefined;
    const { namespace, name } = splitKey(key);
    const object = api.get(this.#resource, namespace, name);
    if (!object) return undefined;
    // The contract, step 1: the grant is read once, together with its spec.
    const reading = readGrant(object, (map) => configMapOf(api.get(CONFIG_MAPS, namespace, map)));
    if (reading.state !== "granted") {
      await this.#say(object, { message: whyNothing(reading) });
      // Lockstep writes such a grant only after they exist; if the operator read it too late, the next grant replaces
      // it.
      return reading.state === "referenced" ? { requeueAfterMs: REFERENCE_RETRY_MS } : undefined;
    }
    const application = this.#options.application(key);
    const isWaiting = await this.#admit(object, application);
    if (!conduct?.().lies) await this.#act(object, reading.grant, application);
    await this.#report(object, reading.grant, application);
    return isWaiting ? { requeueAfterMs: ADMIT_RETRY_MS } : undefined;
  }

  /** Whether a running instance does not take part in every decision yet. */
  async #admit(object: KubeObject, application: Application): Promise<boolean> {
    const waiting = this.#podsOf(object).filter((pod) => isRunning(pod) && !this.#admitted.has(pod.metadata.name));
    for (const { metadata } of waiting) {
      if (await application.admit(metadata.name)) this.#admitted.add(metadata.name);
    }
    return waiting.some(({ metadata }) => !this.#admitted.has(metadata.name));
  }

  /** At most one action; its result triggers the next reconcile. */
  async #act(object: KubeObject, grant: Grant, application: Application): Promise<void> {
    const instances = this.#instances(object, grant);
    // The contract, step 2: a lost member returns unchanged, with or without the turn. A joining instance is not a
    // member yet: its claim belongs to an earlier life.
    for (const { name, address, state, pod, remembered } of instances) {
      if (!pod && remembered && state === "member") {
        return this.#run(object, { name, address, spec: remembered, grant });
      }
    }
    if (!grant.processor) return;

    const { transferLeaderTo, partition, revision } = grant;
    if (transferLeaderTo !== undefined && instances.some(({ name }) => name === application.leader)) {
      await application.transfer(transferLeaderTo);
      // Nothing else happens while the leader is here: Lockstep withdraws the request if it takes too long.
      if (instances.some(({ name }) => name === application.leader)) return;
    }
    const leaving = instances.find(({ state, pod, remembered }) => state === "leaving" && (pod ?? remembered));
    if (leaving) return this.#remove(object, leaving, application);
    const staying = instances.filter(({ state }) => state !== "leaving");
    const outdated = staying.filter(({ pod }, at) => pod && at >= partition && this.#revisionOf(pod) !== revision);
    if (this.#options.conduct?.().hastes) {
      for (const each of outdated) await this.#restart(object, each, grant);
      if (outdated.length > 0) return;
    }
    const unready = staying.find(({ pod }) => pod && !this.#isReady(pod));
    if (unready) {
      // One at a time; only a broken instance of the old revision need not be waited for.
      const isBroken = unready.pod && !isDeleting(unready.pod) && outdated.includes(unready);
      return isBroken ? this.#restart(object, unready, grant) : undefined;
    }
    const joining = staying.find(({ pod }) => !pod);
    if (joining) {
      const { name, address } = joining;
      await application.join(name, address, grant.initialClusterState === "new");
      return this.#run(object, { name, address, spec: specOf(object, grant), grant });
    }
    const next = outdated.findLast(({ name }) => name !== application.leader) ?? outdated.at(-1);
    return next && this.#restart(object, next, grant);
  }

  #instances(object: KubeObject, grant: Grant): Instance[] {
    const { api } = this.#options;
    const namespace = object.metadata.namespace ?? "";
    const own = grant.topology.find(({ cluster }) => cluster === grant.cluster);
    return (own?.instances ?? []).map((name, at) => ({
      name,
      address: own?.addresses[at] ?? "",
      state: own?.states[at] ?? "member",
      pod: api.get(PODS, namespace, name),
      remembered: instanceSpec(
        api.get(CLAIMS, namespace, claimName(name))?.metadata.annotations?.[this.#marks.instance],
      ),
    }));
  }

  async #run(object: KubeObject, start: Start): Promise<void> {
    const { api, container, kind } = this.#options;
    const { name, spec } = start;
    const { namespace = "", uid = "" } = object.metadata;
    await this.#remember(object, name, spec);
    const { apiVersion } = kind;
    const owner = { apiVersion, kind: kind.kind, name: object.metadata.name, uid, controller: true };
    await api.create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        namespace,
        labels: { [this.#marks.owner]: object.metadata.name, [this.#marks.revision]: spec.revision },
        ownerReferences: [owner],
      },
      spec: {
        containers: [{ ...container(start), volumeMounts: [{ name: "data", mountPath: "/data" }] }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: claimName(name) } }],
      },
    });
  }

  /** The claim outlives the pod and records what the instance runs; null: it was removed, and only its data is left. */
  async #remember(object: KubeObject, instance: string, spec: InstanceSpec | null): Promise<void> {
    const { api } = this.#options;
    const { namespace = "" } = object.metadata;
    const found = api.get(CLAIMS, namespace, claimName(instance));
    const annotations = { ...found?.metadata.annotations, [this.#marks.instance]: JSON.stringify(spec) };
    if (found) return api.update({ ...found, metadata: { ...found.metadata, annotations } });
    return api.create({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: claimName(instance), namespace, annotations },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
  }

  async #restart(object: KubeObject, { name, pod }: Instance, grant: Grant): Promise<void> {
    if (!pod) return;
    await this.#remember(object, name, specOf(object, grant));
    await this.#options.api.delete(pod);
  }

  async #remove(object: KubeObject, { name, pod }: Instance, application: Application): Promise<void> {
    await application.leave(name);
    if (!pod) return this.#remember(object, name, null);
    if (!isDeleting(pod)) await this.#options.api.delete(pod);
  }

  #report(object: KubeObject, grant: Grant, application: Application): Promise<void> {
    const pods = this.#podsOf(object);
    const ready = pods.filter((pod) => this.#isReady(pod));
    const { leader, membership } = application;
    const leaderHere = leader !== undefined && this.#instances(object, grant).some(({ name }) => name === leader);
    const desired = numberAt(object, "spec", "replicas") ?? 0;
    const lies = this.#options.conduct?.().lies === true;
    const written = report(grant, {
      desired,
      updated: lies ? desired : ready.filter((pod) => this.#revisionOf(pod) === grant.revision).length,
      ready: lies ? desired : ready.length,
      present: lies ? desired : pods.length,
      ...(leader !== undefined && { leader: leaderHere ? leader : "" }),
      // One operator reports it: the leader's cluster.
      ...(leaderHere &&
        membership && { membership: { members: [...membership.members], at: timestamp(membership.atMs) } }),
    });
    return this.#say(object, {
      observedGeneration: object.metadata.generation ?? 0,
      replicas: lies ? desired : pods.length,
      readyReplicas: written.ready,
      updatedReplicas: written.updated,
      leader: leader ?? "",
      crossCluster: { ...written },
    });
  }

  async #say(object: KubeObject, status: JsonObject): Promise<void> {
    if (sameJson(withoutTime(object.status), withoutTime(status))) return;
    // With the resourceVersion that was read: a report is never written to a newer version of the object.
    await this.#options.api.updateStatus({ ...object, status });
  }

  #podsOf(object: KubeObject): KubeObject[] {
    const { name, namespace } = object.metadata;
    return this.#options.api
      .list(PODS, namespace)
      .filter(({ metadata }) => metadata.labels?.[this.#marks.owner] === name);
  }

  #isReady(pod: KubeObject): boolean {
    return isRunning(pod) && this.#admitted.has(pod.metadata.name);
  }

  #revisionOf(pod: KubeObject): string {
    return pod.metadata.labels?.[this.#marks.revision] ?? "";
  }
}

function configMapOf(object: KubeObject | undefined): ConfigMap | undefined {
  const texts = Object.entries(objectAt(object, "data")).filter(
    (entry): entry is [string, string] => typeof entry[1] === "string",
  );
  return object && { data: Object.fromEntries(texts) };
}

function whyNothing(reading: Exclude<GrantReading, { state: "granted" }>): string {
  switch (reading.state) {
    case "none":
      return "not managed by Lockstep; no action";
    case "referenced":
      return `the topology is in ConfigMaps that do not exist: ${reading.configMaps.join(", ")}; no action`;
    case "malformed":
      return reading.problems.join("; ");
  }
}

function specOf(object: KubeObject, { revision }: Grant): InstanceSpec {
  return { revision, image: textAt(object, "spec", "image"), args: textsAt(object, "spec", "args") };
}

function instanceSpec(text: string | undefined): InstanceSpec | undefined {
  const value: unknown = JSON.parse(text ?? "null");
  if (!isJsonObject(value)) return undefined;
  return { revision: textAt(value, "revision"), image: textAt(value, "image"), args: textsAt(value, "args") };
}

/** A list with the same content is not news. */
function withoutTime(status: KubeObject["status"]): JsonObject {
  const { membersAt: _time, ...told } = objectAt(status, "crossCluster");
  return { ...objectAt(status), crossCluster: told };
}

function claimName(instance: string): string {
  return `data-${instance}`;
}

/** A terminating pod serves no requests. */
function isRunning(pod: KubeObject): boolean {
  return !isDeleting(pod) && conditionOf(pod, "Ready")?.status === "True";
}
