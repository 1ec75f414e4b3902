import type { Commit, KubeObject } from "../../apiserver/index.ts";
import { ANNOTATIONS } from "../../contract/index.ts";
import type { Conduct, EmbeddedFleet } from "../../embedded/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { write } from "../lean/hub.ts";
import type { Dice } from "../seed/dice.ts";
import type { Scenario } from "../seed/scenario.ts";
import type { GroundMember } from "../world/ground.ts";
import { type Parts, partsAmong, refersTo, topologyTold } from "../world/told.ts";
import type { DownCause, Instance, TrueMember, Witness } from "../world/truth.ts";
import type { World } from "../world/world.ts";

export interface FullMemberOptions {
  readonly fleet: EmbeddedFleet;
  readonly name: string;
  readonly scenario: Scenario;
  readonly witness: Witness;
  readonly dice: Dice;
  readonly world: World;
  /** Its operator reconciles again. */
  readonly wake: () => void;
}

const GOOD: Conduct = { stands: false, lies: false, hastes: false };

/** What a workload's or a pod's containers run. */
export function imageOf(spec: JsonObject): string {
  return /"image":"([^"]+)"/.exec(JSON.stringify(spec))?.[1] ?? "";
}

/** One member of the fleet, as its own API server's commits show it. */
export class FullMember implements GroundMember {
  readonly name: string;
  readonly instances = new Map<number, Instance>();
  dishonest = false;
  conduct: Conduct = GOOD;
  readonly #options: FullMemberOptions;
  readonly #dice: Dice;
  readonly #resource: string;
  /** Pods that were deleted by another client than the controller. */
  readonly #accidents = new Set<number>();
  readonly #ended = new Map<number, DownCause>();
  #object: KubeObject | undefined;

  constructor(options: FullMemberOptions) {
    const { fleet, name, dice, scenario } = options;
    this.name = name;
    this.#options = options;
    this.#dice = dice.branch(name);
    this.#resource = `${scenario.workload.apiVersion.split("/")[0]}/${scenario.workload.plural}`;
    fleet.member(name).server.onCommit((commit) => this.#committed(commit));
  }

  get reachable(): boolean {
    return this.#options.fleet.state(this.name).reachable;
  }

  get live(): TrueMember["live"] {
    if (!this.#object) return undefined;
    const epoch = Number(this.#object.metadata.annotations?.[ANNOTATIONS.epoch] ?? -1);
    return { epoch, replicas: this.#replicas, generation: this.#object.metadata.generation ?? 0 };
  }

  get parts(): Parts {
    return partsAmong(this.#options.fleet.member(this.name).api.list("/configmaps"));
  }

  get refersTo(): readonly string[] {
    return refersTo(this.#object?.metadata.annotations ?? {});
  }

  /** The fleet's StatefulSet controllers stop only with their API server; custom operators stop separately. */
  stall(stands: boolean): void {
    this.conduct = { ...this.conduct, stands };
    this.#options.wake();
  }

  misbehave(): boolean {
    if (this.#options.scenario.protocol !== "contract") return false;
    const lies = this.#dice.chance(0.5);
    this.conduct = { ...this.conduct, lies, hastes: !lies };
    this.dishonest = true;
    this.#options.wake();
    return true;
  }

  behave(): void {
    this.conduct = { ...GOOD, stands: this.conduct.stands };
    this.#options.wake();
  }

  tamper(): boolean {
    if (!this.#object) return false;
    const key = this.#dice.pick([ANNOTATIONS.epoch, ANNOTATIONS.revision, ANNOTATIONS.partition]);
    const annotations = { [key]: String(this.#dice.whole(0, 3)) };
    // As in the lean model: an epoch on an object that was not adopted yet makes it another ledger's.
    if (key === ANNOTATIONS.epoch && (this.live?.epoch ?? 0) < 0) return false;
    const { workload, namespace } = this.#options.scenario;
    const path = `/apis/${workload.apiVersion}/namespaces/${namespace}/${workload.plural}/${workload.name}`;
    void write(this.#server, "PATCH", path, { metadata: { annotations } }).catch(() => {});
    return true;
  }

  fail(): boolean {
    const ready = [...this.instances.values()].filter(({ state }) => state === "ready");
    if (ready.length === 0) return false;
    this.#delete(this.#dice.pick(ready).ordinal);
    return true;
  }

  hang(): boolean {
    return this.fail();
  }

  deleteOne(isOld: (revision: string) => boolean): boolean {
    const all = [...this.instances.values()];
    const old = all.find(({ revision, state }) => state !== "terminating" && isOld(revision));
    if (!old || all.some(({ up }) => !up)) return false;
    this.#delete(old.ordinal);
    return true;
  }

  hasObject(): boolean {
    return this.#object !== undefined;
  }

  get #server() {
    return this.#options.fleet.member(this.name).server;
  }

  get #replicas(): number {
    const spec = isJsonObject(this.#object?.spec) ? this.#object.spec : {};
    return typeof spec.replicas === "number" ? spec.replicas : 0;
  }

  #delete(ordinal: number): void {
    const { workload, namespace } = this.#options.scenario;
    this.#accidents.add(ordinal);
    const path = `/api/v1/namespaces/${namespace}/pods/${workload.name}-${ordinal}`;
    void write(this.#server, "DELETE", path).catch(() => {});
  }

  /** Whether the object assigns this cluster an instance of that ordinal. */
  #keeps(ordinal: number): boolean {
    if (!this.#object) return false;
    const spec = isJsonObject(this.#object.spec) ? this.#object.spec : {};
    if (this.#options.scenario.protocol === "statefulset") {
      const start = isJsonObject(spec.ordinals) && typeof spec.ordinals.start === "number" ? spec.ordinals.start : 0;
      return ordinal >= start && ordinal < start + this.#replicas;
    }
    const view: unknown = JSON.parse(topologyTold(this.#object.metadata.annotations ?? {}, this.parts) ?? "[]");
    const own = Array.isArray(view)
      ? view.filter(isJsonObject).find(({ cluster }) => cluster === this.name)
      : undefined;
    const ordinals = Array.isArray(own?.ordinals) ? own.ordinals : [];
    const states = Array.isArray(own?.states) ? own.states : [];
    return states[ordinals.indexOf(ordinal)] !== "leaving" && ordinals.includes(ordinal);
  }

  #committed({ type, key, object, old }: Commit): void {
    const { scenario, witness } = this.#options;
    const { workload } = scenario;
    if (key.resource === this.#resource && key.name === workload.name) {
      this.#object = type === "DELETED" ? undefined : object;
      if (type === "DELETED") witness.deleted(this, workload.kind, key.name);
      else if (object.metadata.generation !== old?.metadata.generation) {
        witness.applied(this, workload.kind, key.name, object.spec);
      }
    }
    if (key.resource === "/pods" && key.name.startsWith(`${workload.name}-`)) this.#pod(type, object);
  }

  #pod(type: Commit["type"], pod: KubeObject): void {
    const { witness } = this.#options;
    const ordinal = Number(/-(\d+)$/.exec(pod.metadata.name)?.[1] ?? -1);
    const known = this.instances.get(ordinal);
    if (type === "DELETED") {
      if (!known) return;
      this.instances.delete(ordinal);
      witness.gone(this, known);
      return;
    }
    const instance = known ?? this.#start(ordinal, pod);
    const isTerminating = pod.metadata.deletionTimestamp !== undefined;
    const status = isJsonObject(pod.status) ? pod.status : {};
    const conditions = Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
    const isReady = conditions.some((one) => one.type === "Ready" && one.status === "True");
    if (isTerminating && instance.state !== "terminating") {
      const cause = this.#causeOf(ordinal);
      if (cause === "removal") this.#ended.delete(ordinal);
      else this.#ended.set(ordinal, cause);
      if (instance.up) this.#down(instance, cause);
      instance.state = "terminating";
    } else if (!isTerminating && isReady && !instance.up) {
      Object.assign(instance, { up: true, state: "ready", joined: true, downBy: undefined });
      this.#accidents.delete(ordinal);
      this.#ended.delete(ordinal);
      witness.up(this, instance);
      this.#noteWhole();
    }
  }

  #start(ordinal: number, pod: KubeObject): Instance {
    const spec = isJsonObject(pod.spec) ? pod.spec : {};
    const before = this.#ended.get(ordinal);
    const instance: Instance = {
      ordinal,
      revision: imageOf(spec),
      state: "starting",
      up: false,
      joined: before !== undefined,
      downBy: before,
      downSinceMs: this.#options.world.nowMs,
    };
    this.instances.set(ordinal, instance);
    this.#options.witness.starts(this, instance);
    return instance;
  }

  #down(instance: Instance, cause: DownCause): void {
    instance.up = false;
    instance.downBy = cause;
    instance.downSinceMs = this.#options.world.nowMs;
    this.#options.witness.goesDown(this, instance, cause);
  }

  #causeOf(ordinal: number): DownCause {
    if (this.#accidents.has(ordinal)) return "accident";
    return this.#keeps(ordinal) ? "update" : "removal";
  }

  /** It has everything that its object requires: its earlier actions are no longer visible. */
  #noteWhole(): void {
    if (this.conduct.lies || this.conduct.hastes || !this.#object || !isJsonObject(this.#object.spec)) return;
    const image = imageOf(this.#object.spec);
    const all = [...this.instances.values()];
    if (all.length === this.#replicas && all.every(({ up, revision }) => up && revision === image)) {
      this.dishonest = false;
    }
  }
}
