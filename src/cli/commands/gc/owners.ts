/** Which objects on the hub own what Lockstep keeps for them, and whether they are still there. Reads only. */
import { CROSS_CLUSTER_JOB, CROSS_CLUSTER_STATEFULSET, DISTRIBUTED_APPLICATION } from "../../../api/index.ts";
import { type KubeObject, NotFoundError, type Resource, resource } from "../../../kube/index.ts";
import type { Hub } from "../../hub/hub.ts";

const KINDS = [CROSS_CLUSTER_STATEFULSET, DISTRIBUTED_APPLICATION, CROSS_CLUSTER_JOB];

export interface Orphan {
  /** "hub", or the member's name. */
  readonly where: string;
  readonly resource: Resource;
  readonly object: KubeObject;
  readonly why: string;
  /** Why `gc` leaves it to a person; absent: `gc --yes` deletes it. */
  readonly kept?: string;
}

export interface Named {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
  /** Absent: any life of it counts. */
  readonly uid?: string;
}

/** False for an owner of a kind that is not Lockstep's: of that, nothing is known. */
export async function isGone({ client, request }: Hub, owner: Named | undefined): Promise<boolean> {
  const definition = KINDS.find(({ kind }) => kind === owner?.kind);
  if (!definition || !owner) return false;
  const now = await client.find(ofKind(definition), owner, request);
  return now === undefined || (owner.uid !== undefined && now.metadata.uid !== owner.uid);
}

/** Throws if this user may not list the kind: then nothing is known. */
export async function all(
  { client, request }: Hub,
  definition: (typeof KINDS)[number],
): Promise<readonly KubeObject[]> {
  try {
    return (await client.listAll(ofKind(definition), { ...request })).items;
  } catch (error) {
    // The kind is not installed: there is none of it.
    if (error instanceof NotFoundError) return [];
    throw error;
  }
}

export function title({ kind, namespace, name }: Named): string {
  return `${kind} ${namespace}/${name}`;
}

function ofKind({ group, version, kind, plural }: (typeof KINDS)[number]): Resource {
  return resource({ apiVersion: `${group}/${version}`, kind, plural, namespaced: true });
}
