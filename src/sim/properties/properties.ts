import type { Commit } from "../../apiserver/index.ts";
import type { SimProcess } from "../actors/process.ts";
import type { Reach } from "../seed/reach.ts";
import type { Dispatching } from "../world/dispatching.ts";
import type { TrueMember, Witness } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import { FleetRecord } from "./fleet.ts";
import { Grants } from "./grants.ts";
import { HubProperties } from "./hub.ts";
import { InstanceProperties } from "./instances.ts";
import { OrderProperties, type OrderPropertiesOptions } from "./order.ts";
import type { Rules } from "./rules.ts";

/**
 * The independent observer: it sees every commit of the hub and every instance in its real state, never the
 * controller's view, and checks them against Lockstep's promises.
 */
export class Properties {
  readonly #hub: HubProperties;
  readonly #instances: InstanceProperties;
  readonly #fleet: FleetRecord;

  constructor(
    world: World,
    rules: Rules,
    reach: Reach,
    members: ReadonlyMap<string, TrueMember>,
    leader: OrderPropertiesOptions["leader"],
    dispatching: Dispatching,
  ) {
    const grants = new Grants(rules, members);
    const fleet = new FleetRecord({ world, rules, reach, grants, members, isReady: dispatching.isReady });
    this.#fleet = fleet;
    const order = new OrderProperties({ world, rules, reach, grants, fleet, members, leader });
    this.#hub = new HubProperties({ world, rules, reach, grants, fleet, order, members, dispatching });
    this.#instances = new InstanceProperties({ world, rules, reach, grants, fleet, order, members });
    if (rules.leaderLast) world.afterEvent(() => order.look());
  }

  get witness(): Witness {
    return this.#instances;
  }

  committed(commit: Commit, sender: SimProcess | undefined): void {
    this.#hub.committed(commit, sender);
  }

  /** Until then, running instances are not Lockstep's: the engine rendered them by itself. */
  managedFrom(isManaged: () => boolean): void {
    this.#instances.managedFrom(isManaged);
  }

  /** A user has changed how many instances each cluster should have. */
  resized(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): void {
    this.#fleet.resized(before, after);
  }

  /** The agent of a cluster that is only known by its reports is gone, or back. */
  silent(cluster: string, isSilent: boolean): void {
    this.#fleet.silent(cluster, isSilent);
  }

  hubDown(isDown: boolean): void {
    this.#instances.isHubDown = isDown;
    this.#fleet.hubDown(isDown);
  }
}
