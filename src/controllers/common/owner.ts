import { createHash } from "node:crypto";

/** One life of one CrossClusterStatefulset. An object that is created again under the same name is another owner. */
export interface Owner {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
}

interface Named {
  readonly metadata: {
    readonly namespace?: string | undefined;
    readonly name: string;
    readonly uid?: string | undefined;
  };
}

export function ownerOf({ metadata }: Named): Owner {
  const { namespace = "", name, uid = "" } = metadata;
  return { namespace, name, uid };
}

/** Long enough that no two owners ever share it, short enough for a label's value. */
const ID_CHARS = 40;

/** Names what Lockstep keeps for this owner in its own namespace; also a valid label value. */
export function ownerId({ namespace, name, uid }: Owner): string {
  return createHash("sha256")
    .update(JSON.stringify([namespace, name, uid]))
    .digest("hex")
    .slice(0, ID_CHARS);
}

export function isSameOwner(a: Owner, b: Owner): boolean {
  return a.uid === b.uid && a.name === b.name && a.namespace === b.namespace;
}
