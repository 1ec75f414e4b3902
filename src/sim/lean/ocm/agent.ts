import type { ApiServer, Commit, KubeObject } from "../../../apiserver/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import type { Reach } from "../../seed/reach.ts";
import { OCM_DISPATCHING, propagationOf } from "../../world/dispatching.ts";
import type { World } from "../../world/world.ts";
import type { Chores, Span } from "../chores.ts";
import { write } from "../hub.ts";
import type { StoredObject } from "../store.ts";
import { type Report, ReportBook } from "./reports.ts";
import { type Applied, type OcmMember, Spoke, type Strategy } from "./spoke.ts";

export interface AgentOptions {
  readonly world: World;
  readonly server: ApiServer;
  readonly chores: Chores;
  readonly member: OcmMember;
  readonly reach: Reach;
  /** It does not watch what it reports on: its kind is not watched, or it watches too much already. */
  readonly polls: boolean;
  readonly reportsParts: boolean;
}

/** What the agent's AppliedManifestWork in the member says. */
interface Record {
  readonly owner: string;
  objects: readonly { readonly kind: string; readonly name: string }[];
  /** The ManifestWork has gone without the agent's part in it. */
  isEvicted: boolean;
}

const FINALIZER = "cluster.open-cluster-management.io/manifest-work-cleanup";
const APPLY_MS: Span = [20, 600];
const REPORT_MS: Span = [10, 500];
const ANSWER_MS: Span = [5, 150];
const POLL_MS: Span = [10_000, 19_000];
const RETRY_MS: Span = [2_000, 20_000];
const RESYNC_MS: Span = [240_000, 360_000];
/** An hour in OCM; here so that it falls into a run. */
const EVICTION_MS: Span = [40_000, 90_000];

/**
 * OCM's work agent: one controller applies, another reports, and neither waits for the other. A dead agent leaves
 * everything as it was.
 */
export class OcmAgent {
  readonly #options: AgentOptions;
  readonly #spoke: Spoke;
  readonly #works = new Map<string, KubeObject>();
  /** How often it has applied each ManifestWork. */
  readonly #turns = new Map<string, number>();
  readonly #records = new Map<string, Record>();
  readonly #book: ReportBook;
  #isAlive = true;
  isDetached = false;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#spoke = new Spoke(options.member);
    this.#book = new ReportBook(options.member, options.reach, options.reportsParts);
    if (!options.polls) options.member.store.onChange((plural, name, type) => this.#memberChanged(plural, name, type));
    this.#every(POLL_MS, "poll", () => this.#reportAll());
    this.#every(RESYNC_MS, "resync", () => this.#applyAll());
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  get spoke(): Spoke {
    return this.#spoke;
  }

  die(): void {
    this.#isAlive = false;
  }

  /** It begins with everything that it finds, on the hub and in its own records. */
  revive(): void {
    if (this.#isAlive) return;
    this.#isAlive = true;
    this.#options.reach.count("an agent dies and returns");
    this.resume();
  }

  /** The hub can be reached again. */
  resume(): void {
    this.#applyAll();
    this.#reportAll();
    for (const name of this.#records.keys()) if (!this.#works.has(name)) this.#evictLater(name);
  }

  observe({ type, key, object, old }: Commit): void {
    const { name } = key;
    if (type === "DELETED") {
      this.#works.delete(name);
      if (this.#records.has(name)) this.#evictLater(name);
      return;
    }
    this.#works.set(name, object);
    const [now, before] = [object.metadata, old?.metadata];
    const isAsked = JSON.stringify(now.labels) !== JSON.stringify(before?.labels);
    if (
      !before ||
      now.generation !== before.generation ||
      now.deletionTimestamp !== before.deletionTimestamp ||
      isAsked
    )
      this.#applyIn(APPLY_MS, name);
  }

  get #isUp(): boolean {
    return this.#isAlive && this.#options.member.reachable;
  }

  #every(span: Span, what: string, act: () => void): void {
    const { chores, member } = this.#options;
    chores.after(span, `${what} ${member.name}`, () => {
      if (this.#isUp) act();
      this.#every(span, what, act);
    });
  }

  #applyAll(): void {
    for (const name of this.#works.keys()) this.#applyIn(APPLY_MS, name);
  }

  #reportAll(): void {
    for (const name of this.#works.keys()) this.#reportIn(REPORT_MS, name);
  }

  #applyIn(delay: Span, name: string): void {
    const { chores, member } = this.#options;
    chores.once(`apply ${member.name}/${name}`, delay, () => this.#apply(name));
  }

  #reportIn(delay: Span, name: string): void {
    const { chores, member } = this.#options;
    chores.once(`report ${member.name}/${name}`, delay, () => this.#report(name));
  }

  /** A deletion is no news to it; it finds out at its next poll. */
  #memberChanged(plural: string, object: string, type: string): void {
    if (type === "DELETED") return;
    for (const name of this.#works.keys())
      if (this.#book.watches(name, plural, object)) this.#reportIn(REPORT_MS, name);
  }

  async #apply(name: string): Promise<void> {
    const { server, world, member, chores, polls } = this.#options;
    const work = this.#works.get(name);
    if (!work || !this.#isUp) return;
    if (work.metadata.deletionTimestamp !== undefined) return this.#end(work);
    if (!work.metadata.finalizers?.includes(FINALIZER))
      await write(server, "PATCH", this.#path(name), { metadata: { finalizers: [FINALIZER] } });
    const owner = `work-${name}`;
    const record: Record = this.#records.get(name) ?? { owner, objects: [], isEvicted: false };
    record.isEvicted = false;
    this.#records.set(name, record);
    const parts = partsOf(work, member);
    const owns = propagationOf(work) !== "Orphan";
    const results = parts.map(({ manifest, strategy }): Applied => {
      return this.#spoke.apply({ manifest, strategy, owner, owns });
    });
    record.objects = parts
      .filter(({ strategy }) => strategy.type !== "ReadOnly")
      .map(({ manifest }) => ({ kind: manifest.kind, name: manifest.metadata.name }));
    const generation = work.metadata.generation ?? 0;
    const failed = results.find(({ kind }) => kind !== "applied");
    if (failed && failed.kind !== "applied") world.note(member.name, `${name} is not applied`, () => failed.message);
    const turn = (this.#turns.get(name) ?? 0) + 1;
    this.#turns.set(name, turn);
    chores.after(ANSWER_MS, `answer ${member.name}`, () => {
      // It applies one version after the other: what it says of an earlier one never comes after a later one.
      if (this.#turns.get(name) !== turn) return;
      // A refused report of what was applied is no report: the agent applies again.
      const again = () => this.#applyIn(APPLY_MS, name);
      this.#writeReport(name, (now) => this.#book.applied(now, parts, results, generation), again);
      if (!polls) this.#reportIn(REPORT_MS, name);
    });
    // A conflict stays one until a user or another writer changes something.
    if (failed?.kind === "refused") this.#retry(name, generation);
  }

  #retry(name: string, generation: number): void {
    const { chores, member } = this.#options;
    chores.after(RETRY_MS, `retry ${member.name}`, () => {
      if (this.#works.get(name)?.metadata.generation === generation) this.#applyIn(APPLY_MS, name);
    });
  }

  /** It decides by the owner of each object, which it last set when it last applied. */
  async #end(work: KubeObject): Promise<void> {
    const { server, world, member } = this.#options;
    const { name } = work.metadata;
    const record = this.#records.get(name);
    const gone = (record?.objects ?? []).filter((each) => this.#spoke.abandon(each.kind, each.name, `work-${name}`));
    this.#records.delete(name);
    world.note(member.name, `ManifestWork ${name} ends`, () => (gone.length > 0 ? "with its object" : "alone"));
    const finalizers = (work.metadata.finalizers ?? []).filter((each) => each !== FINALIZER);
    await write(server, "PATCH", this.#path(name), { metadata: { finalizers } });
  }

  /** The record has no ManifestWork any more. One of the same name saves it. */
  #evictLater(name: string): void {
    const { chores, member, reach, world } = this.#options;
    const record = this.#records.get(name);
    if (!record || record.isEvicted || !this.#isAlive) return;
    record.isEvicted = true;
    chores.after(EVICTION_MS, `evict ${member.name}`, () => {
      if (this.#records.get(name) !== record || !record.isEvicted || !this.#isAlive) return;
      this.#records.delete(name);
      reach.count("an eviction after a torn-off finalizer");
      world.note(member.name, `evicts ${name}`);
      for (const each of record.objects) this.#spoke.abandon(each.kind, each.name, record.owner);
    });
  }

  async #report(name: string): Promise<void> {
    const again = () => this.#reportIn(REPORT_MS, name);
    if (this.#isUp) this.#writeReport(name, (work) => this.#book.looked(work), again);
  }

  #writeReport(name: string, next: (work: KubeObject) => Report | undefined, again: () => void): void {
    const { server, chores } = this.#options;
    const attempt = async () => {
      const work = this.#works.get(name);
      const status = work && this.#isUp ? next(work) : undefined;
      if (!work || !status || JSON.stringify(status) === JSON.stringify(work.status)) return;
      await write(server, "PUT", `${this.#path(name)}/status`, { ...work, status });
    };
    chores.write(attempt, again);
  }

  #path(name: string): string {
    return `${OCM_DISPATCHING.worksPath(this.#options.member.name)}/${name}`;
  }
}

/** One manifest of a ManifestWork, and how it is applied and reported on. */
export interface Part {
  readonly manifest: StoredObject;
  readonly plural: string;
  readonly strategy: Strategy;
  readonly paths: readonly JsonObject[];
}

export function partsOf({ spec }: KubeObject, member: Pick<OcmMember, "pluralOf">): Part[] {
  const { workload, manifestConfigs } = isJsonObject(spec) ? spec : ({} as JsonObject);
  const manifests = isJsonObject(workload) && Array.isArray(workload.manifests) ? workload.manifests : [];
  const configs = Array.isArray(manifestConfigs) ? manifestConfigs.filter(isJsonObject) : [];
  return (manifests as StoredObject[]).map((manifest) => {
    const plural = member.pluralOf(manifest.kind);
    const config = configs.find(({ resourceIdentifier: id }) => {
      return isJsonObject(id) && id.resource === plural && id.name === manifest.metadata.name;
    });
    const rules = Array.isArray(config?.feedbackRules) ? config.feedbackRules.filter(isJsonObject) : [];
    const paths = rules.flatMap(({ jsonPaths }) => (Array.isArray(jsonPaths) ? jsonPaths.filter(isJsonObject) : []));
    return { manifest, plural, strategy: strategyOf(config?.updateStrategy), paths };
  });
}

function strategyOf(text: unknown): Strategy {
  if (!isJsonObject(text)) return { type: "Update" };
  if (text.type === "ReadOnly" || text.type === "CreateOnly" || text.type === "Update") return { type: text.type };
  const apply = isJsonObject(text.serverSideApply) ? text.serverSideApply : {};
  return {
    type: "ServerSideApply",
    manager: typeof apply.fieldManager === "string" ? apply.fieldManager : "work-agent",
    force: apply.force === true,
  };
}
