import { clone, isJsonObject, type Json, type JsonObject, ownField, valueAt } from "../../runtime/index.ts";
import type { Core, WriteContext } from "../core.ts";
import type { StoredObject } from "../store/store.ts";
import { setAt, simplePath } from "../store/values.ts";
import type { ResourceDefinition, ScaleSubresource } from "../types.ts";
import { type PatchRequest, readPatch } from "./patches.ts";
import { badRequest, conflict, invalid, MODIFIED, noSuchResource, notFound, problem, StatusError } from "./status.ts";
import { keyOf, updateObject } from "./writes.ts";

/** The autoscaling/v1 Scale of an object, as `kubectl scale` reads it. A custom resource may have no replicas. */
export function readScale(definition: ResourceDefinition, stored: StoredObject): JsonObject {
  const { specReplicasPath } = pathsOf(definition);
  const replicas = valueAt(stored.objectFor(definition), ...simplePath(specReplicasPath));
  if (replicas === undefined && !definition.builtIn) {
    const why = `the spec replicas field ${JSON.stringify(specReplicasPath)} does not exist`;
    throw new StatusError(500, "InternalError", `Internal error occurred: ${why}`);
  }
  return scaleOf(definition, stored);
}

/** Absent replicas are shown as 0, so that they can be set. */
export function scaleOf(definition: ResourceDefinition, stored: StoredObject): JsonObject {
  const paths = pathsOf(definition);
  const object = stored.objectFor(definition);
  const { name, namespace, uid, resourceVersion, creationTimestamp } = object.metadata;
  const replicas = valueAt(object, ...simplePath(paths.specReplicasPath));
  const seen = valueAt(object, ...simplePath(paths.statusReplicasPath));
  const selector = paths.labelSelectorPath && valueAt(object, ...simplePath(paths.labelSelectorPath));
  const selectorText = typeof selector === "string" ? selector : selectorAsText(selector);
  return {
    kind: "Scale",
    apiVersion: "autoscaling/v1",
    metadata: { name, namespace, uid, resourceVersion, creationTimestamp },
    spec: { replicas: typeof replicas === "number" ? replicas : 0 },
    status: {
      replicas: typeof seen === "number" ? seen : 0,
      ...(selectorText && { selector: selectorText }),
    },
  };
}

export function putScale(core: Core, write: WriteContext, body: Json): StoredObject {
  return writeScale(core, write, () => body);
}

export function patchScale(core: Core, write: WriteContext, patch: PatchRequest): StoredObject {
  // A Scale has no lists, so apply and strategic merge are the same as merge.
  const isPlain = patch.contentType === "application/json-patch+json";
  const contentType = isPlain ? patch.contentType : "application/merge-patch+json";
  return writeScale(core, write, readPatch(core, { ...patch, contentType }, undefined));
}

function writeScale(core: Core, write: WriteContext, change: (scale: JsonObject) => Json): StoredObject {
  const { definition, name } = write;
  const paths = pathsOf(definition);
  const old = core.store.get(keyOf(write, name));
  if (!old) throw notFound(definition, name);
  const scale = change(scaleOf(definition, old));
  if (!isJsonObject(scale) || ownField(scale, "kind") !== "Scale")
    throw badRequest("the request's object must be a Scale");
  const replicas = valueAt(scale, "spec", "replicas") ?? 0;
  if (typeof replicas !== "number" || !Number.isInteger(replicas)) {
    throw badRequest("json: cannot unmarshal a value into Go struct field ScaleSpec.spec.replicas of type int32");
  }
  if (replicas < 0) {
    throw invalid({ group: "autoscaling", plural: "scales", kind: "Scale" }, name, [
      problem.invalid("spec.replicas", replicas, "must be greater than or equal to 0"),
    ]);
  }
  const version = valueAt(scale, "metadata", "resourceVersion");
  if (typeof version === "string" && version !== "" && version !== old.object.metadata.resourceVersion) {
    throw conflict(definition, name, MODIFIED);
  }
  const object = clone(old.objectFor(definition));
  setAt(object, simplePath(paths.specReplicasPath), replicas);
  return updateObject(core, write, old, object).stored;
}

function pathsOf(definition: ResourceDefinition): ScaleSubresource {
  if (!definition.subresources.scale) throw noSuchResource();
  return definition.subresources.scale;
}

function selectorAsText(selector: Json | undefined): string {
  if (!isJsonObject(selector)) return "";
  const labels = ownField(selector, "matchLabels");
  const parts = isJsonObject(labels)
    ? Object.keys(labels)
        .sort()
        .map((key) => `${key}=${labels[key]}`)
    : [];
  const expressions = ownField(selector, "matchExpressions");
  for (const expression of Array.isArray(expressions) ? expressions : []) {
    if (!isJsonObject(expression)) continue;
    const { key, operator, values } = expression;
    const list = Array.isArray(values) ? values.join(",") : "";
    if (operator === "In") parts.push(`${key} in (${list})`);
    else if (operator === "NotIn") parts.push(`${key} notin (${list})`);
    else parts.push(operator === "Exists" ? `${key}` : `!${key}`);
  }
  return parts.join(",");
}
