import type { ParsedDistributedApplication } from "../../api/index.ts";
import { isHookEvent } from "../../applications/index.ts";
import type { RenderedObject } from "../../charts/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { sanitize } from "../../render/index.ts";
import {
  applyPatch,
  type Json,
  type JsonObject,
  nearest,
  PatchError,
  type PatchOperation,
} from "../../runtime/index.ts";
import { type Bundle, type Part, partOf, partsFor } from "./content.ts";
import { DEFAULT_KUBE_VERSION, type Kinds, kindId, type ServedKind } from "./kinds.ts";
import { isManifest, keyOfRef, refOf } from "./manifest.ts";
import type { SourceRenderer } from "./renderer.ts";
import type { VariantInput } from "./source.ts";

export type Bundled =
  | {
      readonly kind: "bundle";
      readonly bundle: Bundle;
      readonly kinds: ReadonlyMap<string, ServedKind>;
      /** What each variant was rendered from, in their order. */
      readonly inputs: readonly string[];
      /** What the programs said of what was rendered now, although it can be used. */
      readonly warnings: readonly string[];
    }
  | { readonly kind: "refused"; readonly message: string; readonly remedy: string };

/** What was rendered of one application before. */
export interface EarlierRenders {
  /** The revision that was rendered last, with what each of its variants was rendered from. */
  readonly newest?: { readonly bundle: Bundle; readonly inputs: readonly string[] };
  /** The revisions that clusters have begun, the newest first. */
  readonly distributed: readonly Bundle[];
  /** The others that are still stored, the newest first. */
  readonly earlier: readonly Bundle[];
}

/** Only charts ask what the cluster can do. */
const NO_CAPABILITIES = { kubeVersion: DEFAULT_KUBE_VERSION, apiVersions: [] };

/**
 * Renders every variant once, and makes of it what clusters can be given: names, namespaces, kinds, patches checked. A
 * variant whose inputs have not changed is not rendered again, unless what the source names has: one cluster's edit must
 * not give the others new passwords.
 */
export async function makeBundle(
  renderer: SourceRenderer,
  kinds: Kinds,
  app: ParsedDistributedApplication,
  variants: readonly VariantInput[],
  before: EarlierRenders,
  /** Those of its clusters that can be asked. */
  ready: readonly string[],
  signal: AbortSignal,
): Promise<Bundled> {
  const { newest } = before;
  if (newest && variants.some(({ inputs }) => newest.inputs.includes(inputs))) {
    const made = await makeVariants(renderer, kinds, app, variants, before, newest, ready, signal);
    const isOfOne = (bundle: Bundle) => [undefined, newest.bundle.sourceDigest].includes(bundle.sourceDigest);
    if (made.kind === "refused" || isOfOne(made.bundle)) return made;
  }
  return makeVariants(renderer, kinds, app, variants, before, undefined, ready, signal);
}

async function makeVariants(
  renderer: SourceRenderer,
  kinds: Kinds,
  app: ParsedDistributedApplication,
  variants: readonly VariantInput[],
  before: EarlierRenders,
  reused: EarlierRenders["newest"],
  ready: readonly string[],
  signal: AbortSignal,
): Promise<Bundled> {
  const { spec, metadata } = app;
  const made: { clusters: readonly string[]; parts: readonly Part[] }[] = [];
  const known = new Map<string, ServedKind>();
  const warnings = new Set<string>();
  let facts: Pick<Bundle, "chartVersion" | "sourceDigest"> = reused ? factsOf(reused.bundle) : {};
  for (const { clusters, source, patches, inputs } of variants) {
    const same = reused?.bundle.variants[reused.inputs.indexOf(inputs)];
    if (same) {
      for (const [id, served] of await kinds.of(same.parts, ready)) known.set(id, served);
      made.push({ clusters, parts: same.parts });
      continue;
    }
    const earlier = objectsBefore(before, clusters[0] ?? "");
    const result = await renderer.render(
      {
        source,
        namespace: spec.targetNamespace,
        ...(source.kind === "helm" ? await kinds.capabilities() : NO_CAPABILITIES),
        isUpgrade: before.distributed.length > 0,
        lookups: spec.lookups,
        // What these clusters have; when the application is new, what the others get, so that all have one password.
        previousObjects: earlier.length > 0 ? earlier : (made[0]?.parts ?? []).map(({ object }) => object),
        tenant: metadata.namespace,
      },
      signal,
    );
    if (result.kind === "refused") return { kind: "refused", message: result.message, remedy: sentence(result.remedy) };
    facts = factsOf(result);
    for (const warning of result.warnings) warnings.add(warning);
    const patched = patchAll(result.objects, patches);
    if ("kind" in patched) return patched;
    for (const [id, served] of await kinds.of(patched.objects, ready)) known.set(id, served);
    const parts = place(patched.objects, known, spec.targetNamespace);
    if ("kind" in parts) return parts;
    made.push({ clusters, parts: withNamespace(parts.parts, app) });
  }
  // What is empty by mistake must not remove a running application: deleting the object is the way to say that.
  if (made.some(({ parts }) => parts.every(({ hook }) => hook))) {
    return {
      kind: "refused",
      message: "the source renders no object",
      remedy: "Correct the source; to remove the application, delete it.",
    };
  }
  const misnamed = misnamedWorkload(spec.replicas ?? [], made[0]?.parts ?? []);
  if (misnamed) return misnamed;
  return {
    kind: "bundle",
    bundle: { variants: made, ...facts },
    kinds: known,
    inputs: variants.map(({ inputs }) => inputs),
    warnings: [...warnings],
  };
}

/** A workload that is not found would run whole in every cluster, and two of one name would get each other's share. */
function misnamedWorkload(
  replicas: NonNullable<ParsedDistributedApplication["spec"]["replicas"]>,
  parts: readonly Part[],
): Refused | undefined {
  const own = parts.filter(({ hook }) => !hook).map(({ object: { kind, metadata } }) => `${kind} ${metadata.name}`);
  for (const [at, { kind, name }] of replicas.entries()) {
    const title = `${kind} ${name}`;
    const count = own.filter((each) => each === title).length;
    if (count === 1) continue;
    const sameKind = own.filter((each) => each.startsWith(`${kind} `));
    const similar = nearest(title, sameKind.length > 0 ? sameKind : own);
    const message = `spec.replicas[${at}]: the source has ${count === 0 ? `no ${title}` : `${count} objects ${title}`}`;
    const guess = count > 0 || similar === undefined ? "" : `; the source has ${similar}`;
    return { kind: "refused", message, remedy: `Correct spec.replicas${guess}.` };
  }
  return undefined;
}

function factsOf({ chartVersion, sourceDigest }: Pick<Bundle, "chartVersion" | "sourceDigest">) {
  return {
    ...(chartVersion !== undefined && { chartVersion }),
    ...(sourceDigest !== undefined && { sourceDigest }),
  };
}

/**
 * What `lookup` sees: what these clusters have, then what was rendered last, then what earlier revisions left in the
 * clusters because it is marked to be kept. A revision that never began takes nothing away.
 */
function objectsBefore({ newest, distributed, earlier }: EarlierRenders, cluster: string): KubeObject[] {
  const found = new Map<string, KubeObject>();
  const add = (parts: readonly Part[]) => {
    for (const { key, object } of parts) if (!found.has(key)) found.set(key, object);
  };
  for (const bundle of distributed) add(partsFor(bundle, cluster));
  if (newest) add(partsFor(newest.bundle, cluster));
  for (const bundle of earlier) add(partsFor(bundle, cluster).filter(({ keep }) => keep));
  return [...found.values()];
}

/** A remedy follows a message: it begins with a capital and ends with a full stop. */
function sentence(remedy: string): string {
  return `${remedy.slice(0, 1).toUpperCase()}${remedy.slice(1).replace(/\.$/, "")}.`;
}

type Refused = Extract<Bundled, { kind: "refused" }>;

function patchAll(
  objects: readonly RenderedObject[],
  patches: VariantInput["patches"],
): { readonly objects: RenderedObject[] } | Refused {
  const patched = objects.map((rendered) => ({ ...rendered, object: clean(rendered.object) }));
  for (const { target, patch } of patches) {
    const at = patched.filter(
      ({ object: { kind, metadata } }) =>
        kind === target.kind &&
        metadata.name === target.name &&
        (target.namespace === undefined || metadata.namespace === target.namespace),
    );
    if (at.length === 0) {
      return {
        kind: "refused",
        message: `overrides: no rendered object is a ${target.kind} named ${target.name}`,
        remedy: "Correct the patch's target.",
      };
    }
    for (const rendered of at) {
      try {
        const result: Json = applyPatch(rendered.object, patch as unknown as PatchOperation[]);
        if (!isManifest(result) || keyOfRef(refOf(result)) !== keyOfRef(refOf(rendered.object))) {
          return {
            kind: "refused",
            message: `overrides: a patch may not rename ${target.kind} ${target.name}`,
            remedy: "Correct the patch.",
          };
        }
        // A patch is the tenant's as much as the chart: it must not set what only the hub's programs may.
        rendered.object = clean(result);
      } catch (error) {
        if (!(error instanceof PatchError)) throw error;
        return {
          kind: "refused",
          message: `overrides: patch of ${target.kind} ${target.name}: ${error.message}`,
          remedy: "Correct the patch.",
        };
      }
    }
  }
  return { objects: patched };
}

function clean(object: KubeObject): KubeObject {
  const sanitized: JsonObject = sanitize(object);
  return isManifest(sanitized) ? sanitized : object;
}

function place(
  objects: readonly RenderedObject[],
  kinds: ReadonlyMap<string, ServedKind>,
  targetNamespace: string,
): { readonly parts: Part[] } | Refused {
  const parts = new Map<string, Part>();
  for (const rendered of objects) {
    const { object, hook } = rendered;
    const kind = kinds.get(kindId(object));
    const title = `${object.apiVersion} ${object.kind} ${object.metadata.name}`;
    if (!kind) {
      return {
        kind: "refused",
        message: `${title}: neither the hub nor the source's own CustomResourceDefinitions know this kind, nor clusters that can be asked, in one way`,
        remedy: "Install its CustomResourceDefinition on the hub, or correct the object.",
      };
    }
    if (kind.conflict !== undefined) {
      return {
        kind: "refused",
        message: `${title}: ${kind.conflict}`,
        remedy: "Correct the CustomResourceDefinition in the source.",
      };
    }
    const unknown = hook?.events.find((event) => !isHookEvent(event));
    if (unknown !== undefined) {
      return {
        kind: "refused",
        message: `${title}: hook ${unknown} is not known`,
        remedy: "Correct the annotation helm.sh/hook.",
      };
    }
    const { namespace: own, ...metadata } = object.metadata;
    const namespace = kind.namespaced ? (own ?? targetNamespace) : undefined;
    const part = partOf({
      ...rendered,
      object: { ...object, metadata: { ...metadata, ...(namespace !== undefined && { namespace }) } },
    });
    if (parts.has(part.key)) {
      return { kind: "refused", message: `${part.key} is in the source twice`, remedy: "Remove one of the two." };
    }
    parts.set(part.key, part);
  }
  return { parts: [...parts.values()] };
}

/** A target namespace that is not the application's own is made where it is missing, and never deleted. */
function withNamespace(parts: Part[], { metadata, spec }: ParsedDistributedApplication): Part[] {
  const { targetNamespace: name } = spec;
  const isThere = parts.some(({ object }) => object.kind === "Namespace" && object.metadata.name === name);
  if (name === metadata.namespace || isThere) return parts;
  const object: KubeObject = { apiVersion: "v1", kind: "Namespace", metadata: { name } };
  return [partOf({ object, keep: true, isCrd: false }, true), ...parts];
}
