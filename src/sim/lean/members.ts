import type { Protocol } from "../seed/app.ts";
import type { Scenario } from "../seed/scenario.ts";
import type { Witness } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import { Application } from "./application.ts";
import { LeanMember, type MemberTimes, type Operator } from "./member.ts";
import { contractOperator, ignorantOperator, statefulSetController } from "./operators.ts";

const OPERATORS: Record<Protocol, Operator> = {
  statefulset: statefulSetController,
  contract: contractOperator,
  ignorant: ignorantOperator,
};

export const MEMBER_TIMES: MemberTimes = { startMs: [300, 3_000], stopMs: [100, 1_500], syncMs: [10, 250] };

/** The members of one application, and the application that their instances form; the same under every engine. */
export class LeanMembers {
  readonly all: ReadonlyMap<string, LeanMember>;
  readonly #application: Application;

  constructor(world: World, scenario: Scenario, witness: Witness) {
    const { workload, protocol } = scenario;
    const members = new Map<string, LeanMember>();
    this.all = members;
    const application = new Application(members);
    this.#application = application;
    const news = () => this.#wakeLeader();
    const told = telling(application, news, witness, scenario.listsMembers);
    for (const name of scenario.clusters) {
      const operator = OPERATORS[protocol];
      const own = { world, name, workload, operator, times: MEMBER_TIMES, witness: told, application, news };
      const { listsMembers, labelsLeader } = scenario;
      members.set(name, new LeanMember({ ...own, listsMembers, labelsLeader }));
    }
  }

  leader(): { readonly cluster: string; readonly ordinal: number } | undefined {
    return this.#application.leader;
  }

  evict(cluster: string): boolean {
    const some = this.#application.evict(cluster);
    this.#wakeLeader();
    return some;
  }

  #wakeLeader(): void {
    this.all.get(this.#application.leader?.cluster ?? "")?.wake();
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
