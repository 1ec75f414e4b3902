/** Holds of applications that are gone: policies by which Karmada renders a template nowhere. Reads only. */
import { CROSS_CLUSTER_STATEFULSET } from "../../../api/index.ts";
import {
  bindingOf,
  DISPATCH_MARKS,
  OVERRIDE_POLICIES,
  RESOURCE_BINDINGS,
  type ReadHold,
  readHold,
  unprotectedHold,
} from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import type { Hub } from "../../hub/hub.ts";
import { isGone, type Named, type Orphan, title } from "./owners.ts";

export async function orphanHolds(hub: Hub): Promise<Orphan[]> {
  const labelSelector = `${DISPATCH_MARKS.hold}=true`;
  const { items } = await hub.client.listAll(OVERRIDE_POLICIES, { labelSelector, ...hub.request });
  const found: Orphan[] = [];
  for (const object of items) {
    const hold = readHold(object);
    if (!hold || !(await isGone(hub, ownerOfHold(hold)))) continue;
    const doubt = await doubtAbout(hub, hold);
    found.push({
      where: "hub",
      resource: OVERRIDE_POLICIES,
      object,
      why: `${title(ownerOfHold(hold))} is gone`,
      ...(doubt !== undefined && { kept: `${doubt}: ${commandFor(object)}` }),
    });
  }
  return found;
}

/** Asked again right before the deletion. */
export async function isHoldToDelete(hub: Hub, policy: KubeObject): Promise<boolean> {
  const hold = readHold(policy);
  return hold !== undefined && (await isGone(hub, ownerOfHold(hold))) && (await doubtAbout(hub, hold)) === undefined;
}

/** A hold has no uid: the next application of this name takes over the same policy. */
function ownerOfHold({ app }: ReadHold): Named {
  return { ...app, kind: app.kind ?? CROSS_CLUSTER_STATEFULSET.kind };
}

/**
 * Without the hold Karmada renders the template to all its clusters at once. That changes nothing only if there is no
 * template, and no binding of one. Whatever cannot be read counts as there.
 */
async function doubtAbout({ client, request }: Hub, { templates, isPlain }: ReadHold): Promise<string | undefined> {
  if (!isPlain) return "another writer has changed it; if you want to delete it";
  for (const template of templates) {
    const { apiVersion, kind, namespace, name } = template;
    const what = `${kind} ${namespace}/${name}`;
    const once = `Karmada would render ${what} to all its clusters at once; if you want that`;
    try {
      const of = await client.discovery.resource(apiVersion, kind, request);
      if (await client.find(of, { namespace, name }, request)) return once;
      const { items } = await client.listAll(RESOURCE_BINDINGS, { namespace, ...request });
      if (bindingOf(items, template)) return once;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      return `whether ${what} exists is not known (${reason}); if it does not`;
    }
  }
  return undefined;
}

function commandFor(policy: KubeObject): string {
  const { name, namespace } = policy.metadata;
  const kubectl = (verb: string) => `kubectl -n ${namespace} ${verb} overridepolicy ${name}`;
  const isProtected = unprotectedHold(policy) !== undefined;
  const free = `${kubectl("label")} resourcetemplate.karmada.io/deletion-protected- && `;
  return `${isProtected ? free : ""}${kubectl("delete")}`;
}
