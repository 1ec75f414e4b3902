import type { ApiServer } from "../../apiserver/index.ts";
import type { Protocol } from "../seed/app.ts";
import type { Scenario } from "../seed/scenario.ts";
import type { Ground, GroundMember } from "../world/ground.ts";
import { policiesPath, policyFor } from "../world/placement.ts";
import type { Witness } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import { Application } from "./application.ts";
import { write } from "./hub.ts";
import { KarmadaModel } from "./karmada.ts";
import { LeanMember, type MemberTimes, type Operator } from "./member.ts";
import { contractOperator, ignorantOperator, statefulSetController } from "./operators.ts";

const OPERATORS: Record<Protocol, Operator> = {
  statefulset: statefulSetController,
  contract: contractOperator,
  ignorant: ignorantOperator,
};

export const MEMBER_TIMES: MemberTimes = { startMs: [300, 3_000], stopMs: [100, 1_500], syncMs: [10, 250] };

/** A real API server as the hub, a model of Karmada's part, and models of members. */
export class LeanGround implements Ground {
  readonly hub: ApiServer;
  readonly members: ReadonlyMap<string, GroundMember>;
  readonly #karmada: KarmadaModel;
  readonly #application: Application;
  readonly #scenario: Scenario;

  constructor(world: World, scenario: Scenario, hub: ApiServer, witness: Witness) {
    const { workload, protocol } = scenario;
    this.hub = hub;
    this.#scenario = scenario;
    const members = new Map<string, LeanMember>();
    this.members = members;
    const application = new Application(members);
    this.#application = application;
    const news = () => this.#wake(application.leader?.cluster);
    const told = telling(application, news, witness, scenario.listsMembers);
    for (const name of scenario.clusters) {
      const operator = OPERATORS[protocol];
      const own = { world, name, workload, operator, times: MEMBER_TIMES, witness: told, application, news };
      const { listsMembers, labelsLeader } = scenario;
      members.set(name, new LeanMember({ ...own, listsMembers, labelsLeader }));
    }
    const group = workload.apiVersion.includes("/") ? workload.apiVersion.split("/")[0] : "";
    const templates = new Set([`${group}/${workload.plural}`]);
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
    return this.#application.leader;
  }

  evict(cluster: string): boolean {
    const some = this.#application.evict(cluster);
    this.#wake(this.#application.leader?.cluster);
    return some;
  }

  #wake(cluster: string | undefined): void {
    const member = this.members.get(cluster ?? "");
    if (member instanceof LeanMember) member.wake();
  }
}

/** The application is notified of everything first; then its leader may have news. */
function telling(application: Application, news: () => void, witness: Witness, listsMembers: boolean): Witness {
  return {
    applied: (member, kind, name, spec) => witness.applied(member, kind, name, spec),
    starts: (member, instance) => {
      application.starts(member.name, instance);
      witness.starts(member, instance);
    },
    goesDown: (member, instance, cause) => {
      witness.goesDown(member, instance, cause);
      news();
    },
    up: (member, instance) => {
      application.up(member.name, instance);
      witness.up(member, instance);
      if (listsMembers) news();
    },
    gone: (member, instance) => witness.gone(member, instance),
    deleted: (member, kind, name) => witness.deleted(member, kind, name),
    leaderMoved: (from) => {
      witness.leaderMoved(from);
      news();
    },
  };
}
