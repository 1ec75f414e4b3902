import type { ApiServer, Commit, KubeObject } from "../../../apiserver/index.ts";
import { isJsonObject, type JsonObject, timestamp } from "../../../runtime/index.ts";
import type { Dice } from "../../seed/dice.ts";
import type { Reach } from "../../seed/reach.ts";
import { OCM_DISPATCHING } from "../../world/dispatching.ts";
import type { World } from "../../world/world.ts";
import { Chores, type Span } from "../chores.ts";
import { HubRefused, write } from "../hub.ts";
import { OcmAgent } from "./agent.ts";
import { MemberDoor } from "./door.ts";
import type { OcmMember } from "./spoke.ts";

/** How a cluster takes part in the fleet. */
export interface Joined {
  /** A Secret gives access to its API server; otherwise its agent's reports are all that is known of it. */
  readonly access: boolean;
  readonly polls: boolean;
}

export interface OcmOptions {
  readonly world: World;
  readonly server: ApiServer;
  readonly members: ReadonlyMap<string, OcmMember>;
  readonly reach: Reach;
  readonly joinedAs: (cluster: string) => Joined;
  /** Agents report whole parts of objects, by a gate that is off by default. */
  readonly reportsParts: boolean;
  /** How much later than usual Placements decide; absent: they are not late. */
  readonly lagMs?: number;
}

const CLUSTERS_API = "/apis/cluster.open-cluster-management.io/v1/managedclusters";
export const PLACEMENTS_API = "/apis/cluster.open-cluster-management.io/v1beta1";
const PLACEMENTS = "cluster.open-cluster-management.io/placements";
const OWN_APP_LABEL = "lockstep.karmada.io/app";
const UNREACHABLE = "cluster.open-cluster-management.io/unreachable";
/** Five leases after the last renewal; a lease is a minute in production. */
const LEASE_MS: Span = [1_000, 2_000];
const LEASES = 5;
const BACK_MS: Span = [400, 800];
const DECIDE_MS: Span = [50, 300];
/** After its availability has changed, a cluster is tainted, or its taint is removed. */
const TAINT_MS: Span = [50, 1_500];
/** How long an agent still reaches the hub after its cluster was detached. */
const DETACHING_MS = 2_000;

/**
 * A small model of Open Cluster Management: ManagedClusters whose availability follows their agents' leases, agents that
 * apply ManifestWorks and report on them, and Placements that select every available cluster.
 */
export class OcmModel {
  readonly #options: OcmOptions;
  readonly #chores: Chores;
  readonly #dice: Dice;
  readonly #agents = new Map<string, OcmAgent>();
  readonly #doors = new Map<string, MemberDoor>();
  /** Clusters whose lease is not renewed, although the hub can be reached. */
  readonly #unregistered = new Set<string>();
  readonly #unavailable = new Set<string>();
  readonly #tainted = new Set<string>();
  /** The controllers that taint clusters and decide. */
  readonly #selecting: Chores;
  readonly #left = new Set<string>();
  readonly #placements = new Map<string, KubeObject>();
  readonly #decided = new Map<string, ReadonlySet<string>>();

  constructor(options: OcmOptions) {
    this.#options = options;
    const { world, server, members, reach, joinedAs, reportsParts } = options;
    this.#dice = world.dice.branch("ocm");
    this.#chores = new Chores(world, this.#dice);
    this.#selecting = new Chores(world, world.dice.branch("ocm selection"));
    for (const [name, member] of members) {
      const { polls } = joinedAs(name);
      const agent = new OcmAgent({ world, server, chores: this.#chores, member, reach, polls, reportsParts });
      this.#agents.set(name, agent);
      this.#doors.set(name, new MemberDoor(member, agent.spoke));
      if (polls) reach.count("an agent polls");
    }
    server.onCommit((commit) => this.#observe(commit));
  }

  /** A member's own API server, for a client that has the credentials. */
  door(cluster: string): MemberDoor {
    const door = this.#doors.get(cluster);
    if (!door) throw new Error(`there is no cluster ${cluster}`);
    return door;
  }

  async start(): Promise<void> {
    const { server, members, joinedAs } = this.#options;
    for (const name of members.keys()) {
      await write(server, "POST", CLUSTERS_API, {
        apiVersion: "cluster.open-cluster-management.io/v1",
        kind: "ManagedCluster",
        metadata: { name },
        spec: { hubAcceptsClient: true, leaseDurationSeconds: 1 },
      });
      await this.#writeAvailable(name, true);
      if (!joinedAs(name).access) continue;
      const text = (value: string) => Buffer.from(value).toString("base64");
      await write(server, "POST", `/api/v1/namespaces/${name}/secrets`, {
        apiVersion: "v1",
        kind: "Secret",
        metadata: { name: "access", namespace: name, labels: { "lockstep.karmada.io/member-access": "true" } },
        data: { server: text(`https://${name}`), token: text("token") },
      });
    }
  }

  cut(cluster: string): void {
    const member = this.#options.members.get(cluster);
    if (!member?.reachable) return;
    member.reachable = false;
    member.store.closeWatches();
    this.#judgeLater(cluster);
  }

  mend(cluster: string): void {
    const member = this.#options.members.get(cluster);
    if (!member || member.reachable || this.#left.has(cluster)) return;
    member.reachable = true;
    this.#agents.get(cluster)?.resume();
    this.#judgeLater(cluster);
  }

  /** `workOnly`: the registration agent is another process, and continues to renew the lease. */
  agentDies(cluster: string, workOnly: boolean): void {
    this.#options.world.note(cluster, workOnly ? "its work agent dies" : "its agent dies");
    this.#agents.get(cluster)?.die();
    if (workOnly) return;
    this.#unregistered.add(cluster);
    this.#judgeLater(cluster);
  }

  agentReturns(cluster: string): void {
    const agent = this.#agents.get(cluster);
    if (!agent || agent.isAlive || this.#left.has(cluster)) return;
    this.#options.world.note(cluster, "its agent is back");
    agent.revive();
    this.#unregistered.delete(cluster);
    this.#judgeLater(cluster);
  }

  isHeard(cluster: string): boolean {
    return this.#options.members.get(cluster)?.reachable === true && this.#agents.get(cluster)?.isAlive === true;
  }

  /** The cluster is detached: its ManifestWorks are deleted at once, and its agent does its part for a moment. */
  async leave(cluster: string): Promise<void> {
    const { server, members, world, reach } = this.#options;
    const member = members.get(cluster);
    if (!member || this.#left.has(cluster)) return;
    this.#left.add(cluster);
    world.note("ocm", `${cluster} is detached`);
    await write(server, "DELETE", `${CLUSTERS_API}/${cluster}`);
    const works = await this.#worksOf(cluster);
    for (const work of works) await write(server, "DELETE", work).catch(unlessGone);
    if (works.length > 0) reach.count("works deleted with their cluster");
    world.after(DETACHING_MS, `detached ${cluster}`, () => {
      member.reachable = false;
      member.store.closeWatches();
      void this.#worksOf(cluster).then((left) => Promise.all(left.map((work) => this.#tearOff(work))));
    });
  }

  /** A user deletes what Lockstep dispatched: without the agent's part in it. */
  async tearOff(cluster: string): Promise<boolean> {
    const works = await this.#worksOf(cluster, `?labelSelector=${OWN_APP_LABEL}`);
    for (const work of works) {
      await this.#tearOff(work);
      await write(this.#options.server, "DELETE", work).catch(unlessGone);
    }
    return works.length > 0;
  }

  hubDown(isDown: boolean): void {
    for (const chores of [this.#chores, this.#selecting]) {
      if (isDown) chores.hold();
      else chores.resume();
    }
  }

  async #tearOff(path: string): Promise<void> {
    const { server } = this.#options;
    await write(server, "PATCH", path, { metadata: { finalizers: null } }).catch(unlessGone);
  }

  async #worksOf(cluster: string, query = ""): Promise<string[]> {
    const path = OCM_DISPATCHING.worksPath(cluster);
    const list: unknown = await write(this.#options.server, "GET", `${path}${query}`);
    const items = isJsonObject(list) && Array.isArray(list.items) ? (list.items as unknown as KubeObject[]) : [];
    return items.map(({ metadata }) => `${path}/${metadata.name}`);
  }

  #observe(commit: Commit): void {
    const { key, object, type } = commit;
    if (key.resource === OCM_DISPATCHING.works) this.#agents.get(key.namespace ?? "")?.observe(commit);
    if (key.resource !== PLACEMENTS || type === "DELETED") return;
    this.#placements.set(`${key.namespace}/${key.name}`, object);
    if (type === "ADDED") this.#decideLater(`${key.namespace}/${key.name}`);
  }

  /** What the hub will think of the cluster, once its lease has run out or is renewed. */
  #judgeLater(cluster: string): void {
    const member = this.#options.members.get(cluster);
    const isRenewed = () => member?.reachable === true && !this.#unregistered.has(cluster);
    const leaseMs = this.#dice.whole(...LEASE_MS);
    const expiry: Span = [(LEASES - 1) * leaseMs, LEASES * leaseMs];
    const wanted = isRenewed();
    const judge = () => {
      if (isRenewed() !== wanted || this.#left.has(cluster)) return;
      if (wanted === this.#unavailable.has(cluster))
        this.#chores.write(() => this.#writeAvailable(cluster, wanted), judge);
    };
    this.#chores.after(wanted ? BACK_MS : expiry, `judge ${cluster}`, judge);
  }

  async #writeAvailable(cluster: string, isAvailable: boolean): Promise<void> {
    const { world, server } = this.#options;
    world.note("ocm", `${cluster} is ${isAvailable ? "available" : "not available"}`);
    if (isAvailable) this.#unavailable.delete(cluster);
    else this.#unavailable.add(cluster);
    const lastTransitionTime = timestamp(world.startWallMs + world.nowMs);
    const condition = (type: string, status: string) => ({ type, status, reason: type, lastTransitionTime });
    const conditions = [
      condition("HubAcceptedManagedCluster", "True"),
      condition("ManagedClusterJoined", "True"),
      condition("ManagedClusterConditionAvailable", isAvailable ? "True" : "Unknown"),
    ];
    await write(server, "PATCH", `${CLUSTERS_API}/${cluster}/status`, { status: { conditions } });
    this.#selecting.once(`taint ${cluster}`, TAINT_MS, () => this.#taint(cluster));
  }

  /** Another controller than the one that judges: for a moment a cluster that is back still has its taint. */
  async #taint(cluster: string): Promise<void> {
    const isTainted = this.#unavailable.has(cluster);
    if (this.#left.has(cluster) || isTainted === this.#tainted.has(cluster)) return;
    const taints = isTainted ? [{ key: UNREACHABLE, effect: "NoSelect" }] : null;
    await write(this.#options.server, "PATCH", `${CLUSTERS_API}/${cluster}`, { spec: { taints } });
    if (isTainted) this.#tainted.add(cluster);
    else this.#tainted.delete(cluster);
    for (const id of this.#placements.keys()) this.#decideLater(id);
  }

  #decideLater(id: string): void {
    // The first decision of all is not late: nothing waits for it but the deployment.
    const lagMs = this.#decided.has(id) ? (this.#options.lagMs ?? 0) : 0;
    this.#selecting.once(`decide ${id}`, [DECIDE_MS[0], DECIDE_MS[1] + lagMs], () => this.#decide(id));
  }

  async #decide(id: string): Promise<void> {
    const { server, members, reach } = this.#options;
    const placement = this.#placements.get(id);
    if (!placement) return;
    const { name, namespace } = placement.metadata;
    const tolerates = JSON.stringify(placement.spec ?? {}).includes('"operator":"Exists"');
    const selected = [...members.keys()].filter((each) => {
      return !this.#left.has(each) && (tolerates || !this.#tainted.has(each));
    });
    const before = this.#decided.get(id);
    this.#decided.set(id, new Set(selected));
    if (before && selected.some((each) => !before.has(each)))
      reach.count("a Placement selects a returned cluster again");
    const base = `${PLACEMENTS_API}/namespaces/${namespace}`;
    const decision = `${name}-decision-1`;
    const labels = { "cluster.open-cluster-management.io/placement": name };
    const object: JsonObject = {
      apiVersion: "cluster.open-cluster-management.io/v1beta1",
      kind: "PlacementDecision",
      metadata: { name: decision, namespace: namespace ?? "", labels },
    };
    await write(server, "POST", `${base}/placementdecisions`, object).catch(unlessThere);
    const decisions = selected.map((clusterName) => ({ clusterName, reason: "" }));
    await write(server, "PATCH", `${base}/placementdecisions/${decision}/status`, { status: { decisions } });
    const conditions = [{ type: "PlacementSatisfied", status: "True", reason: "AllDecisionsScheduled", message: "" }];
    const status = { numberOfSelectedClusters: selected.length, conditions };
    await write(server, "PATCH", `${base}/placements/${name}/status`, { status });
  }
}

function unlessGone(error: unknown): void {
  if (!(error instanceof HubRefused) || error.status !== 404) throw error;
}

function unlessThere(error: unknown): void {
  if (!(error instanceof HubRefused) || error.status !== 409) throw error;
}
