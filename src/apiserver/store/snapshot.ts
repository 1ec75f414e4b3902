import type { ServerSnapshot } from "../types.ts";
import { type Store, StoredObject } from "./store.ts";

const FORMAT = "lockstep-apiserver/1";

/** Thrown when a snapshot is not from this kind of server. */
export class SnapshotFormatError extends Error {
  override readonly name = "SnapshotFormatError";
  readonly format: unknown;

  constructor(format: unknown) {
    super(`a snapshot of format ${JSON.stringify(format)} cannot be restored; this server reads and writes ${FORMAT}`);
    this.format = format;
  }
}

/** Everything except the history: watches from before a restore get 410 and list again. */
export function takeSnapshot(store: Store): ServerSnapshot {
  const objects = store
    .kinds()
    .flatMap((resource) => [...store.objects(resource, "")].map(({ object }) => ({ resource, object })));
  return { format: FORMAT, resourceVersion: store.version, objects };
}

export function loadSnapshot(store: Store, snapshot: ServerSnapshot): void {
  if (snapshot.format !== FORMAT) throw new SnapshotFormatError(snapshot.format);
  for (const { resource, object } of snapshot.objects) {
    const key = { resource, namespace: object.metadata.namespace ?? "", name: object.metadata.name };
    store.load(new StoredObject(key, object, Number(object.metadata.resourceVersion ?? 0)));
  }
}
