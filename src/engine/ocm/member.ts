import type { KubeClient, KubeObject } from "../../kube/index.ts";
import { MEMBER_ACCESS_LABEL } from "../members/access.ts";
import { dryRunOn } from "../members/dry-run.ts";
import { LiveMember } from "../members/live-member.ts";
import type { DryRun, Holding, MemberAccess, MemberObject, ObjectRef } from "../port.ts";

/** A member whose own API server can be reached: it reports itself what it would refuse. */
export class ReachableMember extends LiveMember {
  readonly #client: KubeClient;
  readonly #cluster: string;

  constructor(client: KubeClient, cluster: string) {
    super(client, cluster);
    this.#client = client;
    this.#cluster = cluster;
  }

  dryRun(manifest: KubeObject): Promise<DryRun> {
    return dryRunOn(this.#client, this.#cluster, manifest, "work-agent-lockstep");
  }
}

/** A member that is only visible through the reports of its agent. */
export class ReportedMember implements MemberAccess {
  readonly #cluster: string;
  readonly #holds: (configMap: KubeObject) => Promise<Holding>;

  constructor(cluster: string, holds: (configMap: KubeObject) => Promise<Holding>) {
    this.#cluster = cluster;
    this.#holds = holds;
  }

  async dryRun(): Promise<DryRun> {
    return { kind: "unsupported" };
  }

  async read({ kind, name }: ObjectRef): Promise<MemberObject> {
    const message = `${kind} ${name} cannot be read in ${this.#cluster}: its API server cannot be reached directly`;
    return { kind: "unknown", message, isUnasked: true };
  }

  holds(configMap: KubeObject): Promise<Holding> {
    return this.#holds(configMap);
  }

  /** Claims that no manifest names are not visible. */
  async volumes(): Promise<undefined> {
    return undefined;
  }

  /** Nor are quotas. */
  async limits(): Promise<undefined> {
    return undefined;
  }

  async deletePod(): Promise<void> {
    throw new NoMemberAccessError(this.#cluster, "a pod in a named version can only be deleted by its API server");
  }

  async deleteVolumes(): Promise<void> {
    throw new NoMemberAccessError(this.#cluster, "claims can only be listed and deleted by its API server");
  }
}

/** Thrown when an action in a member needs direct access, and no Secret gives it. */
export class NoMemberAccessError extends Error {
  override readonly name = "NoMemberAccessError";
  readonly cluster: string;

  constructor(cluster: string, what: string) {
    super(
      `cluster ${cluster} cannot be reached directly: ${what}. Create a Secret labelled ${MEMBER_ACCESS_LABEL} in ` +
        `namespace ${cluster} of the hub, with server, ca.crt and token of an account with that right`,
    );
    this.cluster = cluster;
  }
}
