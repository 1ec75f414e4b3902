import { ANNOTATIONS } from "../../contract/index.ts";
import { type KubeObject, keyOf } from "../../kube/index.ts";
import { isJsonObject, type JsonObject, sameJson } from "../../runtime/index.ts";

/** Texts that are the same for every member of an application, and that grow with the number of its instances. */
const SHARED_ANNOTATIONS = [ANNOTATIONS.topology, ANNOTATIONS.initialCluster];

/**
 * Keeps such texts, and the pod template, once for each application instead of once for each of its clusters: with
 * twenty clusters they are a third of the memory in use.
 */
export class SharedTexts {
  /** By kind, name and annotation: the last text. */
  readonly #texts = new Map<string, string>();
  /** By kind and name: the last pod template. */
  readonly #templates = new Map<string, JsonObject>();

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
    const spec = this.#withSharedTemplate(object);
    const isSame = annotations === object.metadata.annotations;
    if (isSame && spec === object.spec) return object;
    const metadata = isSame ? object.metadata : { ...object.metadata, annotations };
    return { ...object, metadata, spec };
  }

  #withSharedTemplate(object: KubeObject): KubeObject["spec"] {
    const { spec } = object;
    if (!isJsonObject(spec) || !isJsonObject(spec.template)) return spec;
    const id = idOf(object);
    const known = this.#templates.get(id);
    if (known && sameJson(known, spec.template)) return { ...spec, template: known };
    this.#templates.set(id, spec.template);
    return spec;
  }

  forget(object: KubeObject): void {
    for (const key of SHARED_ANNOTATIONS) this.#texts.delete(`${idOf(object)} ${key}`);
    this.#templates.delete(idOf(object));
  }

  get size(): number {
    return this.#texts.size;
  }
}

function idOf({ kind, metadata }: KubeObject): string {
  return `${kind} ${keyOf(metadata)}`;
}
