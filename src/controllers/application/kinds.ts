import type { RenderedObject, RenderRequest } from "../../charts/index.ts";
import type { KubeClient } from "../../kube/index.ts";
import { UnknownKindError } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import { groupOf } from "./manifest.ts";

/** How an API server serves a kind. */
export interface ServedKind {
  readonly group: string;
  readonly plural: string;
  readonly namespaced: boolean;
}

/** For a hub that does not tell its version, and for rendering without a hub. */
export const DEFAULT_KUBE_VERSION = "v1.31.0";

/** The part of a hub's client that is asked. */
export interface KindsHub {
  readonly discovery: Pick<KubeClient["discovery"], "resource" | "served" | "serverVersion">;
}

/** The kinds of a render: from its own CRDs, otherwise as the hub serves them. */
export class Kinds {
  readonly #hub: KindsHub;

  constructor(hub: KindsHub) {
    this.#hub = hub;
  }

  /** By apiVersion and kind; a kind that is not known is missing. */
  async of(objects: readonly RenderedObject[]): Promise<ReadonlyMap<string, ServedKind>> {
    const kinds = new Map<string, ServedKind>();
    for (const { object } of objects) for (const [id, served] of definedBy(object)) kinds.set(id, served);
    for (const { object } of objects) {
      const id = kindId(object);
      if (kinds.has(id)) continue;
      const served = await this.#served(object.apiVersion, object.kind);
      if (served) kinds.set(id, served);
    }
    return kinds;
  }

  /** The cluster that a chart is rendered for. One render serves all clusters, so it is the hub. */
  async capabilities(): Promise<Pick<RenderRequest, "kubeVersion" | "apiVersions">> {
    const { discovery } = this.#hub;
    const [version, apiVersions] = await Promise.all([discovery.serverVersion(), discovery.served()]);
    return { kubeVersion: version ?? DEFAULT_KUBE_VERSION, apiVersions };
  }

  async #served(apiVersion: string, kind: string): Promise<ServedKind | undefined> {
    try {
      const { plural, namespaced } = await this.#hub.discovery.resource(apiVersion, kind);
      return { group: groupOf(apiVersion), plural, namespaced };
    } catch (error) {
      if (error instanceof UnknownKindError) return undefined;
      throw error;
    }
  }
}

export function kindId({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion}/${kind}`;
}

function definedBy(object: RenderedObject["object"]): [string, ServedKind][] {
  const spec = object.kind === "CustomResourceDefinition" && isJsonObject(object.spec) ? object.spec : {};
  const names = isJsonObject(spec.names) ? spec.names : {};
  const { group, scope, versions } = spec;
  const { kind, plural } = names;
  if (typeof group !== "string" || typeof kind !== "string" || typeof plural !== "string") return [];
  return (Array.isArray(versions) ? versions : [])
    .filter(isJsonObject)
    .map(({ name }) => [
      kindId({ apiVersion: `${group}/${name}`, kind }),
      { group, plural, namespaced: scope !== "Cluster" },
    ]);
}
