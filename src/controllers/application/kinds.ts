import type { RenderedObject, RenderRequest } from "../../charts/index.ts";
import type { MemberKind } from "../../engine/index.ts";
import type { KubeClient, KubeObject } from "../../kube/index.ts";
import { UnknownKindError } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import { groupOf } from "./manifest.ts";

/** How an API server serves a kind. */
export interface ServedKind {
  readonly group: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Only the source's own CustomResourceDefinition knows it. */
  readonly isOwn?: boolean;
  /** Only the clusters themselves know it. */
  readonly isOfMembers?: boolean;
  /** How the source's own CustomResourceDefinition differs from what the hub serves. */
  readonly conflict?: string;
}

/** For a hub that does not tell its version, and for rendering without a hub. */
export const DEFAULT_KUBE_VERSION = "v1.31.0";

/** The part of a hub's client that is asked. */
export interface KindsHub {
  readonly discovery: Pick<KubeClient["discovery"], "resource" | "served" | "serverVersion">;
  /** It guesses, because there is no hub: the source's own CRDs know better. */
  readonly isGuess?: boolean;
}

/** How one cluster serves a kind; undefined: it does not, or cannot be asked. */
export type AskMember = (cluster: string, apiVersion: string, kind: string) => Promise<MemberKind | undefined>;

/**
 * The kinds of a render: as the hub serves them, otherwise from the source's own CRDs, otherwise as the clusters serve
 * them. The hub comes first, because rights are asked by plural: a tenant must not give a kind that the hub knows
 * another one.
 */
export class Kinds {
  readonly #hub: KindsHub;
  readonly #askMember: AskMember | undefined;

  constructor(hub: KindsHub, askMember?: AskMember) {
    this.#hub = hub;
    this.#askMember = askMember;
  }

  /** By apiVersion and kind; a kind that is not known is missing. `clusters`: those that can be asked. */
  async of(objects: readonly RenderedObject[], clusters: readonly string[]): Promise<ReadonlyMap<string, ServedKind>> {
    const own = new Map(objects.flatMap(({ object }) => definedBy(object)));
    const kinds = new Map<string, ServedKind>();
    for (const { object } of objects) {
      const id = kindId(object);
      if (kinds.has(id)) continue;
      const defined = own.get(id);
      const served = defined && this.#hub.isGuess ? undefined : await this.#served(object.apiVersion, object.kind);
      const kind = served ? compared(served, defined, "the hub") : await this.#ofMembers(clusters, object, defined);
      if (kind) kinds.set(id, kind);
    }
    return kinds;
  }

  /**
   * Those that serve it must agree, with each other and with the source: a right is asked for once, by one plural, and
   * every cluster delivers by its own.
   */
  async #ofMembers(
    clusters: readonly string[],
    { apiVersion, kind }: KubeObject,
    defined: ServedKind | undefined,
  ): Promise<ServedKind | undefined> {
    const ask = this.#askMember;
    if (!ask) return defined;
    const found = await Promise.all(clusters.map((cluster) => ask(cluster, apiVersion, kind)));
    const served = found
      .filter((each) => each !== undefined)
      .map(({ plural, namespaced }) => ({ group: groupOf(apiVersion), plural, namespaced, isOfMembers: true }));
    const [first] = served;
    if (!first) return defined;
    if (defined) return compared(served.find((each) => !isSame(each, defined)) ?? defined, defined, "a cluster");
    return served.every((each) => isSame(each, first)) ? first : undefined;
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

function isSame(one: ServedKind, other: ServedKind): boolean {
  return one.plural === other.plural && one.namespaced === other.namespaced;
}

function compared(served: ServedKind, defined: ServedKind | undefined, who: string): ServedKind {
  if (!defined || isSame(defined, served)) return served;
  const words = ({ plural, namespaced }: ServedKind) => `${plural}, ${namespaced ? "namespaced" : "cluster-scoped"}`;
  return {
    ...served,
    conflict: `the source's CustomResourceDefinition has ${words(defined)}; ${who} ${words(served)}`,
  };
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
      { group, plural, namespaced: scope !== "Cluster", isOwn: true },
    ]);
}
