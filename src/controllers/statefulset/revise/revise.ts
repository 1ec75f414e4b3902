import type { ParsedCrossClusterStatefulset } from "../../../api/index.ts";
import type { Interpreter } from "../../../interpret/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type {
  InForce,
  Ledger,
  Override,
  RevisionIntent,
  TemplateMarks,
  TemplateRevision,
} from "../../../plan/index.ts";
import {
  nameRevision,
  type RevisionContent,
  revisionMeaning,
  revisionSizeProblem,
  snapshotRevision,
  templateMarks,
} from "../../../render/index.ts";
import type { Clock } from "../../../runtime/index.ts";
import { carriedRefs } from "../../common/dependencies.ts";
import type { HubRef } from "../../common/hub/hub-objects.ts";
import type { HubReader } from "../../common/hub/hub-reader.ts";
import {
  answerOf,
  isUnanswered,
  type Packed,
  packed,
  packedBy,
  replicaSource,
  type Unanswered,
} from "../../common/interpreted.ts";
import { type Owner, ownerOf } from "../../common/owner.ts";
import { RevisionTooLargeError } from "../../common/revisions/revision-content.ts";
import type { RevisionStore, StoredRevision } from "../../common/revisions/revision-store.ts";
import type { Settling } from "../../common/settling.ts";
import type { Moment } from "../observe/moment.ts";
import type { DryRuns } from "./dry-runs.ts";
import { inForceOf, underOverride } from "./in-force.ts";

/** Where revisions are kept. */
export type RevisionBook = Pick<RevisionStore, "has" | "list" | "content" | "save">;

export interface ReviserOptions {
  readonly interpreter: Pick<Interpreter, "interpret" | "sourcesOf">;
  readonly hubObjects: HubReader;
  readonly store: RevisionBook;
  readonly clock: Clock;
  /** Whether members take a revision. */
  readonly dryRuns: Pick<DryRuns, "of">;
  /** [U15] Absent: what has just changed is a revision at once. */
  readonly settling?: Settling;
  /** Throws when the application's object is not there any more. */
  readonly mustStillExist: (appKey: string) => Promise<void>;
}

/** What the ledger and the fleet say about the application, as far as its revisions are concerned. */
export interface Setting {
  /** Clusters whose API server may be asked whether it takes the revision. */
  readonly dryRunIn: readonly string[];
  /** How many instances clusters hold. */
  readonly counts: ReadonlySet<number>;
  readonly override: Override | null;
}

/** What the last revision of an application was made of. */
export interface SeenSources {
  readonly revision: string;
  readonly dependencies: readonly { readonly ref: HubRef; readonly resourceVersion: string | undefined }[];
}

interface Known {
  /** What the revision was made of. */
  readonly from: string;
  readonly digest: string;
  readonly stored: StoredRevision;
  readonly content: RevisionContent;
  /** The template with the restart marks that it carries now. */
  readonly present: RevisionContent;
  readonly own: TemplateMarks;
  /** [I18] Why no cluster could be granted it: what is too large for a member is known before any grant names it. */
  readonly problem: string | undefined;
  /** Counts of which the interpreter has said how they are written into this revision. */
  readonly answered: Set<number>;
}

/** Turns the template as it is now into a revision: snapshotted, and accepted by a member before any grant names it. */
export class Reviser {
  readonly #options: ReviserOptions;
  /** The last answer per application, by what it was computed from. */
  readonly #known = new Map<string, Known>();
  readonly #seen = new Map<string, SeenSources>();

  constructor(options: ReviserOptions) {
    this.#options = options;
  }

  async revision(
    appKey: string,
    statefulset: ParsedCrossClusterStatefulset,
    template: KubeObject,
    { clusters, policies }: Pick<Moment, "clusters" | "policies">,
    { dryRunIn, counts, override }: Setting,
  ): Promise<TemplateRevision> {
    const { interpreter, hubObjects, settling, dryRuns } = this.#options;
    const owner = ownerOf(statefulset);
    this.#seen.delete(appKey);
    const named = answerOf("InterpretDependency", interpreter.interpret("InterpretDependency", { object: template }));
    const carried = carriedRefs(named, owner.namespace);
    if (isUnanswered(carried)) return unmade(carried);
    const dependencies: KubeObject[] = [];
    const seen: SeenSources["dependencies"][number][] = [];
    for (const ref of carried.refs) {
      const found = hubObjects.get(appKey, ref);
      if (found.kind === "unknown") return unmade(unread(ref, found.message));
      const object = found.kind === "present" ? found.object : undefined;
      if (object) dependencies.push(object);
      seen.push({ ref, resourceVersion: object?.metadata.resourceVersion });
    }
    const from = [
      override?.template ?? "",
      statefulset.spec.restartedAt ?? "",
      packedBy(interpreter, template),
      ...[template, ...dependencies, ...policies].map(versionOf),
    ].join(" ");
    const before = this.#known.get(appKey);
    // A ledger that was claimed again may not list yet what this process stored before.
    let known = before && this.#options.store.has(owner, before.stored.id) ? before : undefined;
    if (known?.from !== from) {
      const taken = packed(interpreter, template);
      if (isUnanswered(taken)) return unmade(taken);
      const present = snapshot(taken, dependencies, policies, statefulset.spec.restartedAt);
      const own = templateMarks(present);
      const undone = override?.template ? await this.#options.store.content(owner, override.template) : undefined;
      const content = underOverride(present, own, override, undone);
      const digest = revisionMeaning(content);
      if (known?.digest === digest) {
        known = { ...known, from, present, own };
      } else {
        const unsettled = this.#unsettled(appKey, statefulset, content, digest);
        if (unsettled) return unsettled;
        const stored = await this.#saveIfItFits(appKey, owner, content);
        if (stored instanceof RevisionTooLargeError) return unmade(tooLarge(stored));
        const problem = revisionSizeProblem(content, [...clusters.values()]);
        known = { from, digest, stored, content, present, own, problem, answered: new Set() };
      }
      this.#known.set(appKey, known);
    }
    settling?.end(appKey);
    const { stored, own } = known;
    this.#seen.set(appKey, { revision: stored.id, dependencies: seen });
    const unwritable = this.#unwritable(known, counts);
    const unmakeable = unwritable ?? oversized(known);
    const made = unmakeable ? { ...unmakeable, id: stored.id } : dryRuns.of(appKey, owner, stored, dryRunIn);
    return { ...made, own };
  }

  /** What the ledger's override has to consider in addition to the template, whose revision was just made. */
  async inForce(
    appKey: string,
    statefulset: ParsedCrossClusterStatefulset,
    revision: RevisionIntent,
    ledger: Ledger,
    counts: ReadonlySet<number>,
  ): Promise<InForce | undefined> {
    const known = this.#known.get(appKey);
    if (!known || !ledger.override) return undefined;
    const owner = ownerOf(statefulset);
    return inForceOf({
      ledger,
      revision,
      content: known.content,
      present: known.present,
      contentOf: (id) => this.#options.store.content(owner, id),
      // Members have taken the same content before: no dry run is needed.
      make: async (content) => {
        if (this.#unwritable({ content, answered: new Set() }, counts)) return undefined;
        return (await this.#save(appKey, owner, content)).id;
      },
    });
  }

  /**
   * [U15] Template and dependencies are rarely edited in one write: what has changed is made a revision when it has
   * been quiet for a while. A new leader waits for none that an earlier one has made.
   */
  #unsettled(
    appKey: string,
    statefulset: ParsedCrossClusterStatefulset,
    content: RevisionContent,
    digest: string,
  ): TemplateRevision | undefined {
    const { store, clock, settling } = this.#options;
    if (!settling) return undefined;
    if (!this.#known.has(appKey)) {
      const { id } = nameRevision(content);
      if (store.list(ownerOf(statefulset)).some((stored) => stored.id === id)) return undefined;
    }
    const { revisionSettleSeconds } = statefulset.spec;
    const leftMs = settling.leftMs(appKey, digest, revisionSettleSeconds * 1000);
    if (leftMs === 0) return undefined;
    return {
      kind: "pending",
      id: "",
      message: `settling, ${revisionSettleSeconds} s: the template, or what it depends on, has just changed`,
      remedy: "No action needed; spec.revisionSettleSeconds says for how long.",
      retryAtMs: clock.now() + Math.ceil(leftMs),
    };
  }

  /**
   * Why a count that a cluster holds cannot be written into the revision yet. It is asked for before the first step, so
   * that a webhook that fails later lets no step run into its deadline.
   */
  #unwritable(
    { content, answered }: Pick<Known, "content" | "answered">,
    counts: ReadonlySet<number>,
  ): Unanswered | undefined {
    for (const count of counts) {
      if (answered.has(count)) continue;
      const source = replicaSource(this.#options.interpreter, content.template, count);
      if (isUnanswered(source)) return source;
      answered.add(count);
    }
    return undefined;
  }

  /** What a cluster runs already, as a revision of its own. */
  async baseline(
    appKey: string,
    statefulset: ParsedCrossClusterStatefulset,
    live: KubeObject,
  ): Promise<StoredRevision | Unanswered> {
    const taken = packed(this.#options.interpreter, live);
    if (isUnanswered(taken)) return taken;
    // Exactly what runs: a restart that a user requested meanwhile becomes a later revision.
    return this.#save(appKey, ownerOf(statefulset), snapshot(taken, [], [], undefined));
  }

  async content(statefulset: ParsedCrossClusterStatefulset, id: string) {
    const content = await this.#options.store.content(ownerOf(statefulset), id);
    return content && { id, content };
  }

  /** Of the last call of `revision`; undefined: it could not tell yet. */
  seen(appKey: string): SeenSources | undefined {
    return this.#seen.get(appKey);
  }

  forget(appKey: string): void {
    this.#known.delete(appKey);
    this.#seen.delete(appKey);
    this.#options.settling?.end(appKey);
  }

  #save(appKey: string, owner: Owner, content: RevisionContent): Promise<StoredRevision> {
    return this.#options.store.save(owner, content, () => this.#options.mustStillExist(appKey));
  }

  async #saveIfItFits(
    appKey: string,
    owner: Owner,
    content: RevisionContent,
  ): Promise<StoredRevision | RevisionTooLargeError> {
    try {
      return await this.#save(appKey, owner, content);
    } catch (error) {
      if (error instanceof RevisionTooLargeError) return error;
      throw error;
    }
  }
}

/** No revision yet, not even its name. */
function unmade({ kind, message, remedy }: Unanswered): TemplateRevision {
  return { kind, id: "", message, remedy };
}

function tooLarge({ message }: RevisionTooLargeError): Unanswered {
  return { kind: "refused", message, remedy: "Make it smaller, or let the pods read it from elsewhere." };
}

/** A revision that a member has already accepted is not refused for its size. */
function oversized({ stored, problem }: Known): Unanswered | undefined {
  if (problem === undefined || stored.dryRun === "accepted") return undefined;
  return { kind: "refused", message: problem, remedy: "Make it smaller, or let the pods read it from elsewhere." };
}

function unread({ kind, namespace, name }: HubRef, reason: string): Unanswered {
  return {
    kind: "pending",
    message: `${kind} ${namespace}/${name} could not be read yet: ${reason}`,
    remedy: "No action needed. If this takes too long, check the controller's rights on that kind.",
  };
}

function snapshot(
  { object, replicas }: Packed,
  dependencies: readonly KubeObject[],
  policies: readonly KubeObject[],
  restart: string | undefined,
): RevisionContent {
  return snapshotRevision({
    template: object,
    dependencies,
    policies,
    replicas,
    ...(restart !== undefined && { restart }),
  });
}

function versionOf({ kind, metadata }: KubeObject): string {
  return `${kind}/${metadata.name}@${metadata.uid}:${metadata.resourceVersion}`;
}
