import { type Parsed, type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../../api/index.ts";
import type { Engine, EngineApp, News, ObjectRef } from "../../engine/index.ts";
import { type Cache, type KubeObject, keyOf } from "../../kube/index.ts";
import type { HubReader } from "../common/hub/hub-reader.ts";
import { templateOfGrants } from "./act/act.ts";
import { ClaimBook } from "./observe/claim-book.ts";
import { claimantOf, type Ownership } from "./observe/claims.ts";
import { appOf, templateNamed } from "./observe/deletion.ts";
import { findTemplate } from "./observe/template.ts";
import type { Sessions } from "./sessions.ts";

export interface ApplicationsOptions {
  readonly engine: Engine;
  /** All CrossClusterStatefulsets. */
  readonly cache: Cache<KubeObject>;
  readonly hubObjects: HubReader;
  readonly sessions: Sessions;
  /** Something that the engine shows of an application may have changed. */
  readonly changed: (key: string, news: News) => void;
}

/** What each CrossClusterStatefulset asks for, which object it means, and whether that object is its own. */
export class Applications {
  readonly #options: ApplicationsOptions;
  readonly #claims: ClaimBook;
  /** By what it was read from: validating a spec costs more than a plan, and status changes do not touch it. */
  readonly #parsed = new Map<string, { from: string; parsed: Parsed<ParsedCrossClusterStatefulset> }>();
  readonly #tracked = new Map<string, EngineApp>();

  constructor(options: ApplicationsOptions) {
    this.#options = options;
    this.#claims = new ClaimBook({
      cache: options.cache,
      isValid: (object) => this.parse(keyOf(object.metadata), object).ok,
      matchedName: (object, reader) => this.#matchedName(object, reader),
    });
  }

  /** Those that are tracked, with the object that each manages. */
  tracked(): ReadonlyMap<string, EngineApp> {
    return this.#tracked;
  }

  parse(key: string, object: KubeObject): Parsed<ParsedCrossClusterStatefulset> {
    const { uid, generation, deletionTimestamp } = object.metadata;
    const from = `${uid} ${generation} ${deletionTimestamp}`;
    const known = this.#parsed.get(key);
    if (known?.from === from && generation !== undefined) return known.parsed;
    // What we say ourselves is no part of what is asked for.
    const { status: _said, ...asked } = object;
    const parsed = parseCrossClusterStatefulset(asked);
    this.#parsed.set(key, { from, parsed });
    return parsed;
  }

  /** The member's object that is meant; its name is kept while the template is missing. */
  targetOf(
    key: string,
    statefulset: ParsedCrossClusterStatefulset,
    template: KubeObject | undefined,
  ): ObjectRef | undefined {
    const { apiVersion, kind, namespace, name } = statefulset.spec.resourceSelector;
    const { sessions } = this.#options;
    // Labels may match another object by now. What was deployed keeps its name, and its hold.
    const recorded = name ?? sessions.recordedName(key, statefulset);
    const known = recorded ?? template?.metadata.name ?? this.#tracked.get(key)?.template.name;
    return known === undefined ? undefined : { apiVersion, kind, namespace, name: known };
  }

  /** The application of an object that is being deleted: its spec may be invalid and its template gone. */
  deleted(key: string, object: KubeObject): EngineApp {
    const { engine, sessions } = this.#options;
    const known = this.#tracked.get(key);
    if (known) return known;
    const unknown = { apiVersion: "", kind: "", namespace: object.metadata.namespace ?? "", name: "" };
    const dispatched = engine.dispatched(appOf(object, unknown));
    const template = templateNamed(object, sessions.recordedName(key, object)) ?? templateOfGrants(dispatched);
    if (!template) return appOf(object, unknown);
    return this.#track(key, appOf(object, template));
  }

  /** Whether the object owns what it selects; undefined: it claims nothing. */
  ownership(key: string, object: KubeObject, target: ObjectRef): Ownership | undefined {
    const claimant = claimantOf(object, true);
    return claimant && this.#claims.ownership(claimant, key, target);
  }

  /** The others whose ownership may turn on this object, which has changed. */
  concernedBy(object: KubeObject): string[] {
    return this.#claims.concernedBy(object, this.#tracked.get(keyOf(object.metadata))?.template);
  }

  track(key: string, { metadata, spec }: ParsedCrossClusterStatefulset, template: ObjectRef): EngineApp {
    const known = this.#tracked.get(key);
    const isInline = spec.template !== undefined;
    const { name: placement, score } = spec.topology?.placementRef ?? {};
    const isKnown =
      known?.isInline === isInline &&
      known.placement === placement &&
      known.uid === metadata.uid &&
      JSON.stringify(known.placementScore) === JSON.stringify(score) &&
      targetText(known.template) === targetText(template);
    if (isKnown) return known;
    const { namespace, name, uid } = metadata;
    return this.#track(key, {
      namespace,
      name,
      ...(uid !== undefined && { uid }),
      template,
      isInline,
      ...(placement !== undefined && { placement }),
      ...(score && { placementScore: score }),
    });
  }

  untrack(key: string): void {
    const app = this.#tracked.get(key);
    if (app) this.#options.engine.untrack(app);
    this.#tracked.delete(key);
  }

  forget(key: string): void {
    this.untrack(key);
    this.#parsed.delete(key);
  }

  #track(key: string, app: EngineApp): EngineApp {
    this.#tracked.set(key, app);
    this.#options.engine.track(app, (news) => this.#options.changed(key, news));
    return app;
  }

  /** The name of what another CrossClusterStatefulset selects by label, as far as it is known now. */
  #matchedName(object: KubeObject, reader: string): string | null | undefined {
    const { hubObjects, sessions } = this.#options;
    const key = keyOf(object.metadata);
    const recorded = sessions.recordedName(key, object);
    if (recorded !== undefined) return recorded;
    const parsed = this.parse(key, object);
    const found = parsed.ok ? findTemplate(hubObjects, reader, parsed.value) : undefined;
    if (found?.kind === "unknown") return undefined;
    return found?.kind === "one" ? found.object.metadata.name : null;
  }
}

function targetText({ apiVersion, kind, namespace, name }: ObjectRef): string {
  return `${apiVersion} ${kind} ${namespace}/${name}`;
}
