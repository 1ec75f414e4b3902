import type { Commit } from "../../apiserver/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { Reach } from "../seed/reach.ts";
import type { Dispatching } from "../world/dispatching.ts";
import type { AgentFaults } from "../world/ground.ts";
import type { World } from "../world/world.ts";
import type { Rules } from "./rules.ts";

const STATEFULSETS = "apps.karmada.io/crossclusterstatefulsets";
/** A report counts for 45 s. Every 15 s the controller checks whether it still does; then it reconciles and reports. */
const NOTICED_AFTER_MS = 65_000;
/** Then whatever an earlier fault had delayed has happened, and a new leader has read everything. */
const UNDISTURBED_MS = 30_000;
const NOT_KNOWN: readonly unknown[] = ["Unknown", "Lost"];

interface Silence {
  readonly sinceMs: number;
  /** When it began, the status said how the cluster's instances were: its report could continue to count. */
  readonly wasKnown: boolean;
  isCounted: boolean;
}

export interface SilencePropertyOptions {
  readonly world: World;
  readonly rules: Rules;
  readonly reach: Reach;
  readonly clusters: readonly string[];
  readonly dispatching: Dispatching;
  readonly agents: Pick<AgentFaults, "isHeard" | "isReadDirectly">;
  /** The name of the process that leads and is not paused. */
  readonly leader: () => string | undefined;
  /** Something lies between the controllers and the hub. */
  readonly isDisturbed: () => boolean;
}

/**
 * A dead agent leaves its last report as it was. Where reports are all that is known of a cluster, they must not count
 * forever: of a cluster that has long been silent the status must not say how its instances are.
 */
export class SilenceProperty {
  readonly #options: SilencePropertyOptions;
  readonly #silences = new Map<string, Silence>();
  readonly #available = new Set<string>();
  #leader: string | undefined;
  #disturbedMs = 0;
  #status: JsonObject | undefined;

  constructor(options: SilencePropertyOptions) {
    this.#options = options;
  }

  committed({ type, key, object }: Commit): void {
    const { dispatching } = this.#options;
    const isThere = type !== "DELETED";
    if (key.resource === STATEFULSETS)
      this.#status = isThere && isJsonObject(object.status) ? object.status : undefined;
    if (key.resource !== dispatching.clusters) return;
    if (isThere && dispatching.isReady(object)) this.#available.add(key.name);
    else this.#available.delete(key.name);
  }

  /** After every event. */
  look(): void {
    const { world, clusters, agents, rules, leader, isDisturbed } = this.#options;
    const { nowMs } = world;
    const leads = leader();
    if (leads === undefined || leads !== this.#leader || isDisturbed()) this.#disturbedMs = nowMs;
    this.#leader = leads;
    const isUndisturbed = nowMs - this.#disturbedMs >= UNDISTURBED_MS && !rules.clocksWrong;
    for (const cluster of clusters) {
      if (agents.isReadDirectly(cluster)) continue;
      if (agents.isHeard(cluster)) {
        this.#silences.delete(cluster);
        continue;
      }
      const silence = this.#silences.get(cluster) ?? this.#begun(cluster);
      if (isUndisturbed && nowMs - silence.sinceMs >= NOTICED_AFTER_MS) this.#check(cluster, silence);
    }
  }

  #begun(cluster: string): Silence {
    const row = this.#rowOf(cluster);
    const wasKnown = row !== undefined && !NOT_KNOWN.includes(row.health);
    const silence = { sinceMs: this.#options.world.nowMs, wasKnown, isCounted: false };
    this.#silences.set(cluster, silence);
    return silence;
  }

  #check(cluster: string, silence: Silence): void {
    const { world, reach } = this.#options;
    const row = this.#rowOf(cluster);
    if (!row) return;
    if (!NOT_KNOWN.includes(row.health)) {
      const what = `${cluster} is shown as ${row.health}, and has given no sign of life since ${silence.sinceMs} ms`;
      world.violated("a silent cluster is unknown", what);
    }
    // If the hub says itself that the cluster is not available, no report matters.
    if (silence.isCounted || !silence.wasKnown || !this.#available.has(cluster)) return;
    silence.isCounted = true;
    reach.count("a silent cluster is unknown");
  }

  /** A status that says that nothing could be planned keeps the rows that were there before. */
  #rowOf(cluster: string): JsonObject | undefined {
    const rows = Array.isArray(this.#status?.clusters) ? this.#status.clusters.filter(isJsonObject) : [];
    return this.#status?.phase === "Invalid" ? undefined : rows.find(({ name }) => name === cluster);
  }
}
