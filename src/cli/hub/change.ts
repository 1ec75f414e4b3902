/** What every command that writes shares: it changes the one field that the controller reads, and prints the effect. */
import { type ParsedCrossClusterStatefulset, parseCrossClusterStatefulset } from "../../api/index.ts";
import { ConflictError, type KubeObject, type Resource } from "../../kube/index.ts";
import { type JsonObject, timestamp } from "../../runtime/index.ts";
import { CommandError } from "../errors.ts";
import type { GlobalOptions } from "../options.ts";
import type { Io } from "../terminal/io.ts";
import { print } from "../terminal/output.ts";
import { bareName, getStatefulset, type Hub, STATEFULSETS, withHub } from "./hub.ts";
import { type Bound, type Expected, expectSeen } from "./seen.ts";

export const FIELD_MANAGER = "lockstep-cli";

/** Runs one change of one object, and prints the effect. */
export function change(
  io: Io,
  given: string,
  options: GlobalOptions & Bound,
  make: (hub: Hub, object: KubeObject) => Promise<string>,
): Promise<undefined> {
  return withHub(io, options, async (hub) => {
    const object = await getStatefulset(hub, bareName(given));
    expectSeen(describe(object), options.seen ?? {}, object);
    print(io, await make(hub, object));
    return undefined;
  });
}

/** The controller writes the status often; at most this often in a row it comes between a read and a write. */
const PATCH_ATTEMPTS = 10;

/** A compare-and-swap on the spec: a change since it was read is never overwritten. `seen` must still be so. */
export function patchSpec(hub: Hub, object: KubeObject, spec: JsonObject, seen: Expected = {}): Promise<void> {
  return patchSpecOf(hub, STATEFULSETS, object, spec, seen);
}

/** The same for an object of any kind. */
export async function patchSpecOf(
  hub: Hub,
  kind: Resource,
  object: KubeObject,
  spec: JsonObject,
  seen: Expected = {},
): Promise<void> {
  const { name, namespace, generation, uid = "" } = object.metadata;
  const at = { name, ...(namespace !== undefined && { namespace }) };
  const what = `${kind.kind} ${namespace}/${name}`;
  let { resourceVersion } = object.metadata;
  for (let attempt = 1; ; attempt++) {
    const metadata: JsonObject = resourceVersion === undefined ? {} : { resourceVersion };
    const patch = { type: "merge", body: { metadata, spec } } as const;
    try {
      await hub.client.patch(kind, at, patch, { ...hub.request, fieldManager: FIELD_MANAGER });
      return;
    } catch (error) {
      if (!(error instanceof ConflictError)) throw error;
      const now = await hub.client.get(kind, at, hub.request);
      expectSeen(what, { ...seen, uid }, now);
      if (now.metadata.generation !== generation || attempt === PATCH_ATTEMPTS) {
        throw new CommandError(
          `${what} was changed by another user at the same time; nothing was written. Check it, and retry`,
          { cause: error },
        );
      }
      resourceVersion = now.metadata.resourceVersion;
    }
  }
}

export function readStatefulset(object: KubeObject): ParsedCrossClusterStatefulset {
  const parsed = parseCrossClusterStatefulset(object);
  if (parsed.ok) return parsed.value;
  const errors = parsed.errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new CommandError(`${describe(object)} is not valid: ${errors}. Correct it first`);
}

export function describe({ metadata }: KubeObject): string {
  return `CrossClusterStatefulset ${metadata.namespace}/${metadata.name}`;
}

export function timeNow({ clock }: Hub): string {
  return timestamp(clock.now());
}
