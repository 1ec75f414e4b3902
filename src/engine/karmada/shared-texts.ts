import { ANNOTATIONS } from "../../contract/index.ts";
import { type KubeObject, keyOf } from "../../kube/index.ts";

/** What every member of an application is told alike, and what grows with the number of its instances. */
const SHARED_ANNOTATIONS = [ANNOTATIONS.topology, ANNOTATIONS.initialCluster];

/**
 * Keeps such texts once for each application and not once for each of its clusters: with twenty clusters they are a third
 * of all that is kept in memory.
 */
export class SharedTexts {
  /** By kind, name and annotation: the text that was last seen. */
  readonly #texts = new Map<string, string>();

  /** The object with texts that others have as well. */
  shared(object: KubeObject): KubeObject {
    let annotations = object.metadata.annotations;
    for (const key of SHARED_ANNOTATIONS) {
      const text = annotations?.[key];
      if (text === undefined) continue;
      const id = `${idOf(object)} ${key}`;
      const known = this.#texts.get(id);
      if (known === text) annotations = { ...annotations, [key]: known };
      else this.#texts.set(id, text);
    }
    return annotations === object.metadata.annotations
      ? object
      : { ...object, metadata: { ...object.metadata, annotations } };
  }

  forget(object: KubeObject): void {
    for (const key of SHARED_ANNOTATIONS) this.#texts.delete(`${idOf(object)} ${key}`);
  }

  get size(): number {
    return this.#texts.size;
  }
}

function idOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${keyOf(metadata)}`;
}
