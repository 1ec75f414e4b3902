import type { KubeClient, KubeObject } from "../../kube/index.ts";
import { isRefusedSwap, laterTermOf, manifestOf, termOf } from "../dispatch-objects.ts";
import type { Dispatches } from "../dispatches.ts";
import { DispatchConflictError } from "../errors.ts";
import { type OwnWorks, SWAP_ATTEMPTS } from "../own-works.ts";
import type { Dispatched, EngineOwner, MemberAccess } from "../port.ts";
import { isUnserved as isUnservedIn } from "./proxy.ts";
import { KARMADA_MANAGED, WORKS } from "./resources.ts";
import { emptyingPatch, freeingPatch, keepsObject } from "./works.ts";

export interface EndingOptions {
  readonly hub: KubeClient;
  readonly own: OwnWorks;
  readonly dispatches: Dispatches;
  readonly member: (cluster: string) => MemberAccess;
}

/** Ends Works, and helps those to their end that Karmada cannot end by itself. */
export class Endings {
  readonly #options: EndingOptions;

  constructor(options: EndingOptions) {
    this.#options = options;
  }

  /** One step; true after the Work is gone. */
  async withdraw(app: EngineOwner, dispatched: Dispatched, what: "keep" | "remove"): Promise<boolean> {
    const written = await this.#freed(app, dispatched, what);
    if (!written) return true;
    if (written.metadata.deletionTimestamp === undefined) return this.#options.own.delete(app, written);
    await this.#unblock(app, dispatched, written);
    return false;
  }

  /** The Work, ready to be deleted or being deleted already; undefined if it is gone. */
  async #freed(app: EngineOwner, dispatched: Dispatched, what: "keep" | "remove"): Promise<KubeObject | undefined> {
    const { hub, own, dispatches } = this.#options;
    let work = await dispatches.find(app, dispatched);
    for (let attempt = 0; work && attempt < SWAP_ATTEMPTS; attempt++) {
      const seen: KubeObject = work;
      if (seen.metadata.deletionTimestamp !== undefined) return seen;
      if (termOf(seen) > dispatched.term) throw laterTermOf(seen, dispatched.term, termOf(seen));
      try {
        return await own.write(app, seen, () => hub.patch(WORKS, seen.metadata, freeingPatch(seen, what)));
      } catch (error) {
        if (!isRefusedSwap(error)) throw error;
        const found = await hub.find(WORKS, seen.metadata);
        work = found?.metadata.uid === dispatched.uid ? found : undefined;
      }
    }
    if (work) throw new DispatchConflictError(dispatched.cluster, `Work ${work.metadata.name}`);
    return undefined;
  }

  /**
   * Karmada cannot end a preserving Work whose object is absent from the member, nor one whose object has lost Karmada's
   * label already (it removes the label first, and the finalizer in a second write that can fail). Nor can it end any
   * Work of a kind that is served no more. With nothing left to clean up in the member, such a Work is emptied, and
   * Karmada ends it.
   */
  async #unblock(app: EngineOwner, { cluster, ref }: Dispatched, work: KubeObject): Promise<void> {
    const { hub, own, member } = this.#options;
    if (!manifestOf(work)) return;
    try {
      const isUnserved = await isUnservedIn(hub, cluster, ref);
      if (!isUnserved && !keepsObject(work)) return;
      const found = isUnserved ? undefined : await member(cluster).read(ref);
      if (found?.kind === "unknown") return;
      if (found?.kind === "present" && found.object.metadata.labels?.[KARMADA_MANAGED] !== undefined) return;
      await own.write(app, work, () => hub.patch(WORKS, work.metadata, emptyingPatch(work)));
    } catch {
      // The member cannot be asked, or Karmada has just written the Work: the next attempt finds out.
    }
  }
}
