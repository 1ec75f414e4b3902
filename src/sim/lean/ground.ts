import type { ApiServer } from "../../apiserver/index.ts";
import type { Scenario } from "../seed/scenario.ts";
import { KARMADA_DISPATCHING } from "../world/dispatching.ts";
import type { Ground, GroundMember } from "../world/ground.ts";
import { policiesPath, policyFor } from "../world/placement.ts";
import type { Witness } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import { write } from "./hub.ts";
import { KarmadaModel } from "./karmada.ts";
import { LeanMembers } from "./members.ts";

/** A real API server as the hub, a model of Karmada's part, and models of members. */
export class LeanGround implements Ground {
  readonly hub: ApiServer;
  readonly members: ReadonlyMap<string, GroundMember>;
  readonly dispatching = KARMADA_DISPATCHING;
  readonly #karmada: KarmadaModel;
  readonly #members: LeanMembers;
  readonly #scenario: Scenario;

  constructor(world: World, scenario: Scenario, hub: ApiServer, witness: Witness) {
    const { workload } = scenario;
    this.hub = hub;
    this.#scenario = scenario;
    this.#members = new LeanMembers(world, scenario, witness);
    this.members = this.#members.all;
    const group = workload.apiVersion.includes("/") ? workload.apiVersion.split("/")[0] : "";
    const templates = new Set([`${group}/${workload.plural}`]);
    const members = this.#members.all;
    this.#karmada = new KarmadaModel({ world, server: hub, members, templates, failsOver: scenario.engineFailsOver });
  }

  async start(): Promise<void> {
    await this.#karmada.start();
    const { workload, namespace, explicit, adoption, replicas } = this.#scenario;
    if (explicit && !adoption) return;
    const policy = policyFor({ ...workload, namespace }, new Map(Object.entries(replicas)));
    await write(this.hub, "POST", policiesPath(namespace), policy);
  }

  cut(cluster: string): void {
    this.#karmada.cut(cluster);
  }

  mend(cluster: string): void {
    this.#karmada.mend(cluster);
  }

  leave(cluster: string): void {
    void this.#karmada.leave(cluster);
  }

  hubDown(isDown: boolean): void {
    this.#karmada.hubDown(isDown);
  }

  place(replicas: ReadonlyMap<string, number>): void {
    const { workload, namespace, explicit } = this.#scenario;
    if (explicit) return;
    const path = `${policiesPath(namespace)}/${workload.name}`;
    void write(this.hub, "PATCH", path, policyFor({ ...workload, namespace }, replicas));
  }

  scheduled(): ReadonlyMap<string, number> | undefined {
    return this.#scenario.explicit ? undefined : this.#karmada.scheduler.resultFor(this.#scenario.workload.name);
  }

  leader(): { readonly cluster: string; readonly ordinal: number } | undefined {
    return this.#members.leader();
  }

  evict(cluster: string): boolean {
    return this.#members.evict(cluster);
  }
}
