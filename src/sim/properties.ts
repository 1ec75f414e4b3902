import type { Commit, KubeObject } from "../apiserver/index.ts";
import { ANNOTATIONS } from "../contract/index.ts";
import { isCoveredBy } from "../engine/testing/observer.ts";
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import type { SimProcess } from "./process.ts";
import type { Reach } from "./reach.ts";
import type { DownCause, Instance, TrueMember, Witness } from "./truth.ts";
import type { World } from "./world.ts";

/** What the properties must know of the intent; the run keeps it current. */
export interface Rules {
  readonly kind: string;
  readonly quorum: "Majority" | "None";
  readonly isOrdered: boolean;
  readonly maxUnavailable: number;
  readonly failoverAfterMs: number;
  /** Ordinals are unique over all clusters, not only inside each. */
  readonly globalOrdinals: boolean;
  /** What instances of this spec run, in a word. */
  readonly revisionOf: (spec: JsonObject) => string;
  /** Being torn down: without quorum or budget. */
  tearsDown: boolean;
  /** How many instances each cluster should have. */
  desired: ReadonlyMap<string, number>;
  confirmedDrain: ReadonlySet<string>;
}

const WORKS = "work.karmada.io/works";
const LEDGERS = "apps.karmada.io/crossclusterledgers";
const STATEFULSETS = "apps.karmada.io/crossclusterstatefulsets";
const CLUSTERS = "cluster.karmada.io/clusters";
const OWN_APP_LABEL = "lockstep.karmada.io/app";
const TERM = "lockstep.karmada.io/term";
/** An accident that lasted this long before a turn was given must have been seen: longer than any delay of the world. */
const SEEN_BY_ALL_MS = 60_000;
/** A controller may not have heard yet of a cluster that has just turned not Ready. */
const HEARD_OF_MS = 25_000;
/** A cluster is away as soon as it cannot be read; its Ready condition says so up to this much later. */
const HEARD_OF_LOSS_MS = 14_000;

interface Turn {
  readonly sinceMs: number;
  readonly spec: string;
  readonly processor: boolean;
  readonly epoch: number;
  readonly manifest: string;
}

/**
 * The independent observer: it sees every commit of the hub and every instance as they are, never what the controller
 * believes, and holds them against what Lockstep promises.
 */
export class Properties implements Witness {
  readonly #world: World;
  readonly #rules: Rules;
  readonly #reach: Reach;
  readonly #members: ReadonlyMap<string, TrueMember>;
  /** What each cluster was ever given: specs, and the revisions in them. */
  readonly #grantedSpecs = new Map<string, Set<string>>();
  readonly #grantedRevisions = new Map<string, Set<string>>();
  readonly #turns = new Map<string, Turn>();
  readonly #terms = new Map<string, number>();
  readonly #notReadySinceMs = new Map<string, number>();
  readonly #returned = new Set<string>();
  /** [S5] While it was lost others went on without it; what it was granted before, it does until it is whole again. */
  readonly #wasLost = new Set<string>();
  /** [D2] Instances of a static first deployment, known to everybody from the start: they form the application, none joins it. */
  readonly #founders = new Set<string>();
  #lastWriter: string | undefined;

  constructor(world: World, rules: Rules, reach: Reach, members: ReadonlyMap<string, TrueMember>) {
    this.#world = world;
    this.#rules = rules;
    this.#reach = reach;
    this.#members = members;
  }

  // ---------------------------------------------------------------------------------------------- what the hub stores

  committed({ type, key, object, old }: Commit, sender: SimProcess | undefined): void {
    switch (key.resource) {
      case WORKS:
        if (object.metadata.labels?.[OWN_APP_LABEL] !== undefined) this.#work(type, object, old, sender);
        return;
      case LEDGERS:
        this.#ledger(type, object, sender);
        return;
      case CLUSTERS:
        this.#cluster(object);
        return;
      case STATEFULSETS:
        this.#status(type, object, old);
        return;
      default:
    }
  }

  #work(type: Commit["type"], work: KubeObject, old: KubeObject | undefined, sender: SimProcess | undefined): void {
    const cluster = (work.metadata.namespace ?? "").replace("karmada-es-", "");
    if (type === "DELETED") return;
    const term = Number(work.metadata.annotations?.[TERM] ?? 0);
    const uid = work.metadata.uid ?? "";
    const before = this.#terms.get(uid);
    if (before !== undefined && term < before) {
      this.#violated(
        "no stale leader acts",
        `${sender?.name} wrote term ${term} on a Work of ${cluster} that had ${before}`,
      );
    }
    this.#terms.set(uid, term);
    if (before !== undefined && term > before) this.#reach.count("a new leader stamps");
    if (sender && this.#lastWriter !== undefined && this.#lastWriter !== sender.name)
      this.#reach.count("leaders change");
    if (sender) this.#lastWriter = sender.name;

    const manifest = manifestOf(work);
    if (!manifest || manifest.kind !== this.#rules.kind) return;
    const isDeleting = work.metadata.deletionTimestamp !== undefined && old?.metadata.deletionTimestamp === undefined;
    const spec = isJsonObject(work.spec) ? work.spec : {};
    if (isDeleting && spec.preserveResourcesOnDeletion !== true) this.#removal(cluster);
    if (type === "ADDED" || work.metadata.generation !== old?.metadata.generation) this.#grant(cluster, manifest, old);
  }

  #grant(cluster: string, manifest: KubeObject, old: KubeObject | undefined): void {
    const epoch = Number(manifest.metadata.annotations?.[ANNOTATIONS.epoch] ?? -1);
    const processor = manifest.metadata.annotations?.[ANNOTATIONS.processor] === "true";
    const spec = JSON.stringify(manifest.spec);
    const before = this.#turns.get(cluster);
    const oldManifest = old && manifestOf(old);
    const text = JSON.stringify(manifest);
    if (oldManifest !== undefined && JSON.stringify(oldManifest) === text) return;
    // The Work was going away when the grant was written, and is made again with the very same one.
    if (!old && before?.epoch === epoch && before.manifest === text) return;
    this.#reach.count("epochs only rise");
    if (before && epoch <= before.epoch) {
      this.#violated("epochs only rise", `${cluster} was given epoch ${epoch} after ${before.epoch}`);
    }
    const continues = before?.processor === true && processor && before.spec === spec;
    this.#turns.set(cluster, {
      epoch,
      processor,
      spec,
      manifest: text,
      sinceMs: continues ? before.sinceMs : this.#world.nowMs,
    });
    remember(this.#grantedSpecs, cluster, spec);
    remember(this.#grantedRevisions, cluster, this.#rules.revisionOf(isJsonObject(manifest.spec) ? manifest.spec : {}));
    if (manifest.metadata.annotations?.[ANNOTATIONS.initialClusterState] === "new" && !this.#rules.isOrdered)
      this.#rememberFounders(manifest.metadata.annotations[ANNOTATIONS.topology]);
    this.#world.note("GRANT", `${cluster} epoch ${epoch}`, () => {
      const { replicas, ordinals, updateStrategy } = isJsonObject(manifest.spec) ? manifest.spec : ({} as JsonObject);
      const revision = this.#rules.revisionOf(isJsonObject(manifest.spec) ? manifest.spec : {});
      const more = JSON.stringify({ replicas, ordinals, updateStrategy });
      return `${processor ? "its turn," : "no turn,"} ${revision} ${more}`;
    });
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

  /** A cluster's object is to be deleted there. */
  #removal(cluster: string): void {
    this.#reach.count("objects removed");
    const sinceMs = this.#notReadySinceMs.get(cluster);
    if (sinceMs !== undefined && this.#world.nowMs - sinceMs > HEARD_OF_MS) {
      this.#violated("nothing deleted on an unreachable cluster", `${cluster} has not been Ready since ${sinceMs} ms`);
    }
    if (this.#rules.tearsDown || this.#rules.confirmedDrain.has(cluster)) return;
    if (this.#returned.has(cluster)) {
      this.#violated("nothing deleted on a returning cluster", `${cluster} came back, and nobody allowed its drain`);
    }
  }

  /** A person who changes the size of a cluster that is there speaks about the cluster as it is now: it is as any other. */
  resized(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): void {
    for (const cluster of [...this.#returned]) {
      if (before.get(cluster) !== after.get(cluster) && !this.#notReadySinceMs.has(cluster))
        this.#returned.delete(cluster);
    }
  }

  #ledger(type: Commit["type"], ledger: KubeObject, sender: SimProcess | undefined): void {
    if (type === "DELETED") return;
    const term = Number(ledger.metadata.annotations?.[TERM] ?? 0);
    const uid = ledger.metadata.uid ?? "";
    const before = this.#terms.get(uid) ?? 0;
    this.#reach.count("ledger writes");
    if (term < before)
      this.#violated("no stale leader acts", `${sender?.name} wrote ledger term ${term} after ${before}`);
    this.#terms.set(uid, term);
  }

  #cluster(object: KubeObject): void {
    const { name } = object.metadata;
    const { status } = object;
    const conditions = isJsonObject(status) && Array.isArray(status.conditions) ? status.conditions : [];
    const ready = conditions.filter(isJsonObject).some((one) => one.type === "Ready" && one.status === "True");
    const sinceMs = this.#notReadySinceMs.get(name);
    if (!ready) {
      if (sinceMs === undefined) this.#notReadySinceMs.set(name, this.#world.nowMs);
      return;
    }
    this.#notReadySinceMs.delete(name);
    this.#noteWhole(name);
    if (sinceMs === undefined) return;
    if (this.#world.nowMs - sinceMs >= this.#rules.failoverAfterMs - HEARD_OF_LOSS_MS) this.#wasLost.add(name);
    if (this.#world.nowMs - sinceMs < this.#rules.failoverAfterMs + HEARD_OF_MS) return;
    this.#reach.count("a lost cluster returns");
    // What was being drained when it was lost goes on being drained.
    if (this.#grantedReplicas(name) > 0) this.#returned.add(name);
  }

  #status(type: Commit["type"], object: KubeObject, old: KubeObject | undefined): void {
    if (type === "DELETED" || object.status === old?.status) return;
    const status = isJsonObject(object.status) ? object.status : undefined;
    if (!status) return;
    const { phase, reason, step } = status;
    this.#world.note("STATUS", `${phase}`, () => {
      const { cluster, type: kind } = isJsonObject(step) ? step : ({} as JsonObject);
      return `${kind ?? ""} ${cluster ?? ""} ${reason ?? ""} ${JSON.stringify(status.display)} ${status.message ?? ""}`;
    });
    // Being deleted is a reason in itself; whatever holds it up for longer has its own.
    if (phase === "Settled" || phase === "TearingDown" || phase === "Releasing") return;
    this.#reach.count("status says why it waits");
    if (typeof reason === "string" && reason !== "" && typeof status.message === "string") return;
    if (isJsonObject(step) && typeof step.type === "string") return;
    this.#violated(
      "status says why it waits",
      `phase ${phase}, and neither a reason nor a step: ${JSON.stringify(status)}`,
    );
  }

  // --------------------------------------------------------------------------------------------- what the members do

  applied(member: TrueMember, kind: string, name: string, spec: unknown): void {
    if (kind !== this.#rules.kind) return;
    this.#world.note(member.name, "has got its object", () => `epoch ${member.live?.epoch}`);
    this.#reach.count("a grant arrives");
    const granted = this.#grantedSpecs.get(member.name);
    if (granted?.has(JSON.stringify(spec))) return;
    // Defaults that a member's API server fills in are nobody's grant, and nobody's fault.
    if ([...(granted ?? [])].some((each) => isCoveredBy(JSON.parse(each), spec))) return;
    this.#violated(
      "no member runs what it was not granted",
      `${member.name} has ${kind} ${name} that nobody granted it`,
    );
  }

  starts(member: TrueMember, instance: Instance): void {
    const { ordinal, revision } = instance;
    this.#world.note(member.name, `instance ${ordinal} starts`, () => revision);
    if (!this.#grantedRevisions.get(member.name)?.has(revision)) {
      this.#violated(
        "no member runs what it was not granted",
        `${member.name} runs ${revision} as instance ${ordinal}`,
      );
    }
    if (this.#rules.globalOrdinals) {
      for (const other of this.#members.values()) {
        if (other !== member && other.instances.has(ordinal)) {
          this.#violated("ordinals are unique", `${ordinal} runs in ${member.name} and in ${other.name}`);
        }
      }
    }
    this.#reach.count("ordinals are unique");
    if (!instance.joined && !this.#isFounder(member, instance)) this.#checkMembership(member, instance, "joins");
  }

  up(member: TrueMember, { ordinal }: Instance): void {
    this.#world.note(member.name, `instance ${ordinal} is up`);
    if ([...member.instances.values()].every(({ up }) => up)) this.#wholeSinceMs.set(member.name, this.#world.nowMs);
    this.#noteWhole(member.name);
  }

  goesDown(member: TrueMember, instance: Instance, cause: DownCause): void {
    this.#world.note(member.name, `instance ${instance.ordinal} goes down`, () => `(${cause})`);
    if (cause === "accident" || member.dishonest || this.#rules.tearsDown) return;
    this.#checkQuorum(member, instance);
    if (cause === "update") this.#checkBudget(member, instance);
    else this.#checkMembership(member, instance, "leaves");
  }

  gone(member: TrueMember, instance: Instance): void {
    this.#world.note(member.name, `instance ${instance.ordinal} is gone`);
    if (instance.downBy === "removal") this.#founders.delete(`${member.name}/${instance.ordinal}`);
    this.#noteWhole(member.name);
  }

  deleted(member: TrueMember, kind: string, name: string): void {
    if (kind !== this.#rules.kind) return;
    this.#world.note(member.name, "its object is deleted", () => name);
    const left = [...member.instances.values()].filter(({ state }) => state !== "terminating").length;
    if (left > 0 && !member.dishonest)
      this.#violated("drained before it is removed", `${member.name} was removed with ${left} instances`);
  }

  /** By own action: accidents that nobody could have seen in time are nobody's fault. */
  #checkQuorum(member: TrueMember, instance: Instance): void {
    if (this.#rules.quorum === "None") return;
    let ownDown = 1;
    let voters = 0;
    for (const other of this.#members.values()) {
      const granted = this.#grantedReplicas(other.name);
      voters += Math.max(granted, other.instances.size);
      if (other.dishonest) continue;
      for (const each of other.instances.values()) {
        if (each !== instance && !each.up && (each.downBy === "update" || each.downBy === "removal")) ownDown++;
      }
    }
    this.#reach.count("never below the majority");
    if (ownDown > 1) this.#reach.count("two down at once by own action");
    const spare = voters <= 2 ? 1 : voters - (Math.floor(voters / 2) + 1);
    if (ownDown <= spare) return;
    const what = `${member.name} takes ${instance.ordinal} down: ${ownDown} of ${voters} voters are down by own action`;
    this.#violated("never below the majority", what);
  }

  #checkBudget(member: TrueMember, instance: Instance): void {
    const turnMs = this.#turns.get(member.name)?.sinceMs ?? 0;
    const wholeMs = this.#wholeBefore(member, instance);
    let down = 1;
    for (const other of this.#members.values()) {
      if (other.dishonest || this.#isLost(other)) continue;
      for (const each of other.instances.values()) {
        if (each === instance || each.up || !each.joined) continue;
        const own = each.downBy === "update";
        const seen =
          other !== member && wholeMs <= turnMs - SEEN_BY_ALL_MS && each.downSinceMs <= turnMs - SEEN_BY_ALL_MS;
        if (seen && !own) this.#reach.count("an accident is charged");
        if (own || seen) down++;
      }
    }
    this.#reach.count("never more than maxUnavailable");
    if (down <= this.#rules.maxUnavailable) return;
    const what = `${member.name} takes ${instance.ordinal} down: ${down} down, maxUnavailable ${this.#rules.maxUnavailable}`;
    this.#violated("never more than maxUnavailable", what);
  }

  #checkMembership(member: TrueMember, instance: Instance, what: "joins" | "leaves"): void {
    const { quorum, isOrdered, tearsDown } = this.#rules;
    if (tearsDown || member.dishonest || (quorum === "None" && !isOrdered)) return;
    if (this.#mayHaveBeenLost(member)) return;
    this.#reach.count("one membership change at a time");
    const others: string[] = [];
    for (const other of this.#members.values()) {
      if (other.dishonest || this.#mayHaveBeenLost(other)) continue;
      for (const each of other.instances.values()) {
        if (each === instance) continue;
        const joins = !each.joined && !this.#isFounder(other, each);
        const changing = joins || (each.state === "terminating" && each.downBy === "removal");
        if (changing) others.push(`${other.name}/${each.ordinal}`);
      }
    }
    if (others.length === 0) return;
    this.#violated(
      "one membership change at a time",
      `${member.name}/${instance.ordinal} ${what} beside ${others.join(", ")}`,
    );
  }

  #isFounder({ name }: TrueMember, { ordinal }: Instance): boolean {
    return this.#founders.has(`${name}/${ordinal}`);
  }

  /** A cluster that was lost is as any other again once it is Ready and has all that it was granted. */
  #noteWhole(name: string): void {
    const member = this.#members.get(name);
    if (!member || !this.#wasLost.has(name) || this.#notReadySinceMs.has(name)) return;
    const instances = [...member.instances.values()];
    const isWhole = instances.length === this.#grantedReplicas(name) && instances.every(({ up }) => up);
    if (isWhole && member.live?.epoch === this.#turns.get(name)?.epoch) this.#wasLost.delete(name);
  }

  /** When the last of a cluster's instances came up: since then it has been whole, unless one is down now. */
  readonly #wholeSinceMs = new Map<string, number>();

  #wholeBefore(member: TrueMember, instance: Instance): number {
    const others = [...member.instances.values()].filter((each) => each !== instance);
    if (others.some(({ up }) => !up)) return Number.POSITIVE_INFINITY;
    return this.#wholeSinceMs.get(member.name) ?? 0;
  }

  #mayHaveBeenLost({ name }: TrueMember): boolean {
    const sinceMs = this.#notReadySinceMs.get(name) ?? this.#world.nowMs;
    return this.#wasLost.has(name) || this.#world.nowMs - sinceMs >= this.#rules.failoverAfterMs - HEARD_OF_LOSS_MS;
  }

  #isLost(member: TrueMember): boolean {
    const sinceMs = this.#notReadySinceMs.get(member.name);
    return sinceMs !== undefined && this.#world.nowMs - sinceMs >= this.#rules.failoverAfterMs;
  }

  #grantedReplicas(cluster: string): number {
    const spec = this.#turns.get(cluster)?.spec;
    const replicas = spec === undefined ? undefined : /"replicas":(\d+)/.exec(spec)?.[1];
    return replicas === undefined ? 0 : Number(replicas);
  }

  #violated(property: string, message: string): void {
    this.#world.violated(property, message);
  }
}

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
