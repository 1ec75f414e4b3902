import type { KubeObject } from "../../apiserver/index.ts";
import { ANNOTATIONS } from "../../contract/index.ts";
import { isCoveredBy } from "../../engine/testing/observer.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { topologyTold } from "../world/told.ts";
import type { Instance, TrueMember } from "../world/truth.ts";
import type { Rules } from "./rules.ts";

/** The last grant of one cluster, as the hub stores it. */
export interface Given {
  /**
   * Since when it has had this turn on this content; without a turn: since when this is so. If members read no turns:
   * since when it has had this content.
   */
  readonly sinceMs: number;
  readonly spec: string;
  readonly revision: string;
  readonly replicas: number;
  readonly processor: boolean;
  readonly epoch: number;
  readonly manifest: string;
}

/** Everything that each cluster was ever given. */
export class Grants {
  readonly #rules: Rules;
  readonly #members: ReadonlyMap<string, TrueMember>;
  readonly #last = new Map<string, Given>();
  readonly #specs = new Map<string, Set<string>>();
  readonly #revisions = new Map<string, Set<string>>();
  /**
   * [D2] Instances of a static first deployment, known to all from the start: they form the application, none joins it.
   */
  readonly #founders = new Set<string>();

  /** The epochs that the ledger on the hub has, by cluster: a grant is there before it is dispatched. */
  ledgerEpochs: ReadonlyMap<string, number> = new Map();

  constructor(rules: Rules, members: ReadonlyMap<string, TrueMember>) {
    this.#rules = rules;
    this.#members = members;
  }

  of(cluster: string): Given | undefined {
    return this.#last.get(cluster);
  }

  /** Whether Lockstep counts what runs there, although its dispatch may still wait for the engine or the cluster. */
  counts(cluster: string): boolean {
    return this.#last.has(cluster) || (this.ledgerEpochs.get(cluster) ?? 0) > 0;
  }

  replicas(cluster: string): number {
    return this.#last.get(cluster)?.replicas ?? 0;
  }

  record(cluster: string, manifest: KubeObject, nowMs: number): Given {
    const spec = isJsonObject(manifest.spec) ? manifest.spec : {};
    const before = this.#last.get(cluster);
    const processor = manifest.metadata.annotations?.[ANNOTATIONS.processor] === "true";
    const text = JSON.stringify(manifest.spec);
    const hasTurn = !this.#rules.readsTurns || (before?.processor === true && processor);
    const continues = hasTurn && before?.spec === text;
    const given: Given = {
      epoch: Number(manifest.metadata.annotations?.[ANNOTATIONS.epoch] ?? -1),
      processor,
      spec: text,
      revision: this.#rules.revisionOf(spec),
      replicas: typeof spec.replicas === "number" ? spec.replicas : 0,
      manifest: JSON.stringify(manifest),
      sinceMs: continues ? before.sinceMs : nowMs,
    };
    this.#last.set(cluster, given);
    this.allow(cluster, spec);
    const { annotations = {} } = manifest.metadata;
    if (annotations[ANNOTATIONS.initialClusterState] === "new" && !this.#rules.isOrdered)
      this.#rememberFounders(topologyTold(annotations, this.#members.get(cluster)?.parts ?? new Map()));
    return given;
  }

  /** A spec that the cluster may have, from any source: also what the engine rendered before the template was held. */
  allow(cluster: string, spec: JsonObject): void {
    remember(this.#specs, cluster, JSON.stringify(spec));
    remember(this.#revisions, cluster, this.#rules.revisionOf(spec));
  }

  /** Defaults that a member's API server fills in are not part of a grant, and not a violation. */
  hasSpec(cluster: string, spec: unknown): boolean {
    const granted = this.#specs.get(cluster) ?? new Set();
    if (granted.has(JSON.stringify(spec))) return true;
    return [...granted].some((each) => isCoveredBy(JSON.parse(each), spec));
  }

  hasRevision(cluster: string, revision: string): boolean {
    return this.#revisions.get(cluster)?.has(revision) === true;
  }

  isFounder({ name }: TrueMember, { ordinal }: Instance): boolean {
    return this.#founders.has(`${name}/${ordinal}`);
  }

  removed({ name }: TrueMember, { ordinal }: Instance): void {
    this.#founders.delete(`${name}/${ordinal}`);
  }

  #rememberFounders(topology: string | undefined): void {
    if (topology === undefined || this.#founders.size > 0) return;
    const view: unknown = JSON.parse(topology);
    for (const { cluster, ordinals } of Array.isArray(view) ? view.filter(isJsonObject) : []) {
      const global = Array.isArray(ordinals) ? ordinals.filter((each) => typeof each === "number") : [];
      const first = this.#rules.globalOrdinals ? 0 : (global[0] ?? 0);
      for (const ordinal of global) this.#founders.add(`${cluster}/${ordinal - first}`);
    }
  }
}

/** The one manifest of a Work. */
export function manifestOf(work: KubeObject): KubeObject | undefined {
  const spec = isJsonObject(work.spec) ? work.spec : {};
  const workload = isJsonObject(spec.workload) ? spec.workload : {};
  const first = Array.isArray(workload.manifests) ? workload.manifests[0] : undefined;
  return isJsonObject(first) ? (first as KubeObject) : undefined;
}

function remember(map: Map<string, Set<string>>, key: string, value: string): void {
  const known = map.get(key);
  if (known) known.add(value);
  else map.set(key, new Set([value]));
}
