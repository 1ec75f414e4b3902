import { ANNOTATIONS } from "../../contract/index.ts";
import { type KubeObject, keyOf } from "../../kube/index.ts";

/** Texts that are the same for every member of an application, and that grow with the number of its instances. */
const SHARED_ANNOTATIONS = [ANNOTATIONS.topology, ANNOTATIONS.initialCluster];

/**
 * Keeps such texts once for each application instead of once for each of its clusters: with twenty clusters they are a
 * third of the memory in use.
 */
export class SharedTexts {
  /** By kind, name and annotation: the last text. */
  readonly #texts = new Map<string, string>();

  /** The object, with texts that other objects share. */
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
