/** What Lockstep manages on a hub, and what deleting each object would do. Pure but for the reading. */
import {
  CROSS_CLUSTER_JOB,
  CROSS_CLUSTER_STATEFULSET,
  DISTRIBUTED_APPLICATION,
  type KindDefinition,
} from "../../../api/index.ts";
import { type KubeObject, NotFoundError, type Resource, resource } from "../../../kube/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";
import type { Hub } from "../../hub/hub.ts";

export interface Managed {
  readonly resource: Resource;
  /** As users type it: `ccs`. */
  readonly short: string;
  readonly object: KubeObject;
  readonly deletion: Deletion;
}

/**
 * releases: everything stays in the members. removes: what it deployed is deleted there. stops: its work has not ended,
 * and is stopped. forgets: its work has ended.
 */
export type Deletion = "releases" | "removes" | "stops" | "forgets";

const WORDS: Readonly<Record<Deletion, string>> = {
  releases: "leaves everything in the members as it is",
  removes: "deletes what it deployed in the members",
  stops: "stops its work, which has not ended",
  forgets: "deletes what its ended work left in the members",
};

const KINDS = [CROSS_CLUSTER_STATEFULSET, DISTRIBUTED_APPLICATION, CROSS_CLUSTER_JOB];
const ENDED = ["Complete", "Failed"];

/** Of all namespaces. Throws if this user may not list one of the kinds: then nothing is known. */
export async function listManaged({ client, request }: Hub): Promise<Managed[]> {
  const lists = KINDS.map(async (definition) => {
    const of = resourceOf(definition);
    const items = await client.listAll(of, { ...request }).then(
      (list) => list.items,
      (error: unknown) => {
        // The kind is not installed: there is none of it.
        if (error instanceof NotFoundError) return [];
        throw error;
      },
    );
    const [short = definition.singular] = definition.shortNames ?? [];
    return items.map((object) => ({ resource: of, short, object, deletion: deletionOf(object) }));
  });
  return (await Promise.all(lists)).flat();
}

export function deletionOf({ kind, spec, status }: KubeObject): Deletion {
  const fields = isJsonObject(spec) ? spec : {};
  if (kind === CROSS_CLUSTER_JOB.kind) {
    return isJsonObject(status) && ENDED.includes(String(status.phase)) ? "forgets" : "stops";
  }
  // An object from before the field existed has the default of its kind.
  const usual = kind === DISTRIBUTED_APPLICATION.kind ? "Teardown" : "Release";
  return (fields.deletionPolicy ?? usual) === "Release" ? "releases" : "removes";
}

export function rowOf({ short, object, deletion }: Managed): string[] {
  const { namespace, name, deletionTimestamp } = object.metadata;
  const going = deletionTimestamp === undefined ? "" : " (it is being deleted)";
  return [namespace ?? "", `${short}/${name}`, `${WORDS[deletion]}${going}`];
}

function resourceOf({ group, version, kind, plural }: KindDefinition): Resource {
  return resource({ apiVersion: `${group}/${version}`, kind, plural, namespaced: true });
}
