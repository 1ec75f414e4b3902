import {
  type AnyResource,
  ConflictError,
  type KubeClient,
  type KubeObject,
  NotFoundError,
  type ObjectName,
  type RequestOptions,
  type Resource,
  resource,
  UnknownKindError,
} from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import type {
  ClaimNames,
  DryRun,
  Holding,
  MemberAccess,
  MemberObject,
  NamespaceLimits,
  ObjectRef,
  PodSeen,
} from "../port.ts";
import { PODS } from "./streams.ts";

const CLAIMS = resource({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
});

const QUOTAS = resource({ apiVersion: "v1", kind: "ResourceQuota", plural: "resourcequotas", namespaced: true });

const LIMIT_RANGES = resource({ apiVersion: "v1", kind: "LimitRange", plural: "limitranges", namespaced: true });

/** A namespace has a few. Further ones are not read: a tenant must not make the controller read thousands. */
const MAX_LIMITS = 100;

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });

/**
 * If a member does not answer within this time, it is asked again later; a dry run must not delay a rollout's other
 * clusters.
 */
export const MEMBER_TIMEOUT_MS = 15_000;

/**
 * A claim's status changes when it is bound or resized, once or twice. If it changes more often, the next run deletes
 * it.
 */
const CLAIM_LOOKS = 3;

/**
 * What Lockstep does in a member directly, if its API server can be reached. The engine decides how to ask in advance.
 */
export abstract class LiveMember implements MemberAccess {
  readonly #client: KubeClient;
  readonly #cluster: string;

  constructor(client: KubeClient, cluster: string) {
    this.#client = client;
    this.#cluster = cluster;
  }

  abstract dryRun(manifest: KubeObject): Promise<DryRun>;

  /** How the member serves a kind; throws UnknownKindError if it does not. */
  protected findKind(apiVersion: string, kind: string): Promise<AnyResource> {
    return this.#client.discovery.resource(apiVersion, kind);
  }

  async read(ref: ObjectRef): Promise<MemberObject> {
    const { apiVersion, kind, namespace, name } = ref;
    try {
      const served = await this.findKind(apiVersion, kind);
      const where = served.namespaced ? { namespace, name } : { name };
      const object = await this.#client.find(resource(served), where, { timeoutMs: MEMBER_TIMEOUT_MS });
      return object ? { kind: "present", object } : { kind: "absent" };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      const message = `${kind} ${name} cannot be read in ${this.#cluster}: ${why}`;
      return { kind: "unknown", message, ...(error instanceof UnknownKindError && { isUnserved: true }) };
    }
  }

  async holds({ metadata, ...content }: KubeObject): Promise<Holding> {
    const name = `ConfigMap ${metadata.namespace}/${metadata.name}`;
    try {
      const live = await this.#client.find(CONFIG_MAPS, metadata, { timeoutMs: MEMBER_TIMEOUT_MS });
      if (!live || live.metadata.deletionTimestamp)
        return { kind: "missing", message: `${name} is not in ${this.#cluster} yet` };
      if (says(live, content)) return { kind: "held" };
      return { kind: "missing", message: `${name} in ${this.#cluster} differs from the dispatched content` };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      return { kind: "unknown", message: `${name} cannot be read in ${this.#cluster}: ${why}` };
    }
  }

  async volumes(namespace: string, names: ClaimNames): Promise<readonly number[] | undefined> {
    try {
      const claims = await this.#client.listAll(CLAIMS, { namespace, timeoutMs: MEMBER_TIMEOUT_MS });
      const ordinals = claims.items.map((claim) => claimOrdinal(claim.metadata.name, names));
      return [...new Set(ordinals.filter((ordinal) => ordinal !== undefined))].sort((a, b) => a - b);
    } catch {
      return undefined;
    }
  }

  async limits(namespace: string): Promise<NamespaceLimits | undefined> {
    return readLimits(this.#client, namespace, { timeoutMs: MEMBER_TIMEOUT_MS, maxAttempts: 1 }).catch(() => undefined);
  }

  async deletePod(namespace: string, { name, uid, version }: PodSeen): Promise<void> {
    const preconditions = { uid, resourceVersion: version };
    // A pod that has changed since it was seen may be starting; the next snapshot will show it.
    await this.#deleted(PODS, { namespace, name }, preconditions);
  }

  async deleteVolumes(namespace: string, names: ClaimNames, confirm: () => Promise<void>): Promise<void> {
    let changed: string[] = [];
    for (let look = 0; look < CLAIM_LOOKS; look++) {
      await confirm();
      const claims = await this.#client.listAll(CLAIMS, { namespace, timeoutMs: MEMBER_TIMEOUT_MS });
      changed = [];
      for (const { metadata } of claims.items) {
        const { name, uid, resourceVersion, deletionTimestamp } = metadata;
        if (claimOrdinal(name, names) === undefined || deletionTimestamp !== undefined) continue;
        if (uid === undefined || resourceVersion === undefined) continue;
        if (!(await this.#deleted(CLAIMS, { namespace, name }, { uid, resourceVersion }))) changed.push(name);
      }
      if (changed.length === 0) return;
    }
    throw new Error(
      `claim ${changed.join(", ")} in ${this.#cluster} changed each time before it could be deleted; Lockstep retries`,
    );
  }

  /** Whether it is gone or being deleted; false: it is no longer the named object. */
  async #deleted(of: Resource, name: ObjectName, preconditions: { uid: string; resourceVersion: string }) {
    try {
      await this.#client.delete(of, name, { preconditions });
    } catch (error) {
      if (error instanceof ConflictError) return false;
      if (!(error instanceof NotFoundError)) throw error;
    }
    return true;
  }
}

/** A server that does not serve one of the two kinds limits nothing by it. */
export async function readLimits(
  client: KubeClient,
  namespace: string,
  request: RequestOptions,
): Promise<NamespaceLimits> {
  const options = { ...request, namespace, limit: MAX_LIMITS };
  const list = async (of: Resource) => {
    try {
      return (await client.listPage(of, options)).items;
    } catch (error) {
      if (error instanceof NotFoundError) return [];
      throw error;
    }
  };
  const [quotas, limitRanges] = await Promise.all([list(QUOTAS), list(LIMIT_RANGES)]);
  return { quotas, limitRanges };
}

/** Whether every field of the one is in the other too; fields that an API server fills in do not count. */
export function says(full: unknown, stated: unknown): boolean {
  if (Array.isArray(stated)) {
    return Array.isArray(full) && full.length === stated.length && stated.every((item, at) => says(full[at], item));
  }
  if (isJsonObject(stated)) {
    return isJsonObject(full) && Object.entries(stated).every(([key, value]) => says(full[key], value));
  }
  return full === stated;
}

/** The ordinal of the workload's instance that a claim belongs to; undefined for a claim of another workload. */
export function claimOrdinal(claim: string, { workload, templates }: ClaimNames): number | undefined {
  const match = /^(.+)-(\d+)$/.exec(claim);
  const suffix = `-${workload}`;
  if (!match?.[1]?.endsWith(suffix)) return undefined;
  // `data-my-web-0` ends like a claim of web, but belongs to my-web.
  const template = match[1].slice(0, -suffix.length);
  const isIts = templates ? templates.includes(template) : !template.includes("-");
  return isIts ? Number(match[2]) : undefined;
}
