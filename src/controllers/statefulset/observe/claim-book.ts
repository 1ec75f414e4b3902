import type { ObjectRef } from "../../../engine/index.ts";
import { type Cache, type KubeObject, keyOf } from "../../../kube/index.ts";
import { type Claimant, claimantOf, type Ownership, ownershipOf, placeKey, selectedBy, targetKey } from "./claims.ts";

export interface ClaimBookOptions {
  /** All CrossClusterStatefulsets, synced: a claim counts whichever object is looked at first. */
  readonly cache: Cache<KubeObject>;
  readonly isValid: (object: KubeObject) => boolean;
  /**
   * The name of what this object selects by label; null: nothing. Undefined: not known yet, and `reader` is looked at
   * again when it may be.
   */
  readonly matchedName: (object: KubeObject, reader: string) => string | null | undefined;
}

const INDEX = "selects";

/** Who selects what, from the cache: found without looking at every application. */
export class ClaimBook {
  readonly #options: ClaimBookOptions;

  constructor(options: ClaimBookOptions) {
    this.#options = options;
    options.cache.defineIndex(INDEX, (object) => {
      const selected = selectedBy(object);
      if (!selected) return [];
      return [selected.kind === "by name" ? targetKey(selected.ref) : placeKey(selected.place)];
    });
  }

  /** Whether the object with this claim owns what it selects. */
  ownership(own: Claimant, key: string, target: ObjectRef): Ownership {
    const contenders = this.#contenders(target).flatMap((object) => {
      if (keyOf(object.metadata) === key) return [];
      const claimant = claimantOf(object, this.#options.isValid(object));
      return claimant ? [{ ...claimant, selects: this.#selects(object, target, key) }] : [];
    });
    return ownershipOf(own, contenders);
  }

  /**
   * The others whose ownership may turn on this object, which has changed. `owned`: what it owned so far; one that
   * selects by label and owned nothing has kept no other waiting but those that wait for the same list.
   */
  concernedBy(object: KubeObject, owned: ObjectRef | undefined): string[] {
    const selected = selectedBy(object);
    const target = selected?.kind === "by name" ? selected.ref : owned;
    if (!target) return [];
    const others = this.#contenders(target);
    return others.map(({ metadata }) => keyOf(metadata)).filter((key) => key !== keyOf(object.metadata));
  }

  #contenders(target: ObjectRef): KubeObject[] {
    const { cache } = this.#options;
    return [...cache.byIndex(INDEX, targetKey(target)), ...cache.byIndex(INDEX, placeKey(target))];
  }

  #selects(object: KubeObject, target: ObjectRef, reader: string): "it" | "another" | "unknown" {
    if (selectedBy(object)?.kind === "by name") return "it";
    const name = this.#options.matchedName(object, reader);
    if (name === undefined) return "unknown";
    return name === target.name ? "it" : "another";
  }
}
