/**
 * An operator for etcd over several clusters, on Lockstep's SDK alone. One runs in each cluster, and only ever talks to
 * its own API server and to etcd.
 */
import {
  type Clock,
  isJsonObject,
  type JsonObject,
  type Log,
  type Random,
  sameJson,
  type Transport,
  timestamp,
} from "../../../src/runtime/index.ts";
import {
  apiPath,
  type Grant,
  type InstanceView,
  type MemberClient,
  type MemberObject,
  nextStep,
  operate,
  readWholeGrant,
  report,
  reportPatch,
  type Step,
} from "../../../src/sdk/index.ts";
import { type Ask, Etcd, type EtcdView } from "./etcd.ts";
import { claimName, claimOf, LABELS, podOf, RUNS, type Runs, type Surroundings } from "./pod.ts";

export const KIND = { apiVersion: "example.io/v1alpha1", plural: "etcdclusters" } as const;

export interface EtcdOperatorOptions extends Surroundings {
  /** To the API server of this cluster. */
  readonly transport: Transport;
  readonly ask: Ask;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

/** etcd does not tell when its leader or its members change. */
const RESYNC_MS = 500;
/** A member list without news is confirmed again this often. */
const CONFIRM_MS = 10_000;

/** Runs until the signal aborts. */
export function runEtcdOperator(options: EtcdOperatorOptions, signal: AbortSignal): Promise<void> {
  const { transport, clock, random, log } = options;
  const reconcile = (object: MemberObject, api: MemberClient) => new Reconcile(options, object, api).run();
  return operate({ transport, clock, random, log, kind: KIND, resyncMs: RESYNC_MS, reconcile }, signal);
}

/** One reconcile of one object: read the grant, look, do one step, report what was seen. */
class Reconcile {
  readonly #options: EtcdOperatorOptions;
  readonly #object: MemberObject;
  readonly #api: MemberClient;

  constructor(options: EtcdOperatorOptions, object: MemberObject, api: MemberClient) {
    this.#options = options;
    this.#object = object;
    this.#api = api;
  }

  async run(): Promise<void> {
    const reading = await readWholeGrant(this.#object, (name) => this.#api.get(this.#path("v1", "configmaps", name)));
    if (reading.state === "malformed") return this.#say({ message: reading.problems.join("; ") });
    // Not ours, or its topology is on its way.
    if (reading.state !== "granted") return;
    const { grant } = reading;
    const own = grant.topology.find(({ cluster }) => cluster === grant.cluster);
    const etcd = new Etcd(this.#options.ask, whomToAsk(grant));
    const view = await etcd.view().catch(() => undefined);
    const instances = await Promise.all(
      (own?.instances ?? []).map((name, at) =>
        this.#look(name, own?.addresses[at] ?? "", own?.states[at] ?? "member", etcd),
      ),
    );
    const leader = instances.find(({ address }) => address === view?.leader?.address)?.name;
    const step = nextStep(grant, instances, leader ?? (view?.leader && nameOf(view.leader.address, grant)));
    const outcome = await this.#act(step, grant, etcd, view).catch((error: unknown) => String(error));
    await this.#report(grant, instances, view, outcome);
  }

  async #look(name: string, address: string, state: InstanceView["state"], etcd: Etcd): Promise<InstanceView> {
    const [pod, claim] = [await this.#api.get(this.#path("v1", "pods", name)), await this.#claim(name)];
    const hasVolume = runsOf(claim) !== undefined;
    const revision = pod?.metadata.labels?.[LABELS.revision] ?? "";
    if (!pod) return { name, address, state, process: "none", hasVolume };
    if (pod.metadata.deletionTimestamp !== undefined)
      return { name, address, state, process: "ending", revision, hasVolume };
    const takesPart = isReady(pod) && (await etcd.takesPart(address));
    const process = takesPart ? "ready" : isCrashed(pod) ? "down" : "starting";
    return { name, address, state, process, revision, hasVolume };
  }

  /** Returns why nothing could be done. */
  async #act(step: Step, grant: Grant, etcd: Etcd, view: EtcdView | undefined): Promise<string | undefined> {
    const learner = view?.members.find(({ address, isLearner }) => isLearner && nameOf(address, grant, grant.cluster));
    if (learner && grant.processor) await etcd.promote(learner);
    const member = (address: string) => view?.members.find((each) => each.address === address);
    switch (step.do) {
      case "nothing":
        return undefined;
      case "wait":
        return step.why;
      case "transferLeader": {
        const target = member(addressOf(step.to, grant));
        if (view?.leader && target) await etcd.moveLeader(view.leader, target);
        return undefined;
      }
      case "recreate": {
        const claim = await this.#claim(step.instance.name);
        const runs = runsOf(claim);
        if (claim && runs) await this.#start(step.instance, runs, claim, grant);
        return undefined;
      }
      case "restart": {
        const { name, address } = step.instance;
        if (await this.#stepDown(address, etcd, view)) return `the leader moves before ${name} restarts`;
        await this.#remember(name, this.#runs(grant));
        await this.#deletePod(name);
        return undefined;
      }
      case "remove": {
        const { name, address } = step.instance;
        if (await this.#stepDown(address, etcd, view)) return `the leader moves before ${name} is removed`;
        const leaving = member(address);
        if (leaving) await etcd.remove(leaving);
        else if (!view) return "etcd does not answer, so no member is removed";
        await this.#deletePod(name);
        const claim = await this.#claim(name);
        if (claim) await this.#api.delete(this.#path("v1", "persistentvolumeclaims", claim.metadata.name), claim);
        return undefined;
      }
      case "join": {
        const { name, address, state } = step.instance;
        const isFirst = grant.initialClusterState === "new";
        if (!isFirst && !view) return "etcd does not answer, so no member is added";
        const earlier = member(address);
        // Its volume is lost, and with it what it promised to others: it must not return under the same ID.
        if (earlier && (state === "member" || !earlier.isLearner) && !isFirst) await etcd.remove(earlier);
        if (!isFirst && !(earlier?.isLearner && state === "joining")) await etcd.add(address);
        const claim =
          (await this.#claim(name)) ??
          (await this.#api.create(this.#path("v1", "persistentvolumeclaims"), claimOf(name, this.#runs(grant))));
        await this.#start(step.instance, this.#runs(grant), claim, grant);
        return undefined;
      }
    }
  }

  /**
   * A leader that is about to stop hands over first. It stops in a later reconcile, so that requests that were under way
   * to it have a place to be repeated.
   */
  async #stepDown(address: string, etcd: Etcd, view: EtcdView | undefined): Promise<boolean> {
    const to = view?.members.find((each) => each.address !== address && !each.isLearner);
    if (view?.leader?.address !== address || !to) return false;
    await etcd.moveLeader(view.leader, to);
    return true;
  }

  async #start(instance: InstanceView, runs: Runs, claim: MemberObject, grant: Grant): Promise<void> {
    await this.#api.create(this.#path("v1", "pods"), podOf(this.#object, instance, runs, claim, grant, this.#options));
  }

  async #remember(instance: string, runs: Runs): Promise<void> {
    const path = this.#path("v1", "persistentvolumeclaims", claimName(instance));
    await this.#api.patch(path, { metadata: { annotations: { [RUNS]: JSON.stringify(runs) } } });
  }

  async #deletePod(name: string): Promise<void> {
    const path = this.#path("v1", "pods", name);
    const pod = await this.#api.get(path);
    if (pod) await this.#api.delete(path, pod);
  }

  #claim(instance: string): Promise<MemberObject | undefined> {
    return this.#api.get(this.#path("v1", "persistentvolumeclaims", claimName(instance)));
  }

  /** Everything is counted before the step: the next reconcile reports its result. */
  async #report(
    grant: Grant,
    instances: readonly InstanceView[],
    view: EtcdView | undefined,
    message?: string,
  ): Promise<void> {
    const present = instances.filter(({ process }) => process !== "none");
    const ready = present.filter(({ process }) => process === "ready");
    const { spec } = this.#object;
    const desired = isJsonObject(spec) && typeof spec.replicas === "number" ? spec.replicas : 0;
    const leads = view?.leader && instances.find(({ address }) => address === view.leader?.address);
    const written = report(grant, {
      desired,
      updated: ready.filter(({ revision }) => revision === grant.revision).length,
      ready: ready.length,
      present: present.length,
      ...(view?.leader && { leader: leads?.name ?? "" }),
      // One operator reports the members: that of the leader's cluster.
      ...(leads && {
        membership: {
          members: view.members.map(({ address }) => nameOf(address, grant) ?? address),
          at: timestamp(this.#options.clock.now()),
        },
      }),
      ...(message !== undefined && { message }),
    });
    await this.#say({
      observedGeneration: this.#object.metadata.generation ?? 0,
      replicas: present.length,
      readyReplicas: written.ready,
      updatedReplicas: written.updated,
      leader: leads?.name ?? "",
      ...reportPatch(written).status,
    });
  }

  async #say(status: JsonObject): Promise<void> {
    if (this.#isSaid(status)) return;
    // With the resourceVersion that was read: a report is never written to a newer version of the object.
    const { name, resourceVersion = "" } = this.#object.metadata;
    await this.#api.patch(`${this.#path(KIND.apiVersion, KIND.plural, name)}/status`, {
      metadata: { resourceVersion },
      status,
    });
  }

  #isSaid(status: JsonObject): boolean {
    const told = (value: unknown) => {
      const { crossCluster, ...rest } = isJsonObject(value) ? value : {};
      const { membersAt: _at, ...report } = isJsonObject(crossCluster) ? crossCluster : {};
      return { ...rest, crossCluster: Object.fromEntries(Object.entries(report).filter(([, each]) => each !== null)) };
    };
    if (!sameJson(told(this.#object.status), told(status))) return false;
    const before = isJsonObject(this.#object.status) ? this.#object.status.crossCluster : undefined;
    const at = isJsonObject(before) && typeof before.membersAt === "string" ? Date.parse(before.membersAt) : undefined;
    return at === undefined || this.#options.clock.now() - at < CONFIRM_MS;
  }

  #runs({ revision }: Grant): Runs {
    const { image, args } = isJsonObject(this.#object.spec) ? this.#object.spec : {};
    return {
      revision,
      image: typeof image === "string" ? image : "",
      args: Array.isArray(args) ? args.filter((each) => typeof each === "string") : [],
    };
  }

  #path(apiVersion: string, plural: string, name = ""): string {
    const all = apiPath(apiVersion, plural, this.#object.metadata.namespace);
    return name === "" ? all : `${all}/${name}`;
  }
}

/** Its container does not run. One that runs and is not ready may wait for others: a restart would not help. */
function isCrashed({ status }: MemberObject): boolean {
  const containers = isJsonObject(status) && Array.isArray(status.containerStatuses) ? status.containerStatuses : [];
  return containers.some((each) => isJsonObject(each) && isJsonObject(each.state) && each.state.waiting !== undefined);
}

function isReady({ status }: MemberObject): boolean {
  const conditions =
    isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
  return conditions.some(({ type, status: is }) => type === "Ready" && is === "True");
}

function runsOf(claim: MemberObject | undefined): Runs | undefined {
  if (!claim || claim.metadata.deletionTimestamp !== undefined) return undefined;
  const text = claim.metadata.annotations?.[RUNS];
  return text === undefined ? undefined : (JSON.parse(text) as Runs);
}

/** Members of this cluster first, then those of others. One that joins does not answer for all yet, so it comes last. */
function whomToAsk({ topology, cluster }: Grant): string[] {
  const own = topology.filter((each) => each.cluster === cluster);
  const others = topology.filter((each) => each.cluster !== cluster);
  const all = [...own, ...others].flatMap(({ addresses, states }) =>
    addresses.map((address, at) => ({ address, isJoining: states[at] === "joining" })),
  );
  return [...all.filter(({ isJoining }) => !isJoining), ...all.filter(({ isJoining }) => isJoining)].map(
    ({ address }) => address,
  );
}

/** The instance with this address, in one cluster or in all. */
function nameOf(address: string, { topology }: Grant, cluster?: string): string | undefined {
  for (const each of topology) {
    const at = each.addresses.indexOf(address);
    if (at >= 0 && (cluster === undefined || each.cluster === cluster)) return each.instances[at];
  }
  return undefined;
}

function addressOf(instance: string, { topology }: Grant): string {
  for (const { instances, addresses } of topology) {
    const at = instances.indexOf(instance);
    if (at >= 0) return addresses[at] ?? "";
  }
  return "";
}
