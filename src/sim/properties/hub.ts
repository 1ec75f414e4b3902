import type { Commit, KubeObject } from "../../apiserver/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { SimProcess } from "../actors/process.ts";
import type { Reach } from "../seed/reach.ts";
import { type Dispatching, WRITE_ANNOTATION } from "../world/dispatching.ts";
import { refersTo } from "../world/told.ts";
import type { TrueMember } from "../world/truth.ts";
import type { World } from "../world/world.ts";
import { type FleetRecord, HEARD_OF_MS } from "./fleet.ts";
import { type Given, type Grants, manifestOf } from "./grants.ts";
import type { OrderProperties } from "./order.ts";
import type { Rules } from "./rules.ts";

const LEDGERS = "apps.karmada.io/crossclusterledgers";
const STATEFULSETS = "apps.karmada.io/crossclusterstatefulsets";
const HOLDS = "policy.karmada.io/overridepolicies";
const OWN_APP_LABEL = "lockstep.karmada.io/app";
const TERM = "lockstep.karmada.io/term";
const CONFLICT_RESOLUTION = "work.karmada.io/conflict-resolution";

export interface HubPropertiesOptions {
  readonly world: World;
  readonly rules: Rules;
  readonly reach: Reach;
  readonly grants: Grants;
  readonly fleet: FleetRecord;
  readonly order: OrderProperties;
  readonly members: ReadonlyMap<string, TrueMember>;
  readonly dispatching: Dispatching;
}

/** What must hold for everything that the hub stores. */
export class HubProperties {
  readonly #options: HubPropertiesOptions;
  readonly #terms = new Map<string, number>();
  #isHeld = false;
  #lastWriter: string | undefined;

  constructor(options: HubPropertiesOptions) {
    this.#options = options;
  }

  committed({ type, key, object, old }: Commit, sender: SimProcess | undefined): void {
    const { works, clusters } = this.#options.dispatching;
    switch (key.resource) {
      case works:
        if (object.metadata.labels?.[OWN_APP_LABEL] !== undefined) this.#work(type, object, old, sender);
        else this.#foreignWork(type, object);
        return;
      case LEDGERS:
        this.#ledger(type, object, sender);
        return;
      case clusters:
        this.#options.fleet.committed(type, object);
        return;
      case STATEFULSETS:
        this.#status(type, object, old);
        return;
      case HOLDS:
        if (type !== "DELETED") this.#isHeld = true;
        return;
      default:
    }
  }

  /** An adoption takes over what Karmada rendered before the template was held, or what a user dispatched by hand. */
  #foreignWork(type: Commit["type"], work: KubeObject): void {
    const manifest = manifestOf(work);
    if (type === "DELETED" || this.#isHeld || !manifest || !isJsonObject(manifest.spec)) return;
    this.#options.grants.allow(this.#options.dispatching.clusterOf(work), manifest.spec);
  }

  #work(type: Commit["type"], work: KubeObject, old: KubeObject | undefined, sender: SimProcess | undefined): void {
    const { reach, rules, world, dispatching } = this.#options;
    const cluster = dispatching.clusterOf(work);
    if (type === "DELETED") return;
    const term = Number(work.metadata.annotations?.[TERM] ?? 0);
    const uid = work.metadata.uid ?? "";
    const before = this.#terms.get(uid);
    if (before !== undefined && term < before) {
      const what = `${sender?.name} wrote term ${term} on a Work of ${cluster} that had ${before}`;
      world.violated("no stale leader acts", what);
    }
    this.#terms.set(uid, term);
    if (before !== undefined && term > before) reach.count("a new leader stamps");
    if (sender && this.#lastWriter !== undefined && this.#lastWriter !== sender.name) reach.count("leaders change");
    if (sender) this.#lastWriter = sender.name;

    const manifest = manifestOf(work);
    if (!manifest || manifest.kind !== rules.kind) return;
    const isDeleting = work.metadata.deletionTimestamp !== undefined && old?.metadata.deletionTimestamp === undefined;
    if (isDeleting && !dispatching.keepsObject(work)) this.#removal(cluster);
    if (!dispatching.isGrant(work)) return;
    const lastGrant = old && dispatching.isGrant(old) ? old : undefined;
    if (type === "ADDED" || work.metadata.generation !== old?.metadata.generation)
      this.#grant(cluster, manifest, lastGrant);
  }

  #grant(cluster: string, manifest: KubeObject, old: KubeObject | undefined): void {
    const { grants, reach, world, rules, order } = this.#options;
    const before = grants.of(cluster);
    const oldManifest = old && manifestOf(old);
    if (oldManifest !== undefined && grantText(oldManifest) === grantText(manifest)) return;
    // The Work was being deleted when the grant was written, or a user deleted it: it is recreated with exactly the
    // same grant.
    if (oldManifest === undefined && before && isSameGrant(JSON.parse(before.manifest), manifest)) return;
    const given = grants.record(cluster, manifest, world.nowMs);
    const { epoch, processor, revision } = given;
    reach.count("epochs only increase");
    if (before && epoch <= before.epoch) {
      world.violated("epochs only increase", `${cluster} was given epoch ${epoch} after ${before.epoch}`);
    }
    this.#checkLedger(cluster, given);
    this.#checkPlacement(cluster, given, before);
    this.#checkReference(cluster, manifest);
    if (rules.still && !rules.still.allowsAnnotations)
      world.violated(rules.still.name, `${cluster} was given epoch ${epoch}`);
    order.granted(cluster, given, before);
    world.note("GRANT", `${cluster} epoch ${epoch}`, () => {
      const { replicas, ordinals, updateStrategy } = isJsonObject(manifest.spec) ? manifest.spec : ({} as JsonObject);
      const more = JSON.stringify({ replicas, ordinals, updateStrategy });
      return `${processor ? "its turn," : "no turn,"} ${revision} ${more}`;
    });
  }

  /** Write-ahead: a process that dies between the two must leave a ledger that contains everything dispatched. */
  #checkLedger(cluster: string, { epoch }: Given): void {
    const { reach, world } = this.#options;
    reach.count("the ledger precedes the dispatch");
    const known = this.#options.grants.ledgerEpochs.get(cluster) ?? 0;
    if (epoch <= known) return;
    const what = `${cluster} was given epoch ${epoch}, and the ledger on the hub says ${known}`;
    world.violated("the ledger precedes the dispatch", what);
  }

  /** [S19] What a Placement drops because it is away is not taken from it. */
  #checkPlacement(cluster: string, given: Given, before: Given | undefined): void {
    const { rules, world, reach, grants } = this.#options;
    if (!rules.isPlaced || rules.tearsDown || !before) return;
    reach.count("no loss counts as a Placement's removal");
    const desired = rules.desired.get(cluster) ?? 0;
    const shrinks = given.replicas < before.replicas && given.replicas < desired;
    // Others grow before one is drained. What was not deployed yet in a cluster that is away goes elsewhere, and rightly.
    const isDeployed = [...rules.desired].every(([name, count]) => grants.replicas(name) >= count);
    const grows = given.replicas > before.replicas && given.replicas > desired && isDeployed && !rules.replaces;
    if (!shrinks && !grows) return;
    const what = `${cluster} was given ${given.replicas} instances after ${before.replicas}, and its user wants ${desired}`;
    world.violated("no loss counts as a Placement's removal", what);
  }

  /** [I21] An operator that reads the grant must find what it refers to. */
  #checkReference(cluster: string, { metadata }: KubeObject): void {
    const { reach, world, members } = this.#options;
    const names = refersTo(metadata.annotations ?? {});
    if (names.length === 0) return;
    reach.count("what a grant refers to exists before it");
    const held = members.get(cluster)?.parts;
    const missing = names.filter((name) => !held?.has(name));
    if (missing.length === 0) return;
    const what = `${cluster} was given a grant that refers to ${missing.join(", ")}, and does not hold that`;
    world.violated("what a grant refers to exists before it", what);
  }

  /** A cluster's object is about to be deleted there. */
  #removal(cluster: string): void {
    const { reach, world, rules, fleet } = this.#options;
    reach.count("objects removed");
    const sinceMs = fleet.notReadySinceMs(cluster);
    if (sinceMs !== undefined && world.nowMs - sinceMs > HEARD_OF_MS) {
      world.violated("nothing deleted on an unreachable cluster", `${cluster} has not been Ready since ${sinceMs} ms`);
    }
    if (rules.tearsDown || rules.confirmedDrain.has(cluster)) return;
    if (fleet.hasReturned(cluster)) {
      world.violated("nothing deleted on a returning cluster", `${cluster} returned, and no user allowed its drain`);
    }
  }

  #ledger(type: Commit["type"], ledger: KubeObject, sender: SimProcess | undefined): void {
    const { reach, world, grants } = this.#options;
    if (type === "DELETED") {
      grants.ledgerEpochs = new Map();
      return;
    }
    const term = Number(ledger.metadata.annotations?.[TERM] ?? 0);
    const uid = ledger.metadata.uid ?? "";
    const before = this.#terms.get(uid) ?? 0;
    reach.count("ledger writes");
    if (term < before)
      world.violated("no stale leader acts", `${sender?.name} wrote ledger term ${term} after ${before}`);
    this.#terms.set(uid, term);
    grants.ledgerEpochs = epochsOf(ledger);
  }

  #status(type: Commit["type"], object: KubeObject, old: KubeObject | undefined): void {
    const { reach, world } = this.#options;
    if (type === "DELETED" || JSON.stringify(object.status) === JSON.stringify(old?.status)) return;
    const status = isJsonObject(object.status) ? object.status : undefined;
    if (!status) return;
    const { phase, reason, step } = status;
    world.note("STATUS", `${phase}`, () => {
      const { cluster, type: kind } = isJsonObject(step) ? step : ({} as JsonObject);
      return `${kind ?? ""} ${cluster ?? ""} ${reason ?? ""} ${JSON.stringify(status.display)} ${status.message ?? ""}`;
    });
    // Being deleted is a reason in itself; anything that delays it longer has its own.
    if (phase === "Settled" || phase === "TearingDown" || phase === "Releasing") return;
    reach.count("status explains every wait");
    if (typeof reason === "string" && reason !== "" && typeof status.message === "string") return;
    if (isJsonObject(step) && typeof step.type === "string") return;
    const what = `phase ${phase}, and neither a reason nor a step: ${JSON.stringify(status)}`;
    world.violated("status explains every wait", what);
  }
}

function epochsOf({ spec }: KubeObject): ReadonlyMap<string, number> {
  const state = isJsonObject(spec) && isJsonObject(spec.state) ? spec.state : {};
  const clusters = isJsonObject(state.clusters) ? state.clusters : {};
  return new Map(
    Object.entries(clusters).map(([name, entry]) => [name, isJsonObject(entry) ? Number(entry.epoch ?? 0) : 0]),
  );
}

/** Except for what only Karmada reads: that a recreated Work takes over the existing object. */
function isSameGrant(one: KubeObject, other: KubeObject): boolean {
  return grantText(one, CONFLICT_RESOLUTION) === grantText(other, CONFLICT_RESOLUTION);
}

/** Without what says only which write it came from. */
function grantText(manifest: KubeObject, ...except: string[]): string {
  const left = [WRITE_ANNOTATION, ...except];
  return JSON.stringify(manifest, (key, value) => (left.includes(key) ? undefined : value));
}
