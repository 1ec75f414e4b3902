/** A member's own API server, as the hub's engine lets a user reach it. */
import { accessPointOf, type EngineDefinition, MEMBER_ACCESS_LABEL, openMemberOverHttp } from "../../engine/index.ts";
import { KubeClient, resource } from "../../kube/index.ts";
import type { Transport } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import type { Hub } from "./hub.ts";

const SECRETS = resource({ apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true });

export interface ReachedMember {
  readonly client: KubeClient;
  /** For requests that are not objects, such as access reviews and logs. */
  readonly transport: Transport;
  /** The start of every path. */
  readonly basePath: string;
}

type MemberHub = Pick<Hub, "client" | "transport" | "clock" | "random" | "request">;

/** On Karmada through its cluster proxy; on Open Cluster Management with the Secret that gives Lockstep access. */
export async function withMember<T>(
  hub: MemberHub,
  engine: EngineDefinition,
  cluster: string,
  use: (member: ReachedMember) => Promise<T>,
): Promise<T> {
  if (engine.name === "karmada") {
    const client = hub.client.below("apis", "cluster.karmada.io", "v1alpha1", "clusters", cluster, "proxy");
    return use({ client, transport: hub.transport, basePath: client.basePath });
  }
  const { clock, random } = hub;
  const query = { namespace: cluster, labelSelector: MEMBER_ACCESS_LABEL, ...hub.request };
  const { items } = await hub.client.listAll(SECRETS, query);
  const [point] = items.flatMap((secret) => accessPointOf(secret) ?? []);
  if (!point) {
    throw new CommandError(
      `no Secret labelled ${MEMBER_ACCESS_LABEL} in namespace ${cluster} of the hub gives access to cluster ${cluster}; only its agent's reports are known`,
    );
  }
  const connection = await openMemberOverHttp(point);
  try {
    const client = new KubeClient({ transport: connection.transport, clock, random, userAgent: "lockstep" });
    return await use({ client, transport: connection.transport, basePath: "" });
  } finally {
    await connection.close();
  }
}
