import type { Cache, KubeClient, KubeObject } from "../../kube/index.ts";
import { appMark, isRefusedSwap, refKey, uidPrecondition } from "../dispatch-objects.ts";
import { MARKS } from "../marks.ts";
import type { Unheld } from "../port.ts";
import { type Held, holdName, holdPolicy, isHolding } from "./hub.ts";
import { unprotectedHold } from "./left-holds.ts";
import { OVERRIDE_POLICIES } from "./resources.ts";

const FIELD_MANAGER = "lockstep";

/** The policies that prevent Karmada from rendering managed templates: created, repaired and released. */
export class Holds {
  readonly #hub: KubeClient;
  /** All override policies; the index `holds` finds holds by the templates that they hold. */
  readonly #cache: Cache<KubeObject>;
  /** Each application's hold, in the version that was verified. */
  readonly #found = new WeakMap<Held, KubeObject>();

  constructor(hub: KubeClient, cache: Cache<KubeObject>) {
    this.#hub = hub;
    this.#cache = cache;
  }

  /** The current hold. It is written if it is missing or no longer works as a hold. */
  async ensure(app: Held, beforeWriting: (() => Promise<void>) | undefined): Promise<KubeObject> {
    const before = this.#found.get(app);
    const known = this.#cache.get(before?.metadata ?? holdName(app, appMark(app)));
    const isHold = known && (known === before || isHolding(known, app));
    const hold = isHold ? known : await this.#write(app, beforeWriting);
    this.#found.set(app, hold);
    await this.#removeFreed(app);
    return hold;
  }

  /** `isRendered`: without any hold, Karmada would render the current template to all clusters at once. */
  async giveUp(app: Held, isRendered: boolean): Promise<Unheld> {
    const found = await this.#hub.find(OVERRIDE_POLICIES, holdName(app, appMark(app)));
    if (!found) return { kind: "gone" };
    const unprotected = unprotectedHold(found);
    const freed = unprotected ? await this.#hub.update(OVERRIDE_POLICIES, unprotected) : found;
    this.#cache.wrote(freed);
    const { namespace, name } = freed.metadata;
    if (isRendered && !this.#others(app).some(isProtected)) {
      return { kind: "kept", hold: `OverridePolicy ${namespace}/${name}` };
    }
    await this.#hub.delete(OVERRIDE_POLICIES, freed.metadata, uidPrecondition(freed));
    return { kind: "gone" };
  }

  /** Replaced, not applied: what another writer added must be removed too. */
  async #write(app: Held, beforeWriting: (() => Promise<void>) | undefined): Promise<KubeObject> {
    await beforeWriting?.();
    const wanted = holdPolicy(app);
    const found = await this.#hub.find(OVERRIDE_POLICIES, wanted.metadata);
    const written = found
      ? await this.#hub.update(OVERRIDE_POLICIES, repaired(found, wanted))
      : await this.#hub.apply(OVERRIDE_POLICIES, wanted, { fieldManager: FIELD_MANAGER, force: true });
    this.#cache.wrote(written);
    return written;
  }

  /** Other applications' holds on the same template. */
  #others(app: Held): KubeObject[] {
    const holds = this.#cache.byIndex("holds", refKey(app.template));
    if (holds.length === 1 && holds[0] === this.#found.get(app)) return [];
    const mark = appMark(app);
    return holds.filter((policy) => policy.metadata.labels?.[MARKS.app] !== mark);
  }

  /** Holds that released applications left behind: this application holds the template now. */
  async #removeFreed(app: Held): Promise<void> {
    for (const hold of this.#others(app).filter((policy) => !isProtected(policy))) {
      const { uid = "", resourceVersion = "" } = hold.metadata;
      try {
        await this.#hub.delete(OVERRIDE_POLICIES, hold.metadata, { preconditions: { uid, resourceVersion } });
        this.#cache.deleted(hold);
      } catch (error) {
        if (!isRefusedSwap(error)) throw error;
      }
    }
  }
}

function repaired(found: KubeObject, { metadata, spec }: KubeObject): KubeObject {
  const labels = { ...found.metadata.labels, ...metadata.labels };
  const annotations = { ...found.metadata.annotations, ...metadata.annotations };
  return { ...found, metadata: { ...found.metadata, labels, annotations }, spec };
}

function isProtected(object: KubeObject): boolean {
  return unprotectedHold(object) !== undefined;
}
