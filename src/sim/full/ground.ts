import type { SchemaCache } from "../../apiserver/index.ts";
import { type Database, EmbeddedFleet, type SimulatedApplication, startXline } from "../../embedded/index.ts";
import { isJsonObject, silentLog } from "../../runtime/index.ts";
import type { SimProcess } from "../actors/process.ts";
import { write } from "../lean/hub.ts";
import type { Abilities, Scenario } from "../seed/scenario.ts";
import { KARMADA_DISPATCHING } from "../world/dispatching.ts";
import type { Ground } from "../world/ground.ts";
import { policiesPath, policyFor } from "../world/placement.ts";
import type { Witness } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import { FleetHub } from "./hub.ts";
import { FullMember } from "./member.ts";

export { imageOf } from "./member.ts";

const TIMINGS = { podStartMs: 1_500, podStopMs: 700, reactionMs: 20, deliveryMs: 300, healthThresholdMs: 5_000 };

/** Kubernetes' StatefulSets and an operator on the contract, whose pods always become ready. */
export const FULL_ABILITIES: Abilities = {
  protocolFor: (drawn) => (drawn === "contract" ? "contract" : "statefulset"),
  hasBrokenRevisions: false,
  twists: [
    "a leader that stalls right after a write",
    "outdated lists",
    "a hub that is down for ten minutes",
    "an application that is already running",
    "members that the application lists",
    "a leader that operators report and that can move",
    "maintenance windows",
  ],
};

/** The embedded fleet: real API servers, StatefulSet controllers and nodes, for both hub and members. */
export class FullGround implements Ground {
  readonly hub: FleetHub;
  readonly members: ReadonlyMap<string, FullMember>;
  readonly dispatching = KARMADA_DISPATCHING;
  readonly #fleet: EmbeddedFleet;
  readonly #scenario: Scenario;
  readonly #process: SimProcess;
  #database: Database<SimulatedApplication> | undefined;

  constructor(world: World, scenario: Scenario, process: SimProcess, schemas: SchemaCache, witness: Witness) {
    const { clock, random } = process;
    this.#scenario = scenario;
    this.#process = process;
    this.#fleet = new EmbeddedFleet({
      clock,
      random,
      schemas,
      members: scenario.clusters,
      timings: TIMINGS,
      bundled: [],
      trackUpdates: false,
    });
    const fleet = this.#fleet;
    this.hub = new FleetHub(fleet);
    const dice = world.dice.branch("members");
    const wake = () => this.#database?.syncAll();
    this.members = new Map(
      scenario.clusters.map((name) => [name, new FullMember({ fleet, name, scenario, witness, dice, world, wake })]),
    );
  }

  async start(): Promise<void> {
    await this.#fleet.start();
    await this.hub.follow();
    const { explicit, adoption, protocol, workload, namespace, replicas } = this.#scenario;
    if (protocol === "contract") {
      const { clock, random } = this.#process;
      const conduct = (cluster: string) => this.#member(cluster).conduct;
      this.#database = await startXline({ fleet: this.#fleet, clock, random, log: silentLog, conduct });
    }
    if (explicit && !adoption) return;
    const policy = policyFor({ ...workload, namespace }, new Map(Object.entries(replicas)));
    await write(this.hub, "POST", policiesPath(namespace), policy);
  }

  cut(cluster: string): void {
    this.#fleet.cut(cluster);
  }

  mend(cluster: string): void {
    this.#fleet.mend(cluster);
  }

  leave(): void {
    throw new Error("the embedded fleet keeps its members");
  }

  /** The hub's side of every link is down; no component reports the members' health. */
  hubDown(isDown: boolean): void {
    for (const name of this.members.keys()) this.#fleet.disturb(name, { failRate: isDown ? 1 : 0 });
  }

  place(replicas: ReadonlyMap<string, number>): void {
    const { explicit, workload, namespace } = this.#scenario;
    if (explicit) return;
    const path = `${policiesPath(namespace)}/${workload.name}`;
    void write(this.hub, "PATCH", path, policyFor({ ...workload, namespace }, replicas));
  }

  scheduled(): ReadonlyMap<string, number> | undefined {
    const { explicit, workload, namespace } = this.#scenario;
    if (explicit) return undefined;
    const name = `${workload.name}-${workload.kind}`.toLowerCase();
    const binding = this.#fleet.hubObject("work.karmada.io/resourcebindings", namespace, name);
    const spec = isJsonObject(binding?.spec) ? binding.spec : {};
    if (!Array.isArray(spec.clusters)) return undefined;
    return new Map(spec.clusters.filter(isJsonObject).map((one) => [String(one.name), Number(one.replicas ?? 0)]));
  }

  leader(): { readonly cluster: string; readonly ordinal: number } | undefined {
    const { workload, namespace } = this.#scenario;
    const leader = this.#database?.application(`${namespace}/${workload.name}`).leader;
    const ordinal = Number(/-(\d+)$/.exec(leader ?? "")?.[1] ?? -1);
    for (const { name, instances } of this.members.values()) {
      if (instances.has(ordinal)) return { cluster: name, ordinal };
    }
    return undefined;
  }

  evict(): boolean {
    return false;
  }

  #member(cluster: string): FullMember {
    const found = this.members.get(cluster);
    if (!found) throw new Error(`no member ${cluster}`);
    return found;
  }
}
