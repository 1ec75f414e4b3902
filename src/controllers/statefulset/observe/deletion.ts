/** What a CrossClusterStatefulset that is being deleted asks for, however little of its spec can still be read. */
import {
  type ParsedCrossClusterStatefulset,
  parseCrossClusterStatefulset,
  selectedWorkload,
} from "../../../api/index.ts";
import type { EngineApp, ObjectRef } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";

/**
 * A deletion needs to know what becomes of the instances and of their volumes, and nothing else. Each of these is taken
 * from the spec where it can be read, and by its safe default otherwise: an unreadable policy deletes nothing.
 */
export function parseForDeletion(object: KubeObject, template: ObjectRef): ParsedCrossClusterStatefulset {
  const { status: _said, ...asked } = object;
  const parsed = parseCrossClusterStatefulset(asked);
  if (parsed.ok) return parsed.value;
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const retention = isJsonObject(spec.retentionPolicy) ? spec.retentionPolicy : {};
  const { apiVersion, kind, name } = template;
  const reduced: JsonObject = {
    resourceSelector: { apiVersion, kind, name },
    deletionPolicy: oneOf(spec.deletionPolicy, "Teardown", "Release"),
    podManagementPolicy: oneOf(spec.podManagementPolicy, "Parallel", "OrderedReady"),
    retentionPolicy: {
      whenDeleted: oneOf(retention.whenDeleted, "Delete", "Retain"),
      whenScaled: oneOf(retention.whenScaled, "Delete", "Retain"),
    },
  };
  const again = parseCrossClusterStatefulset({ ...asked, spec: reduced });
  if (again.ok) return again.value;
  const why = again.errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  throw new Error(`it is being deleted, and not even that much of it can be read: ${why}`);
}

/** The template that the spec names; `recorded` is its name in the ledger, where the spec selects it by label. */
export function templateNamed({ metadata, spec }: KubeObject, recorded: string | undefined): ObjectRef | undefined {
  const selected = selectedWorkload({ metadata, spec });
  if (!selected) return undefined;
  const { apiVersion, kind, name = recorded } = selected;
  if (name === undefined) return undefined;
  return { apiVersion, kind, namespace: metadata.namespace ?? "", name };
}

export function appOf({ metadata }: KubeObject, template: ObjectRef): EngineApp {
  const { namespace = "", name, uid } = metadata;
  return { namespace, name, ...(uid !== undefined && { uid }), template };
}

function oneOf<const Values extends readonly [string, string]>(value: Json | undefined, ...[other, safe]: Values) {
  return value === other ? other : safe;
}
