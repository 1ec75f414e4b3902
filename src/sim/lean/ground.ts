import type { ApiServer } from "../../apiserver/index.ts";
import type { Ground, GroundMember } from "../ground.ts";
import type { Protocol, Scenario } from "../scenario.ts";
import type { Witness } from "../truth.ts";
import type { World } from "../world.ts";
import { KarmadaModel } from "./karmada.ts";
import { Leadership } from "./leader.ts";
import { LeanMember, type MemberTimes, type Operator } from "./member.ts";
import { contractOperator, ignorantOperator, statefulSetController } from "./operators.ts";

const OPERATORS: Record<Protocol, Operator> = {
  statefulset: statefulSetController,
  contract: contractOperator,
  ignorant: ignorantOperator,
};

const MEMBER_TIMES: MemberTimes = { startMs: [300, 3_000], stopMs: [100, 1_500], syncMs: [10, 250] };

/** A real API server as the hub, a model of Karmada's part, and members that are models. */
export class LeanGround implements Ground {
  readonly hub: ApiServer;
  readonly members: ReadonlyMap<string, GroundMember>;
  readonly #karmada: KarmadaModel;
  readonly #placement: { cluster: string; weight: number }[];
  readonly #explicit: boolean;

  constructor(world: World, scenario: Scenario, hub: ApiServer, witness: Witness) {
    const { workload, namespace, protocol } = scenario;
    this.hub = hub;
    this.#explicit = scenario.explicit;
    this.#placement = scenario.explicit ? [] : weights(new Map(Object.entries(scenario.replicas)));
    const members = new Map<string, LeanMember>();
    this.members = members;
    const leadership = new Leadership(members);
    const leader = () => leadership.current();
    const told: Witness = {
      applied: (member, kind, name, spec) => witness.applied(member, kind, name, spec),
      starts: (member, instance) => witness.starts(member, instance),
      goesDown: (member, instance, cause) => {
        witness.goesDown(member, instance, cause);
        // Whoever leads now has something to say.
        members.get(leader()?.cluster ?? "")?.wake();
      },
      up: (member, instance) => witness.up(member, instance),
      gone: (member, instance) => witness.gone(member, instance),
      deleted: (member, kind, name) => witness.deleted(member, kind, name),
    };
    for (const name of scenario.clusters) {
      const operator = OPERATORS[protocol];
      members.set(
        name,
        new LeanMember({ world, name, workload, operator, times: MEMBER_TIMES, witness: told, leader }),
      );
    }
    const group = workload.apiVersion.includes("/") ? workload.apiVersion.split("/")[0] : "";
    const template = { resource: `${group}/${workload.plural}`, name: workload.name, namespace };
    this.#karmada = new KarmadaModel({ world, server: hub, members, template, placement: this.#placement });
  }

  start(): Promise<void> {
    return this.#karmada.start();
  }

  cut(cluster: string): void {
    this.#karmada.cut(cluster);
  }

  mend(cluster: string): void {
    this.#karmada.mend(cluster);
  }

  place(replicas: ReadonlyMap<string, number>): void {
    if (this.#explicit) return;
    this.#placement.splice(0, this.#placement.length, ...weights(replicas));
    this.#karmada.reschedule();
  }
}

function weights(replicas: ReadonlyMap<string, number>): { cluster: string; weight: number }[] {
  return [...replicas].filter(([, count]) => count > 0).map(([cluster, weight]) => ({ cluster, weight }));
}
