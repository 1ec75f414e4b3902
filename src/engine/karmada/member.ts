import { ConflictError, type KubeClient, type KubeObject, NotFoundError, resource } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import type { ClaimNames, DryRun, MemberAccess, PodSeen } from "../port.ts";
import { PODS } from "./streams.ts";

const CLAIMS = resource({
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  plural: "persistentvolumeclaims",
  namespaced: true,
});

const STATEFULSETS = resource({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
});

/** A member that does not answer within this is asked again later; a dry run must not hold a rollout's other clusters up. */
const MEMBER_TIMEOUT_MS = 15_000;

/** What Lockstep does in a member directly, through the cluster proxy. */
export class KarmadaMember implements MemberAccess {
  readonly #client: KubeClient;
  readonly #cluster: string;

  constructor(client: KubeClient, cluster: string) {
    this.#client = client;
    this.#cluster = cluster;
  }

  /**
   * Karmada's proxy refuses dryRun on every request (its aggregated API server does, for all connect subresources). So
   * what a StatefulSet's API server would refuse is found by comparing with the live object; about other kinds nothing
   * can be said beforehand, and the first cluster's answer decides before any second one is written to.
   */
  async dryRun(manifest: KubeObject): Promise<DryRun> {
    if (manifest.apiVersion !== STATEFULSETS.apiVersion || manifest.kind !== STATEFULSETS.kind) {
      return { kind: "unsupported" };
    }
    try {
      const live = await this.#client.find(STATEFULSETS, manifest.metadata, { timeoutMs: MEMBER_TIMEOUT_MS });
      const changed = live ? immutableChange(manifest, live) : undefined;
      if (changed === undefined) return { kind: "accepted" };
      const name = `StatefulSet ${manifest.metadata.namespace}/${manifest.metadata.name}`;
      return {
        kind: "refused",
        message: `${name}: spec.${changed} cannot be changed once the StatefulSet exists (seen in ${this.#cluster}); change it back, or deploy under another name`,
      };
    } catch (error) {
      return {
        kind: "unknown",
        message: `${this.#cluster}: ${error instanceof Error ? error.message : String(error)}`,
      };
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

  async deletePod(namespace: string, { name, uid, version }: PodSeen): Promise<void> {
    const preconditions = {
      ...(uid !== undefined && { uid }),
      ...(version !== undefined && { resourceVersion: version }),
    };
    try {
      await ignoreNotFound(this.#client.delete(PODS, { namespace, name }, { preconditions }));
    } catch (error) {
      // It has changed since it was seen, and may have come up: the next snapshot tells.
      if (!(error instanceof ConflictError)) throw error;
    }
  }

  async deleteVolumes(namespace: string, names: ClaimNames): Promise<void> {
    const claims = await this.#client.listAll(CLAIMS, { namespace, timeoutMs: MEMBER_TIMEOUT_MS });
    for (const { metadata } of claims.items) {
      if (claimOrdinal(metadata.name, names) === undefined || metadata.uid === undefined) continue;
      const preconditions = { uid: metadata.uid };
      await ignoreNotFound(this.#client.delete(CLAIMS, { namespace, name: metadata.name }, { preconditions }));
    }
  }
}

/** All that Kubernetes lets nobody change in an existing StatefulSet's spec. */
const IMMUTABLE_FIELDS = ["serviceName", "selector", "volumeClaimTemplates", "podManagementPolicy"];

function immutableChange(wanted: KubeObject, live: KubeObject): string | undefined {
  const [now, then] = [wanted.spec, live.spec].map((spec) => (isJsonObject(spec) ? spec : {}));
  return IMMUTABLE_FIELDS.find((field) => now?.[field] !== undefined && !says(then?.[field], now[field]));
}

/** Everything the one states, the other states too; what an API server fills in does not count. */
function says(full: unknown, stated: unknown): boolean {
  if (Array.isArray(stated)) {
    return Array.isArray(full) && full.length === stated.length && stated.every((item, at) => says(full[at], item));
  }
  if (isJsonObject(stated)) {
    return isJsonObject(full) && Object.entries(stated).every(([key, value]) => says(full[key], value));
  }
  return full === stated;
}

/** The ordinal of the workload's instance that a claim belongs to; undefined for a claim of somebody else's. */
export function claimOrdinal(claim: string, { workload, templates }: ClaimNames): number | undefined {
  const match = /^(.+)-(\d+)$/.exec(claim);
  const suffix = `-${workload}`;
  if (!match?.[1]?.endsWith(suffix)) return undefined;
  // `data-my-web-0` ends like a claim of web's, and is my-web's.
  const template = match[1].slice(0, -suffix.length);
  const isIts = templates ? templates.includes(template) : !template.includes("-");
  return isIts ? Number(match[2]) : undefined;
}

async function ignoreNotFound(request: Promise<unknown>): Promise<void> {
  try {
    await request;
  } catch (error) {
    if (!(error instanceof NotFoundError)) throw error;
  }
}
