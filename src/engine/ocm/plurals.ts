import { type KubeClient, UnknownKindError } from "../../kube/index.ts";

/**
 * The plural of a kind: OCM uses it to match a manifest's options, and with a wrong plural the agent would create what
 * it should only observe. So it is never guessed. The hub serves Kubernetes' own kinds and those installed there; any
 * other kind is looked up in the cluster, if it can be reached.
 */
export class Plurals {
  readonly #hub: KubeClient;
  readonly #memberClient: (cluster: string) => KubeClient | undefined;

  constructor(hub: KubeClient, memberClient: (cluster: string) => KubeClient | undefined) {
    this.#hub = hub;
    this.#memberClient = memberClient;
  }

  /** Throws if neither serves the kind. */
  async of(cluster: string, apiVersion: string, kind: string): Promise<string> {
    const known = this.#hub.discovery.known(apiVersion, kind);
    if (known) return known.plural;
    try {
      return (await this.#hub.discovery.resource(apiVersion, kind)).plural;
    } catch (error) {
      const member = this.#memberClient(cluster);
      if (!member && error instanceof UnknownKindError) throw unknownPlural(cluster, apiVersion, kind, error);
      if (!member) throw error;
      return (await member.discovery.resource(apiVersion, kind)).plural;
    }
  }
}

function unknownPlural(cluster: string, apiVersion: string, kind: string, cause: Error): Error {
  return new Error(
    `the hub does not serve ${kind} of ${apiVersion}, and cluster ${cluster} cannot be asked for its plural: install its CustomResourceDefinition on the hub as well, or let Lockstep read the cluster (docs/guides/ocm.md)`,
    { cause },
  );
}
