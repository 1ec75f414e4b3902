import type { ApiServer } from "../../../apiserver/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { PLACED } from "../../seed/ocm.ts";
import type { Reach } from "../../seed/reach.ts";
import type { Scenario } from "../../seed/scenario.ts";
import { OCM_DISPATCHING } from "../../world/dispatching.ts";
import type { AgentFaults, Ground, GroundMember } from "../../world/ground.ts";
import type { Witness } from "../../world/truth.ts";
import type { Backend } from "../../world/wire.ts";
import type { World } from "../../world/world.ts";
import { HubRefused, write } from "../hub.ts";
import { LeanMembers } from "../members.ts";
import { OcmModel, PLACEMENTS_API } from "./model.ts";

/** A real API server as the hub, a model of Open Cluster Management's part, and the same members. */
export class OcmGround implements Ground {
  readonly hub: ApiServer;
  readonly members: ReadonlyMap<string, GroundMember>;
  readonly dispatching = OCM_DISPATCHING;
  readonly agents: AgentFaults;
  readonly #ocm: OcmModel;
  readonly #members: LeanMembers;
  readonly #scenario: Scenario;
  readonly #world: World;

  constructor(world: World, scenario: Scenario, hub: ApiServer, witness: Witness, reach: Reach) {
    this.hub = hub;
    this.#world = world;
    this.#scenario = scenario;
    this.#members = new LeanMembers(world, scenario, witness);
    this.members = this.#members.all;
    const joinedAs = (cluster: string) => scenario.ocm?.joined[cluster] ?? { access: true, polls: false };
    const lagMs = scenario.ocm?.placed?.lagMs ?? 0;
    // A StatefulSet is known without them, but for the label that says which of its pods leads.
    const reportsParts = scenario.protocol !== "statefulset" || scenario.labelsLeader;
    const members = this.#members.all;
    const ocm = new OcmModel({ world, server: hub, members, reach, joinedAs, reportsParts, lagMs });
    this.#ocm = ocm;
    this.agents = {
      die: (cluster, workOnly) => ocm.agentDies(cluster, workOnly),
      return: (cluster) => ocm.agentReturns(cluster),
      isHeard: (cluster) => ocm.isHeard(cluster),
      isReadDirectly: (cluster) => joinedAs(cluster).access,
      tearOff: (cluster) => ocm.tearOff(cluster),
      rival: (cluster, forMs) => this.#rival(cluster, forMs),
    };
  }

  async start(): Promise<void> {
    await this.#ocm.start();
    const { ocm, namespace } = this.#scenario;
    if (!ocm?.placed) return;
    const tolerations = ocm.placed.tolerates ? [{ operator: "Exists" }] : [];
    await write(this.hub, "POST", `${PLACEMENTS_API}/namespaces/${namespace}/placements`, {
      apiVersion: "cluster.open-cluster-management.io/v1beta1",
      kind: "Placement",
      metadata: { name: PLACED, namespace },
      spec: { tolerations },
    });
  }

  door(cluster: string): Backend {
    return this.#ocm.door(cluster);
  }

  cut(cluster: string): void {
    this.#ocm.cut(cluster);
  }

  mend(cluster: string): void {
    this.#ocm.mend(cluster);
    this.#ocm.agentReturns(cluster);
  }

  leave(cluster: string): void {
    void this.#ocm.leave(cluster);
  }

  hubDown(isDown: boolean): void {
    this.#ocm.hubDown(isDown);
  }

  place(): void {}

  scheduled(): undefined {
    return undefined;
  }

  leader(): { readonly cluster: string; readonly ordinal: number } | undefined {
    return this.#members.leader();
  }

  evict(cluster: string): boolean {
    return this.#members.evict(cluster);
  }

  /** It runs without Lockstep: a ManifestWork of the user's for each cluster, which would delete its object with it. */
  runByHand(replicas: ReadonlyMap<string, number>): void {
    const { template } = this.#scenario;
    for (const [cluster, count] of replicas) {
      if (count === 0) continue;
      const manifest = { ...template, spec: { ...(isJsonObject(template.spec) && template.spec), replicas: count } };
      void this.#foreign(cluster, "by-hand", "Foreground", manifest);
    }
  }

  /** Another writer's ManifestWork for what Lockstep has dispatched, with the same content. */
  #rival(cluster: string, forMs: number): boolean {
    const member = this.#members.all.get(cluster);
    const live = member?.workload;
    if (!live || live.metadata.annotations["lockstep.karmada.io/write"] === undefined) return false;
    const { apiVersion, kind, metadata, spec } = live;
    const manifest = { apiVersion, kind, metadata: { name: metadata.name, namespace: metadata.namespace }, spec };
    void this.#foreign(cluster, "rival", "Orphan", manifest as JsonObject);
    this.#world.after(forMs, `rival ends ${cluster}`, () => {
      void write(this.hub, "DELETE", `${OCM_DISPATCHING.worksPath(cluster)}/rival`).catch(unlessGone);
    });
    return true;
  }

  async #foreign(cluster: string, name: string, propagationPolicy: string, manifest: JsonObject): Promise<void> {
    const { workload, namespace } = this.#scenario;
    const [group = ""] = workload.apiVersion.split("/");
    const id = { group, resource: workload.plural, namespace, name: workload.name };
    // A copy of Lockstep's grant must not overwrite the next one.
    const serverSideApply = { fieldManager: "work-agent-other", force: false };
    const shared = { resourceIdentifier: id, updateStrategy: { type: "ServerSideApply", serverSideApply } };
    await write(this.hub, "POST", OCM_DISPATCHING.worksPath(cluster), {
      apiVersion: "work.open-cluster-management.io/v1",
      kind: "ManifestWork",
      metadata: { name, namespace: cluster },
      spec: {
        deleteOption: { propagationPolicy },
        workload: { manifests: [manifest] },
        ...(propagationPolicy === "Orphan" && { manifestConfigs: [shared] }),
      },
    }).catch(unlessGone);
  }
}

/** The cluster has left, or another user was faster. */
function unlessGone(error: unknown): void {
  if (!(error instanceof HubRefused) || (error.status !== 404 && error.status !== 409)) throw error;
}
