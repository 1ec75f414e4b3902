import type { KubeObject } from "../../apiserver/index.ts";
import { WorkQueue } from "../../kube/index.ts";
import type { JsonObject } from "../../runtime/index.ts";
import { type Grant, readGrant, report } from "../../sdk/index.ts";
import type { LocalApi } from "../local-api.ts";
import type { MemberControllerOptions } from "../member/statefulset.ts";
import { conditionOf, equal, isDeleting, keyOf, numberAt, objectAt, splitKey, textAt, timestamp } from "../values.ts";
import type { XlineApplication } from "./application.ts";
import { XLINE_API_VERSION, XLINE_KIND, XLINES } from "./kinds.ts";

const PODS = "/pods";
const CLAIMS = "/persistentvolumeclaims";
/** On pods: whose they are. */
const CLUSTER_LABEL = "apps.my.io/xline-cluster";
/** On pods and claims: the revision that the instance runs, or is to run when it is made again. */
const REVISION = "apps.my.io/revision";

export interface XlineOperatorOptions extends MemberControllerOptions {
  /** The database behind an object, which all clusters share. */
  readonly application: (key: string) => XlineApplication;
}

/** One instance of this cluster, as the grant and the API server have it. */
interface Instance {
  readonly name: string;
  readonly state: "member" | "joining" | "leaving";
  readonly pod: KubeObject | undefined;
  readonly claim: KubeObject | undefined;
}

/**
 * An operator on Lockstep's contract, in one member: the shortest one that does all of it. It acts on its spec only with the
 * turn, one instance at a time, and reports on the epoch that it read. Its instances are pods of the simulated node.
 */
export class XlineOperator {
  readonly #options: XlineOperatorOptions;
  readonly #queue: WorkQueue;

  constructor(options: XlineOperatorOptions) {
    const { api, clock, random, log } = options;
    this.#options = options;
    this.#queue = new WorkQueue({ clock, random, log, concurrency: 1, work: (key) => this.#sync(key) });
    api.on(XLINES, ({ key }) => this.#add(keyOf(key.namespace, key.name)));
    api.on(PODS, ({ type, object }) => this.#podChanged(object, type === "DELETED"));
  }

  start(): void {
    this.#queue.start();
    this.syncAll();
  }

  syncAll(): void {
    for (const { metadata } of this.#options.api.list(XLINES))
      this.#add(keyOf(metadata.namespace ?? "", metadata.name));
  }

  stop(): Promise<void> {
    return this.#queue.shutdown();
  }

  #add(key: string): void {
    this.#queue.addAfter(key, this.#options.reactionMs);
  }

  #podChanged(pod: KubeObject, gone: boolean): void {
    const owner = pod.metadata.labels?.[CLUSTER_LABEL];
    if (owner === undefined) return;
    const key = keyOf(pod.metadata.namespace ?? "", owner);
    this.#options.application(key).running(pod.metadata.name, !gone && isReady(pod));
    this.#add(key);
  }

  async #sync(key: string): Promise<undefined> {
    const { api, isUp } = this.#options;
    if (!isUp()) return undefined;
    const { namespace, name } = splitKey(key);
    const object = api.get(XLINES, namespace, name);
    if (!object) return undefined;
    // The contract, 1: the grant is read once, with the spec that it belongs to.
    const reading = readGrant(object);
    if (reading.state === "malformed") return this.#say(object, { message: reading.problems.join("; ") });
    if (reading.state === "none") return this.#say(object, { message: "not managed by Lockstep; nothing is done" });
    const { grant } = reading;
    const application = this.#options.application(key);
    await this.#act(object, grant, application);
    return this.#report(object, grant, application);
  }

  /** At most one thing; what comes of it brings the operator back. */
  async #act(object: KubeObject, grant: Grant, application: XlineApplication): Promise<void> {
    const instances = this.#instances(object, grant);
    // The contract, 2: an instance that was lost comes back as it was, whoever has the turn.
    const lost = instances.find(({ state, pod, claim }) => state === "member" && !pod && revisionOf(claim) !== "");
    if (lost) return this.#start(object, lost.name, revisionOf(lost.claim));
    if (!grant.processor) return undefined;

    const { transferLeaderTo } = grant;
    if (transferLeaderTo !== undefined && instances.some(({ name }) => name === application.leader)) {
      application.transfer(transferLeaderTo);
    }
    const leaving = instances.find(({ state, pod, claim }) => state === "leaving" && (pod || revisionOf(claim) !== ""));
    if (leaving) return this.#remove(leaving, application);
    const staying = instances.filter(({ state }) => state !== "leaving");
    const outdated = staying.filter(
      ({ pod }, at) => pod && at >= grant.partition && revisionOf(pod) !== grant.revision,
    );
    const unready = staying.find(({ pod }) => pod && !isReady(pod));
    if (unready) {
      // One at a time; only a broken one of the old revision does not have to be waited for.
      return outdated.includes(unready) && unready.pod && !isDeleting(unready.pod)
        ? this.#restart(unready, grant)
        : undefined;
    }
    const joining = staying.find(({ pod }) => !pod);
    if (joining) {
      application.join(joining.name);
      return this.#start(object, joining.name, grant.revision);
    }
    const next = outdated.findLast(({ name }) => name !== application.leader) ?? outdated.at(-1);
    return next && this.#restart(next, grant);
  }

  #instances(object: KubeObject, grant: Grant): Instance[] {
    const { api } = this.#options;
    const namespace = object.metadata.namespace ?? "";
    const own = grant.topology.find(({ cluster }) => cluster === grant.cluster);
    return (own?.instances ?? []).map((name, at) => ({
      name,
      state: own?.states[at] ?? "member",
      pod: api.get(PODS, namespace, name),
      claim: api.get(CLAIMS, namespace, claimName(name)),
    }));
  }

  async #start(object: KubeObject, name: string, revision: string): Promise<void> {
    const { api } = this.#options;
    const namespace = object.metadata.namespace ?? "";
    await this.#remember(namespace, name, revision);
    const owner = { apiVersion: XLINE_API_VERSION, kind: XLINE_KIND, name: object.metadata.name, controller: true };
    await api.create({
      apiVersion: "v1",
      kind: "Pod",
      metadata: {
        name,
        namespace,
        labels: { [CLUSTER_LABEL]: object.metadata.name, [REVISION]: revision },
        ownerReferences: [{ ...owner, uid: object.metadata.uid ?? "" }],
      },
      spec: {
        containers: [{ name: "xline", image: textAt(object, "spec", "image") }],
        volumes: [{ name: "data", persistentVolumeClaim: { claimName: claimName(name) } }],
      },
    });
  }

  /** The claim outlives the pod and says what the instance runs; an empty revision: it was removed, only its data is left. */
  async #remember(namespace: string, instance: string, revision: string): Promise<void> {
    const { api } = this.#options;
    const found = api.get(CLAIMS, namespace, claimName(instance));
    const annotations = { ...found?.metadata.annotations, [REVISION]: revision };
    if (found) return api.update({ ...found, metadata: { ...found.metadata, annotations } });
    return api.create({
      apiVersion: "v1",
      kind: "PersistentVolumeClaim",
      metadata: { name: claimName(instance), namespace, annotations },
      spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
    });
  }

  async #restart({ name, pod }: Instance, grant: Grant): Promise<void> {
    if (!pod) return;
    await this.#remember(pod.metadata.namespace ?? "", name, grant.revision);
    await this.#options.api.delete(pod);
  }

  async #remove({ name, pod, claim }: Instance, application: XlineApplication): Promise<void> {
    application.leave(name);
    if (pod && !isDeleting(pod)) await this.#options.api.delete(pod);
    if (claim && !pod) await this.#remember(claim.metadata.namespace ?? "", name, "");
  }

  #report(object: KubeObject, grant: Grant, application: XlineApplication): Promise<undefined> {
    const { api, clock } = this.#options;
    const pods = podsOf(api, object);
    const ready = pods.filter(isReady);
    const { leader, members } = application;
    const leaderHere = leader !== undefined && this.#instances(object, grant).some(({ name }) => name === leader);
    const written = report(grant, {
      desired: numberAt(object, "spec", "replicas") ?? 0,
      updated: ready.filter((pod) => revisionOf(pod) === grant.revision).length,
      ready: ready.length,
      present: pods.length,
      ...(leader !== undefined && { leader: leaderHere ? leader : "" }),
      // Only the leader's word is known to be current.
      ...(leaderHere && { membership: { members: [...members], at: timestamp(clock.now()) } }),
    });
    return this.#say(object, {
      observedGeneration: object.metadata.generation ?? 0,
      replicas: pods.length,
      readyReplicas: ready.length,
      updatedReplicas: written.updated,
      leader: leader ?? "",
      crossCluster: { ...written },
    });
  }

  async #say(object: KubeObject, status: JsonObject): Promise<undefined> {
    const { api } = this.#options;
    if (equal(withoutTime(object.status), withoutTime(status))) return undefined;
    // With the resourceVersion that was read: a report never lands on an object that it is not about.
    await api.updateStatus({ ...object, status });
    return undefined;
  }
}

/** A list that is read again and says the same is no news. */
function withoutTime(status: KubeObject["status"]): JsonObject {
  const { membersAt: _time, ...told } = objectAt(status, "crossCluster");
  return { ...objectAt(status), crossCluster: told };
}

function podsOf(api: LocalApi, object: KubeObject): KubeObject[] {
  return api
    .list(PODS, object.metadata.namespace)
    .filter((pod) => pod.metadata.labels?.[CLUSTER_LABEL] === object.metadata.name);
}

function claimName(instance: string): string {
  return `data-${instance}`;
}

function revisionOf(object: KubeObject | undefined): string {
  return object?.metadata.labels?.[REVISION] ?? object?.metadata.annotations?.[REVISION] ?? "";
}

/** One that is going away serves nobody. */
function isReady(pod: KubeObject): boolean {
  return !isDeleting(pod) && conditionOf(pod, "Ready")?.status === "True";
}
