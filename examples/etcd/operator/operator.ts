/**
 * An operator for etcd over several clusters, on Lockstep's SDK alone. One runs in each cluster, and only ever talks to
 * its own API server and to etcd.
 */
import {
  apiPath,
  type Clock,
  type Grant,
  type InstanceView,
  isJsonObject,
  type JsonObject,
  type Log,
  type MemberClient,
  type MemberObject,
  type MemberReport,
  nextStep,
  operate,
  type Random,
  readWholeGrant,
  report,
  reportPatch,
  type Step,
  type Transport,
  timestamp,
} from "lockstep/sdk";
import { type Calm, Calms } from "./calm.ts";
import { type Ask, Etcd, type EtcdMember, type EtcdView } from "./etcd.ts";
import { claimName, claimOf, isOf, LABELS, podOf, RUNS, type Runs, type Surroundings } from "./pod.ts";
import { allNamed, countServing, isSaid, namedIn, reportIn, type Seen } from "./status.ts";
import { addressOf, nameOf, whomToAsk } from "./topology.ts";

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

/** Runs until the signal aborts. */
export function runEtcdOperator(options: EtcdOperatorOptions, signal: AbortSignal): Promise<void> {
  const { transport, clock, random, log } = options;
  const calms = new Calms();
  const reconcile = (object: MemberObject, api: MemberClient) => {
    const calm = calms.of(object.metadata.uid ?? "", clock.monotonicMs());
    return new Reconcile(options, object, api, calm).run();
  };
  return operate({ transport, clock, random, log, kind: KIND, resyncMs: RESYNC_MS, reconcile }, signal);
}

/** One reconcile of one object: read the grant, look, do one step, report what was seen. */
class Reconcile {
  readonly #options: EtcdOperatorOptions;
  readonly #object: MemberObject;
  readonly #api: MemberClient;
  readonly #calm: Calm;

  constructor(options: EtcdOperatorOptions, object: MemberObject, api: MemberClient, calm: Calm) {
    this.#options = options;
    this.#object = object;
    this.#api = api;
    this.#calm = calm;
  }

  async run(): Promise<void> {
    const reading = await readWholeGrant(this.#object, (name) => this.#api.get(this.#path("v1", "configmaps", name)));
    if (reading.state === "malformed") return this.#say({ message: reading.problems.join("; ") });
    // Not ours, or its topology is on its way.
    if (reading.state !== "granted") return;
    const { grant } = reading;
    const own = grant.topology.find(({ cluster }) => cluster === grant.cluster);
    const etcd = new Etcd(this.#options.ask, whomToAsk(grant));
    let view = await etcd.view().catch(() => undefined);
    const instances = await Promise.all(
      (own?.instances ?? []).map((name, at) =>
        this.#look(name, own?.addresses[at] ?? "", own?.states[at] ?? "member", etcd),
      ),
    );
    // The leader may have been lost between the two looks.
    if (view && instances.some(({ process, takesPart }) => process === "starting" && !takesPart)) {
      view = await etcd.view().catch(() => undefined);
    }
    this.#calm.look(view, this.#options.clock.monotonicMs());
    const leader = instances.find(({ address }) => address === view?.leader?.address)?.name;
    const step = nextStep(grant, instances, leader ?? (view?.leader && nameOf(view.leader.address, grant)));
    const outcome = await this.#act(step, grant, instances, etcd, view).catch((error: unknown) => String(error));
    await this.#report(grant, instances, view, outcome);
  }

  async #look(name: string, address: string, state: InstanceView["state"], etcd: Etcd): Promise<Seen> {
    const [pod, claim] = [await this.#pod(name), await this.#claim(name)];
    const hasVolume = runsOf(claim) !== undefined;
    const revision = pod?.metadata.labels?.[LABELS.revision] ?? "";
    const seen = { name, address, state, hasVolume, takesPart: false, tookPart: false };
    if (!pod) return { ...seen, process: "none" };
    if (pod.metadata.deletionTimestamp !== undefined) return { ...seen, process: "ending", revision };
    const takesPart = await etcd.takesPart(address);
    const nowMs = this.#options.clock.monotonicMs();
    if (takesPart) this.#calm.heard(address, nowMs);
    const tookPart = isReady(pod) && this.#calm.wasHeard(address, nowMs);
    const process = takesPart && isReady(pod) ? "ready" : isCrashed(pod) ? "down" : "starting";
    return { ...seen, takesPart, tookPart, process, revision };
  }

  /** Returns why nothing could be done. */
  async #act(
    step: Step,
    grant: Grant,
    instances: readonly Seen[],
    etcd: Etcd,
    view: EtcdView | undefined,
  ): Promise<string | undefined> {
    const behind = grant.processor ? await this.#promote(instances, etcd, view) : undefined;
    const member = (address: string) => view?.members.find((each) => each.address === address);
    const givenUp = grant.processor ? this.#givenUp(grant, view) : undefined;
    if (givenUp) {
      if (!(await this.#stepDown(givenUp.address, grant, etcd, view))) await etcd.remove(givenUp);
      return `${givenUp.address} is removed from etcd: its loss was confirmed`;
    }
    switch (step.do) {
      case "nothing":
        return behind;
      case "wait":
        return behind ?? step.why;
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
      case "restart":
        return this.#restart(step.instance, grant, etcd, view);
      case "remove":
        return this.#remove(step.instance, grant, etcd, view);
      case "join":
        return this.#join(step.instance, grant, etcd, view);
    }
  }

  /**
   * A learner that runs gets its vote when it has caught up; returns why it has none yet. Everything else continues
   * meanwhile: another member may have to return, and a learner that does not run must start first.
   */
  async #promote(instances: readonly Seen[], etcd: Etcd, view: EtcdView | undefined): Promise<string | undefined> {
    for (const { name, address, state, process } of instances) {
      const learner = view?.members.find((each) => each.isLearner && each.address === address);
      if (!learner || process !== "starting" || state === "leaving") continue;
      try {
        await etcd.promote(learner);
      } catch (error) {
        return `${name} is a learner until it has caught up: ${error instanceof Error ? error.message : error}`;
      }
    }
    return undefined;
  }

  async #restart(
    { name, address, process }: InstanceView,
    grant: Grant,
    etcd: Etcd,
    view: EtcdView | undefined,
  ): Promise<string | undefined> {
    // One that does not run is not missed. One that does not answer may: its answer may only be late.
    if (process !== "down") {
      if (!view) return `${name} restarts when etcd shows its members`;
      if (await this.#stepDown(address, grant, etcd, view)) return `the leader moves before ${name} restarts`;
      if (!this.#isCalm()) return `${name} restarts when clients have noticed the last change of etcd`;
      if (!(await etcd.canDoWithout(address, view, "stop"))) {
        return `${name} restarts when the other members are a majority without it; look at those that do not answer`;
      }
    }
    await this.#remember(name, this.#runs(grant));
    await this.#deletePod(name);
    return undefined;
  }

  /**
   * A member and its volume belong together. What is lost on a volume was promised to others, so a member without its
   * volume must not return under the same ID; and a volume without its member is of an earlier life.
   */
  async #join(
    instance: InstanceView,
    grant: Grant,
    etcd: Etcd,
    view: EtcdView | undefined,
  ): Promise<string | undefined> {
    const { name, address } = instance;
    const isFirst = grant.initialClusterState === "new";
    if (!isFirst && !view) return "etcd does not answer, so no member is added";
    await this.#checkName(name);
    const claim = await this.#claim(name);
    if (claim && !runsOf(claim)) {
      return claim.metadata.deletionTimestamp === undefined
        ? `the claim ${claim.metadata.name} is not of this operator: delete it, and ${name} joins`
        : `${name} joins when its lost volume is gone`;
    }
    if (!isFirst) {
      const earlier = view?.members.find((each) => each.address === address);
      if (claim && !earlier) {
        await this.#deleteClaim(claim);
        return `${name} joins when the volume of its earlier life is gone`;
      }
      if (earlier && !claim) await etcd.remove(earlier);
      if (!claim) await etcd.add(address);
    }
    const runs = this.#runs(grant);
    if (claim) await this.#remember(name, runs);
    const path = this.#path("v1", "persistentvolumeclaims");
    await this.#start(instance, runs, claim ?? (await this.#api.create(path, claimOf(name, runs))), grant);
    return undefined;
  }

  #isCalm(): boolean {
    return this.#calm.isCalm(this.#options.clock.monotonicMs());
  }

  /**
   * It stops first and leaves the list then: a member that is out of the list while it runs fails the requests of its
   * clients. Only if the others are no majority of the present list, it must leave the list first.
   */
  async #remove(
    { name, address, process }: InstanceView,
    grant: Grant,
    etcd: Etcd,
    view: EtcdView | undefined,
  ): Promise<string | undefined> {
    if (process === "ending") return `${name} stops before it is removed`;
    if (!view) return "etcd does not answer, so no member is removed";
    const leaving = view.members.find((each) => each.address === address);
    if (leaving && process !== "none" && process !== "down") {
      if (await this.#stepDown(address, grant, etcd, view)) return `the leader moves before ${name} is removed`;
      if (!this.#isCalm()) return `${name} is removed when clients have noticed the last change of etcd`;
      const others = view.members.filter((each) => !each.isLearner && each !== leaving);
      // Of one or two members, none can stop first.
      if (others.length > 1 && (await etcd.canDoWithout(address, view, "stop"))) {
        await this.#deletePod(name);
        return `${name} stops before it is removed`;
      }
    }
    // Whether it answers or not: if it is really down and etcd has a quorum, the others are a majority without it.
    if (leaving && !(await etcd.canDoWithout(address, view, "leave"))) {
      return `${name} is removed when the other members are a majority without it; look at those that do not answer`;
    }
    if (leaving) await etcd.remove(leaving);
    await this.#deletePod(name);
    const claim = await this.#claim(name);
    if (claim) await this.#deleteClaim(claim);
    return undefined;
  }

  /**
   * A member that an earlier topology named and this one does not, and that is still in etcd's list: its cluster is lost,
   * and a user confirmed it. A member that no topology has named to this cluster may be new: a turn may be out of date.
   */
  #givenUp(grant: Grant, view: EtcdView | undefined): EtcdMember | undefined {
    const named = new Set(namedIn(this.#object));
    return view?.members.find(({ address }) => named.has(address) && nameOf(address, grant) === undefined);
  }

  /** A leader that is about to stop hands over first. It stops in a later reconcile, when etcd is calm again. */
  async #stepDown(address: string, grant: Grant, etcd: Etcd, view: EtcdView | undefined): Promise<boolean> {
    if (view?.leader?.address !== address) return false;
    for (const each of view.members) {
      if (each.address === address || nameOf(each.address, grant) === undefined) continue;
      if (!(await etcd.takesPart(each.address))) continue;
      await etcd.moveLeader(view.leader, each);
      return true;
    }
    return false;
  }

  async #start(instance: InstanceView, runs: Runs, claim: MemberObject, grant: Grant): Promise<void> {
    await this.#checkName(instance.name);
    await this.#api.create(this.#path("v1", "pods"), podOf(this.#object, instance, runs, claim, grant, this.#options));
  }

  async #remember(instance: string, runs: Runs): Promise<void> {
    const path = this.#path("v1", "persistentvolumeclaims", claimName(instance));
    await this.#api.patch(path, { metadata: { annotations: { [RUNS]: JSON.stringify(runs) } } });
  }

  /** Throws if another pod has the name of an instance that has none. */
  async #checkName(name: string): Promise<void> {
    const pod = await this.#api.get(this.#path("v1", "pods", name));
    if (!pod || isOf(pod, this.#object)) return;
    const { kind, metadata } = this.#object;
    throw new Error(`the pod ${name} is not of this ${kind} (${metadata.name}): delete it, or give it another name`);
  }

  /** The pod of an instance. Another one of that name is none of ours. */
  async #pod(name: string): Promise<MemberObject | undefined> {
    const pod = await this.#api.get(this.#path("v1", "pods", name));
    return pod && isOf(pod, this.#object) ? pod : undefined;
  }

  async #deletePod(name: string): Promise<void> {
    const pod = await this.#pod(name);
    if (pod) await this.#api.delete(this.#path("v1", "pods", name), pod);
  }

  async #deleteClaim(claim: MemberObject): Promise<void> {
    if (!runsOf(claim)) return;
    await this.#api.delete(this.#path("v1", "persistentvolumeclaims", claim.metadata.name), claim);
  }

  #claim(instance: string): Promise<MemberObject | undefined> {
    return this.#api.get(this.#path("v1", "persistentvolumeclaims", claimName(instance)));
  }

  /** Everything is counted before the step: the next reconcile reports its result. */
  async #report(grant: Grant, instances: readonly Seen[], view: EtcdView | undefined, message?: string): Promise<void> {
    const present = instances.filter(({ process }) => process !== "none");
    const isElecting = !view && this.#calm.isElecting(this.#options.clock.monotonicMs());
    const { serving, isCertain } = countServing(reportIn(this.#object), grant, present, view, isElecting);
    const { spec } = this.#object;
    const desired = isJsonObject(spec) && typeof spec.replicas === "number" ? spec.replicas : 0;
    const leads = view?.leader && instances.find(({ address }) => address === view.leader?.address);
    const told = report(grant, {
      desired,
      updated: serving.filter(({ revision }) => revision === grant.revision).length,
      ready: serving.length,
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
    const written: MemberReport = isCertain ? told : { ...told, phase: "Working" };
    await this.#say({
      observedGeneration: this.#object.metadata.generation ?? 0,
      replicas: present.length,
      readyReplicas: written.ready,
      updatedReplicas: written.updated,
      leader: leads?.name ?? "",
      named: allNamed(this.#object, grant, view),
      ...reportPatch(written).status,
    });
  }

  async #say(status: JsonObject): Promise<void> {
    if (isSaid(this.#object, status, this.#options.clock.now())) return;
    // With the resourceVersion that was read: a report is never written to a newer version of the object.
    const { name, resourceVersion = "" } = this.#object.metadata;
    await this.#api.patch(`${this.#path(KIND.apiVersion, KIND.plural, name)}/status`, {
      metadata: { resourceVersion },
      status,
    });
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
