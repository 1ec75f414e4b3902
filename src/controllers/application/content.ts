import { HOOK_EVENTS, type HookEvent, type RenderedObject } from "../../charts/index.ts";
import type { ObjectRef } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { RevisionContent } from "../../render/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { digestOf, isManifest, keyOfRef, refOf } from "./manifest.ts";

/** One object of a revision. */
export interface Part extends RenderedObject {
  readonly ref: ObjectRef;
  readonly key: string;
  /** Made by Lockstep, such as the target namespace: taken as it is found, and never deleted. */
  readonly isImplicit: boolean;
}

/** Everything that a revision distributes. Clusters that no variant names get the first one. */
export interface Bundle {
  readonly variants: ReadonlyArray<{ readonly clusters: readonly string[]; readonly parts: readonly Part[] }>;
  readonly chartVersion?: string;
  readonly sourceDigest?: string;
}

export function partOf(rendered: RenderedObject, isImplicit = false): Part {
  const ref = refOf(rendered.object);
  return { ...rendered, ref, key: keyOfRef(ref), isImplicit };
}

export function partsFor({ variants }: Bundle, cluster: string): readonly Part[] {
  return (variants.find(({ clusters }) => clusters.includes(cluster)) ?? variants[0])?.parts ?? [];
}

/** What all clusters get: variants may differ in what an object gives away, so rights are asked for each. */
export function partsOfAll({ variants }: Bundle): Part[] {
  return variants.flatMap(({ parts }) => parts);
}

/** One for each object that any cluster gets. */
export function allParts({ variants }: Bundle): Part[] {
  return [...new Map(variants.flatMap(({ parts }) => parts.map((part) => [part.key, part] as const))).values()];
}

/**
 * The bundle as the revision store keeps it: the objects are its dependencies, so that their size is limited, and the
 * readable copy has no Secret's content; the template says which variant has which of them.
 */
export function packBundle(name: string, { variants, chartVersion, sourceDigest }: Bundle): RevisionContent {
  const indexes = new Map<string, number>();
  const dependencies: JsonObject[] = [];
  const indexOf = (object: KubeObject): number => {
    const digest = digestOf(object);
    const known = indexes.get(digest);
    if (known !== undefined) return known;
    indexes.set(digest, dependencies.length);
    return dependencies.push(object) - 1;
  };
  const packed = variants.map(({ clusters, parts }) => ({
    clusters: [...clusters],
    parts: parts.map(({ object, hook, keep, isCrd, isImplicit }) => ({
      index: indexOf(object),
      keep,
      isCrd,
      isImplicit,
      ...(hook && { hook: { ...hook, events: [...hook.events], deletePolicies: [...hook.deletePolicies] } }),
    })),
  }));
  const template: JsonObject = {
    kind: "DistributedApplication",
    metadata: { name },
    variants: packed,
    ...(chartVersion !== undefined && { chartVersion }),
    ...(sourceDigest !== undefined && { sourceDigest }),
  };
  return { template, dependencies, overrides: [] };
}

/** Undefined: this is no bundle. */
export function unpackBundle({ template, dependencies }: RevisionContent): Bundle | undefined {
  const { variants, chartVersion, sourceDigest } = template;
  if (!Array.isArray(variants)) return undefined;
  return {
    variants: variants.filter(isJsonObject).map(({ clusters, parts }) => ({
      clusters: texts(clusters),
      parts: (Array.isArray(parts) ? parts : []).filter(isJsonObject).flatMap((part) => unpackPart(part, dependencies)),
    })),
    ...(typeof chartVersion === "string" && { chartVersion }),
    ...(typeof sourceDigest === "string" && { sourceDigest }),
  };
}

function unpackPart({ index, hook, keep, isCrd, isImplicit }: JsonObject, objects: readonly JsonObject[]): Part[] {
  const object = typeof index === "number" ? objects[index] : undefined;
  if (!isManifest(object)) return [];
  const rendered: RenderedObject = {
    object,
    keep: keep === true,
    isCrd: isCrd === true,
    ...(isJsonObject(hook) && {
      hook: {
        events: texts(hook.events).filter(isHookEvent),
        weight: typeof hook.weight === "number" ? hook.weight : 0,
        deletePolicies: texts(hook.deletePolicies),
      },
    }),
  };
  return [partOf(rendered, isImplicit === true)];
}

function isHookEvent(text: string): text is HookEvent {
  return HOOK_EVENTS.some((event) => event === text);
}

function texts(value: Json | undefined): string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === "string") : [];
}
