import type { Witness } from "../../world/truth.ts";
import type { World } from "../../world/world.ts";
import { Application } from "../application.ts";
import type { KarmadaMember } from "../karmada.ts";
import { LeanMember, type Replacement } from "../member.ts";
import { MEMBER_TIMES } from "../members.ts";
import type { OcmMember } from "../ocm/spoke.ts";
import { statefulSetController } from "../operators.ts";
import { LeanStore, type StoredObject } from "../store.ts";

const NO_WITNESS: Witness = {
  applied: () => {},
  starts: () => {},
  up: () => {},
  goesDown: () => {},
  gone: () => {},
  deleted: () => {},
  leaderMoved: () => {},
};

/** A member cluster with any number of StatefulSets; each is a lean member, and all share one API server. */
export class LeanCluster implements KarmadaMember, OcmMember {
  readonly name: string;
  readonly store = new LeanStore();
  readonly #world: World;
  readonly #sets = new Map<string, LeanMember>();
  reachable = true;

  constructor(world: World, name: string) {
    this.#world = world;
    this.name = name;
  }

  apply(manifest: StoredObject): boolean {
    return this.#set(manifest.metadata.name).apply(manifest);
  }

  replace(object: Replacement): void {
    this.#set(object.metadata.name).replace(object);
  }

  pluralOf(kind: string): string {
    return `${kind.toLowerCase()}s`;
  }

  noteApplied(): void {}

  remove(kind: string, name: string): void {
    this.#set(name).remove(kind, name);
  }

  release(kind: string, name: string): boolean {
    return this.#set(name).release(kind, name);
  }

  #set(name: string): LeanMember {
    const known = this.#sets.get(name);
    if (known) return known;
    const set = new LeanMember({
      world: this.#world,
      name: this.name,
      workload: { kind: "StatefulSet", plural: "statefulsets", name },
      operator: statefulSetController,
      times: MEMBER_TIMES,
      witness: NO_WITNESS,
      store: this.store,
      application: new Application(new Map()),
      news: () => {},
      listsMembers: false,
      labelsLeader: false,
    });
    this.#sets.set(name, set);
    return set;
  }
}
