/** What the clusters of an application were granted, as far as the caller may read it. Reads only. */

import type { ParsedDistributedApplication } from "../../api/index.ts";
import type { Bundle, EarlierRenders, KeptApplication, Part } from "../../controllers/index.ts";
import { readKept, unpackBundle } from "../../controllers/index.ts";
import { ForbiddenError, type KubeObject, resource } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { installedSettings } from "../commands/doctor/policies.ts";
import { engineOf } from "../hub/engine.ts";
import type { Hub } from "../hub/hub.ts";
import { withMember } from "../hub/members.ts";

const REVISIONS = resource({
  apiVersion: "apps/v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
});
const SECRETS = resource({ apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true });

export interface Before {
  /** By cluster: what it was granted. */
  readonly granted: ReadonlyMap<string, Bundle>;
  /** What the controller renders the next revision from. */
  readonly earlier: EarlierRenders;
  /** The content of a revision that will be used as it is, without rendering. */
  readonly kept: KeptApplication | undefined;
  /** Secrets whose content the caller may not read. */
  readonly unread: readonly string[];
}

export const NOTHING_BEFORE: Before = {
  granted: new Map(),
  earlier: { distributed: [], earlier: [] },
  kept: undefined,
  unread: [],
};

/**
 * Whole revisions are in Lockstep's namespace, for those who may read its Secrets. For others the readable copies, with
 * the content of Secrets from the members, where the caller may read those.
 */
export async function readBefore(hub: Hub, app: ParsedDistributedApplication): Promise<Before> {
  const { status } = app;
  const rows = (status?.clusters ?? []).flatMap(({ name, revision }) =>
    revision === undefined ? [] : [{ cluster: name, revision }],
  );
  const kept = await keptOf(hub, app);
  const secrets = new MemberSecrets(
    hub,
    rows.map(({ cluster }) => cluster),
  );
  const bundles = new Map<string, Bundle | undefined>();
  const bundle = async (id: string) => {
    if (!bundles.has(id)) bundles.set(id, await whole(hub, app, kept, secrets, id));
    return bundles.get(id);
  };
  const granted = new Map<string, Bundle>();
  for (const { cluster, revision } of rows) {
    const found = await bundle(revision);
    if (found) granted.set(cluster, found);
  }
  const earlier = await (kept ? orForbidden(kept.earlier()) : undefined);
  if (earlier) return { granted, earlier, kept, unread: secrets.unread };
  const newest = status?.rejectedRevision ?? status?.revision;
  const last = newest === undefined ? undefined : await bundle(newest);
  const distributed = [...new Set(granted.values())].map(withoutUnknown);
  return {
    granted,
    earlier: { ...(last && { newest: { bundle: withoutUnknown(last), inputs: [] } }), distributed, earlier: [] },
    kept,
    unread: secrets.unread,
  };
}

/** A chart's lookup finds nothing in place of a Secret whose content is not known. */
function withoutUnknown(bundle: Bundle): Bundle {
  const isKnown = ({ object }: Part) => object.omitted !== true || object.data !== undefined;
  const variants = bundle.variants.map(({ clusters, parts }) => ({ clusters, parts: parts.filter(isKnown) }));
  return { ...bundle, variants };
}

async function keptOf(hub: Hub, app: ParsedDistributedApplication): Promise<KeptApplication | undefined> {
  const { systemNamespace } = await installedSettings(hub);
  return orForbidden(readKept(hub.client, hub.clock, systemNamespace, app, hub.request));
}

async function whole(
  { client, request }: Hub,
  { metadata }: ParsedDistributedApplication,
  kept: KeptApplication | undefined,
  secrets: MemberSecrets,
  id: string,
): Promise<Bundle | undefined> {
  const stored = kept && (await orForbidden(kept.bundle(id)));
  if (stored) return stored;
  const copy = await client.find(REVISIONS, { namespace: metadata.namespace, name: id }, request);
  const data = copy?.data;
  const content = isJsonObject(data) && isJsonObject(data.content) ? data.content : undefined;
  if (!content || !isJsonObject(content.template) || !Array.isArray(content.dependencies)) return undefined;
  const dependencies: JsonObject[] = [];
  for (const object of content.dependencies.filter(isJsonObject)) dependencies.push(await secrets.complete(object));
  return unpackBundle({ template: content.template, dependencies, overrides: [] });
}

/** The content of Secrets that the readable copies leave out, from the first member that shows it. */
class MemberSecrets {
  readonly #hub: Hub;
  readonly #clusters: readonly string[];
  readonly #found = new Map<string, KubeObject | undefined>();

  constructor(hub: Hub, clusters: readonly string[]) {
    this.#hub = hub;
    this.#clusters = clusters;
  }

  get unread(): string[] {
    return [...this.#found].flatMap(([name, object]) => (object ? [] : [name]));
  }

  async complete(object: JsonObject): Promise<JsonObject> {
    const { kind, omitted, metadata } = object;
    const { namespace, name } = isJsonObject(metadata) ? metadata : {};
    if (kind !== "Secret" || omitted !== true || typeof name !== "string") return object;
    const where = { name, ...(typeof namespace === "string" && { namespace }) };
    const id = `${namespace}/${name}`;
    if (!this.#found.has(id)) this.#found.set(id, await this.#read(where));
    const secret = this.#found.get(id);
    // Still an outline: its labels and type are not known.
    return secret?.data === undefined ? object : { ...object, data: secret.data };
  }

  async #read(where: { namespace?: string; name: string }): Promise<KubeObject | undefined> {
    const engine = await engineOf(this.#hub);
    for (const cluster of this.#clusters) {
      try {
        const { request } = this.#hub;
        const read = withMember(this.#hub, engine, cluster, ({ client }) => client.find(SECRETS, where, request));
        const found = await read;
        if (found) return found;
      } catch {
        // No right there, or the cluster does not answer: another one may.
      }
    }
    return undefined;
  }
}

async function orForbidden<Value>(read: Promise<Value>): Promise<Value | undefined> {
  try {
    return await read;
  } catch (error) {
    if (error instanceof ForbiddenError) return undefined;
    throw error;
  }
}
