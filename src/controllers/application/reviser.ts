import type { ParsedDistributedApplication } from "../../api/index.ts";
import type { WantedRevision } from "../../applications/index.ts";
import type { RevisionContent } from "../../render/index.ts";
import type { RevisionId } from "../../rollout/index.ts";
import type { Clock } from "../../runtime/index.ts";
import { ownerOf } from "../common/owner.ts";
import { RevisionDamagedError, RevisionTooLargeError } from "../common/revisions/revision-content.ts";
import type { RevisionStore } from "../common/revisions/revision-store.ts";
import type { Settling } from "../common/settling.ts";
import { type Bundled, type EarlierRenders, makeBundle } from "./bundler.ts";
import { allParts, type Bundle, type Part, packBundle, partsOfAll, unpackBundle } from "./content.ts";
import { begunIn, earlierRenders, unlessDamaged } from "./earlier.ts";
import { type Kinds, kindId } from "./kinds.ts";
import type { SourceRenderer } from "./renderer.ts";
import type { Renderings } from "./renderings.ts";
import type { Rights } from "./rights.ts";
import type { Session } from "./session.ts";
import type { Inputs } from "./source.ts";
import type { Trial, Trials } from "./trials.ts";

export interface ReviserOptions {
  readonly renderer: SourceRenderer;
  readonly renderings: Renderings;
  readonly kinds: Kinds;
  readonly rights: Rights;
  readonly trials: Trials;
  readonly store: RevisionStore;
  readonly settling: Settling;
  readonly clock: Clock;
  /** See the engine's port. */
  readonly needsHubKinds: (clusters: readonly string[]) => boolean;
  readonly mustStillExist: (key: string) => Promise<void>;
  /** What a user should know of a revision that was made. */
  readonly warn: (key: string, message: string) => void;
}

export type Revised = WantedRevision | { readonly kind: "forbidden"; readonly message: string };

/** What a revision is made for. */
export interface Target {
  readonly app: ParsedDistributedApplication;
  /** The clusters that the spec chooses, and those of them that can be asked. */
  readonly chosen: readonly string[];
  readonly ready: readonly string[];
}
/** What was refused is tried again after this: a source may have been down, and a right may have been given. */
export const REFUSED_RETRY_MS = 30_000;

/** Makes revisions: rendered once for each input, allowed to the ServiceAccount, stored before any grant names them. */
export class Reviser {
  readonly #options: ReviserOptions;
  /** Every reconcile asks for the same few: an application may have thousands of objects. */
  readonly #bundles = new WeakMap<RevisionContent, Bundle>();
  readonly #refused = new Map<string, { readonly inputs: string; readonly atMs: number; readonly revised: Revised }>();

  constructor(options: ReviserOptions) {
    this.#options = options;
  }

  async revise(key: string, target: Target, inputs: Inputs, session: Session): Promise<Revised> {
    try {
      return await this.#revise(key, target, inputs, session);
    } catch (error) {
      if (!(error instanceof RevisionDamagedError)) throw error;
      const remedy =
        "A chart can be rendered without what it had with lookups: Empty: generated passwords change then.";
      return { kind: "refused", message: error.message, remedy };
    }
  }

  async #revise(key: string, target: Target, inputs: Inputs, session: Session): Promise<Revised> {
    const { app } = target;
    const { settling, clock } = this.#options;
    if (inputs.kind !== "inputs") {
      return inputs.kind === "pending" ? { kind: "pending", message: inputs.message } : { ...inputs, kind: "refused" };
    }
    if (session.source?.inputs === inputs.digest) {
      settling.end(key);
      return this.#allowed(key, target, session);
    }
    const refused = this.#refused.get(key);
    const nowMs = clock.monotonicMs();
    if (refused?.inputs === inputs.attempt && nowMs - refused.atMs < REFUSED_RETRY_MS) return refused.revised;
    const leftMs = session.source ? settling.leftMs(key, inputs.digest, app.spec.revisionSettleSeconds * 1000) : 0;
    if (leftMs > 0)
      return {
        kind: "pending",
        message: `the source changed; it is rendered when it has been quiet for ${app.spec.revisionSettleSeconds} s`,
      };
    const revised = await this.#make(key, target, inputs, session);
    if (revised.kind === "known") {
      this.#refused.delete(key);
      return this.#allowed(key, target, session);
    }
    if (revised.kind !== "pending") this.#refused.set(key, { inputs: inputs.attempt, atMs: nowMs, revised });
    return revised;
  }

  /** What a revision distributes; undefined: it is not stored. */
  async bundle(app: ParsedDistributedApplication, id: RevisionId): Promise<Bundle | undefined> {
    const content = await this.#options.store.content(ownerOf(app), id);
    if (!content) return undefined;
    const known = this.#bundles.get(content);
    if (known) return known;
    const bundle = unpackBundle(content);
    if (bundle) this.#bundles.set(content, bundle);
    return bundle;
  }

  forget(key: string): void {
    this.#refused.delete(key);
    this.#options.renderings.forget(key);
    this.#options.settling.end(key);
  }

  async #make(
    key: string,
    { app, chosen, ready }: Target,
    inputs: Extract<Inputs, { kind: "inputs" }>,
    session: Session,
  ): Promise<Revised> {
    const { renderer, renderings, kinds, store, settling, mustStillExist, warn } = this.#options;
    const made = await renderings.of(key, inputs.attempt, async (signal) => {
      const before = await this.#earlier(app, session);
      return makeBundle(renderer, kinds, app, inputs.variants, before, ready, signal);
    });
    if (!made) return { kind: "pending", message: "the source is being rendered" };
    if (made.kind === "refused") return made;
    const unserved = this.#options.needsHubKinds(chosen) ? notOnHub(made) : undefined;
    if (unserved) return unserved;
    const missing = await this.#missing(app, ready, made.bundle);
    if (missing) return missing;
    try {
      const { id } = await store.save(ownerOf(app), packBundle(app.metadata.name, made.bundle), () =>
        mustStillExist(key),
      );
      session.source = { inputs: inputs.digest, revision: id, variants: made.inputs };
      settling.end(key);
      for (const warning of made.warnings) warn(key, `${id}: ${warning}`);
      return { kind: "known", id };
    } catch (error) {
      if (!(error instanceof RevisionTooLargeError)) throw error;
      return { kind: "refused", message: error.message, remedy: "Make the source smaller, or split it." };
    }
  }

  async #earlier(app: ParsedDistributedApplication, { source, ledger }: Session): Promise<EarlierRenders> {
    const stored = this.#options.store.list(ownerOf(app)).map(({ id }) => id);
    // Only a chart that looks something up depends on what there was before.
    const isNeeded = app.spec.source.helm !== undefined && app.spec.lookups !== "Empty";
    const bundle = (id: RevisionId) => (isNeeded ? this.bundle(app, id) : this.bundle(app, id).catch(unlessDamaged));
    return earlierRenders({ source, stored, begun: begunIn(ledger), bundle });
  }

  /** Rights are asked again: what may no longer be distributed is not distributed any more. */
  async #allowed(key: string, { app, ready }: Target, session: Session): Promise<Revised> {
    const id = session.source?.revision ?? "";
    const bundle = await this.bundle(app, id);
    if (!bundle) return { kind: "known", id };
    const missing = await this.#missing(app, ready, bundle);
    return missing ?? this.#tried(key, app, session, bundle, id, ready);
  }

  /** [A24] A revision that no cluster has begun is tried on the members' own API servers first. */
  #tried(
    key: string,
    app: ParsedDistributedApplication,
    { ledger }: Session,
    bundle: Bundle,
    id: RevisionId,
    ready: readonly string[],
  ): Revised {
    const { store, trials } = this.#options;
    const isBegun = begunIn(ledger).has(id);
    const owner = ownerOf(app);
    const isAccepted = store.list(owner).some((stored) => stored.id === id && stored.dryRun === "accepted");
    if (isBegun || isAccepted || ready.length === 0) return { kind: "known", id };
    const trial = trials.of(key, owner.uid, id, bundle, ready);
    if (!trial) return { kind: "pending", message: `the clusters' API servers are asked whether they take ${id}` };
    if (trial.refused) {
      const { message } = trial.refused;
      const remedy = "Correct the source, or what refuses it in the cluster; nothing of this revision was written.";
      return { kind: "refused", message: `a dry run was refused, ${message}`, remedy };
    }
    if (trial.untried.length === 0) store.markAccepted(owner, id);
    return { kind: "known", id };
  }

  /** What the members said about a revision before it began; undefined: this process has not asked. */
  trial(app: ParsedDistributedApplication, id: RevisionId): Trial | undefined {
    return this.#options.trials.said(ownerOf(app).uid, id);
  }

  /** Why another revision than the source's, such as that of an undo, may not be distributed any more. */
  async barred({ app, ready }: Target, id: RevisionId): Promise<string | undefined> {
    const bundle = await this.bundle(app, id).catch(unlessDamaged);
    const missing = bundle && (await this.#missing(app, ready, bundle));
    return missing?.kind === "forbidden" ? missing.message : undefined;
  }

  /** Why the hooks of a deletion may not be distributed any more; undefined: they may. */
  async barredHooks({ app, ready }: Target, bundle: Bundle): Promise<string | undefined> {
    const hooks = partsOfAll(bundle).filter(({ hook }) => hook?.events.some((event) => event.endsWith("-delete")));
    const missing = hooks.length > 0 ? await this.#missingFor(app, ready, hooks, partsOfAll(bundle)) : undefined;
    return missing?.kind === "forbidden" ? missing.message : undefined;
  }

  #missing(app: ParsedDistributedApplication, ready: readonly string[], bundle: Bundle): Promise<Revised | undefined> {
    const parts = partsOfAll(bundle);
    return this.#missingFor(app, ready, parts, parts);
  }

  /** `all`: the whole bundle, whose own CustomResourceDefinitions tell kinds. */
  async #missingFor(
    app: ParsedDistributedApplication,
    ready: readonly string[],
    parts: readonly Part[],
    all: readonly Part[],
  ): Promise<Revised | undefined> {
    const { kinds, rights } = this.#options;
    const { namespace } = app.metadata;
    const name = app.spec.serviceAccountName;
    const scheduled = (app.spec.replicas ?? []).filter(({ by }) => by === "Scheduler");
    const copied = parts.filter(({ object }) =>
      scheduled.some((each) => each.kind === object.kind && each.name === object.metadata.name),
    );
    const missing = await rights.missing({ namespace, name }, parts, await kinds.of(all, ready), copied);
    if (missing.length === 0) return undefined;
    return { kind: "forbidden", message: `ServiceAccount ${namespace}/${name} may not ${missing.join(", ")}` };
  }
}

/** A chart may bring a CustomResourceDefinition and an object of it; some engines deliver only what the hub knows. */
function notOnHub({ bundle, kinds }: Extract<Bundled, { kind: "bundle" }>): Revised | undefined {
  for (const { object, key } of allParts(bundle)) {
    const kind = kinds.get(kindId(object));
    if (!kind?.isOwn && !kind?.isOfMembers) continue;
    const who = kind.isOwn ? "the source's own CustomResourceDefinition knows" : "some of the clusters know";
    return {
      kind: "refused",
      message: `${key}: only ${who} this kind, and the engine delivers only kinds that the hub serves`,
      remedy: `Ask an administrator to create CustomResourceDefinition ${kind.plural}.${kind.group} on the hub, too.`,
    };
  }
  return undefined;
}
