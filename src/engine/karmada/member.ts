import { type AnyResource, type KubeClient, type KubeObject, resource } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";
import { dryRunOn } from "../members/dry-run.ts";
import { LiveMember, MEMBER_TIMEOUT_MS, says } from "../members/live-member.ts";
import type { StreamOptions } from "../members/streams.ts";
import type { DryRun } from "../port.ts";

const STATEFULSETS = resource({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  plural: "statefulsets",
  namespaced: true,
});

/** A member through the cluster proxy. */
export class KarmadaMember extends LiveMember {
  readonly #client: KubeClient;
  readonly #cluster: string;
  readonly #findKind: StreamOptions["findKind"];
  readonly #direct: KubeClient | undefined;

  /** `direct`: the member's own API server, where there is access to it. */
  constructor(client: KubeClient, cluster: string, findKind: StreamOptions["findKind"], direct?: KubeClient) {
    super(client, cluster);
    this.#client = client;
    this.#cluster = cluster;
    this.#findKind = findKind;
    this.#direct = direct;
  }

  protected override findKind(apiVersion: string, kind: string): Promise<AnyResource> {
    return this.#findKind(this.#cluster, apiVersion, kind);
  }

  /**
   * Karmada's proxy refuses dryRun on every request (its aggregated API server does, for all connect subresources). So
   * the member itself is asked, if a Secret gives access to it. Otherwise Lockstep compares with the live object to find what a StatefulSet's API server would refuse. For other kinds
   * nothing is known in advance, and the first cluster's answer decides before a second cluster is written to.
   */
  async dryRun(manifest: KubeObject): Promise<DryRun> {
    if (this.#direct) return dryRunOn(this.#direct, this.#cluster, manifest, "lockstep-dry-run");
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
}

/** All fields of an existing StatefulSet's spec that Kubernetes does not allow to change. */
const IMMUTABLE_FIELDS = ["serviceName", "selector", "volumeClaimTemplates", "podManagementPolicy"];

function immutableChange(wanted: KubeObject, live: KubeObject): string | undefined {
  const [now, then] = [wanted.spec, live.spec].map((spec) => (isJsonObject(spec) ? spec : {}));
  return IMMUTABLE_FIELDS.find((field) => now?.[field] !== undefined && !says(then?.[field], now[field]));
}
