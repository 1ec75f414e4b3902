import { parse as parseYaml } from "yaml";
import { clone, isJsonObject, type Json, type JsonObject, ownField } from "../../runtime/index.ts";
import { applyConfiguration } from "../apply/managers.ts";
import type { Core, WriteContext } from "../core.ts";
import { apiVersionOf } from "../kinds/registry.ts";
import { applyJsonPatch } from "../patch/json.ts";
import { mergePatch } from "../patch/merge.ts";
import { strategicMerge } from "../patch/strategic.ts";
import { guard, parseJson } from "../store/values.ts";
import type { KubeObject, Shape } from "../types.ts";
import { badRequest, notFound, StatusError, unsupportedMediaType } from "./status.ts";
import { createObject, keyOf, updateObject, type Written, writeOf } from "./writes.ts";

const JSON_PATCH = "application/json-patch+json";
const MERGE_PATCH = "application/merge-patch+json";
const STRATEGIC_PATCH = "application/strategic-merge-patch+json";
const APPLY_PATCH = "application/apply-patch+yaml";

/** Anchors may multiply a document's size; more uses than this in one manifest is an attack. */
const YAML_ALIASES = 100;

export interface PatchRequest {
  readonly contentType: string;
  readonly body: string;
  readonly force: boolean;
  /** The client's own name; apply needs one. */
  readonly explicitManager: string;
}

export function patchObject(core: Core, write: WriteContext, patch: PatchRequest): Written {
  if (patch.contentType === APPLY_PATCH) return applyObject(core, write, patch);
  const { definition, name } = write;
  // The patch is parsed first: a malformed one is refused even if the object does not exist.
  const change = readPatch(core, patch, definition.builtIn ? definition.shape : undefined);
  const old = core.store.get(keyOf(write, name));
  if (!old) throw notFound(definition, name);
  return updateObject(core, write, old, change(old.objectFor(definition)));
}

/** A patch as a function from the old document to a new one that shares nothing with it. */
export function readPatch(core: Core, patch: PatchRequest, shape: Shape | undefined): (old: JsonObject) => Json {
  const document = parseJson(patch.body, core.limits.jsonDepth);
  switch (patch.contentType) {
    case JSON_PATCH:
      return (old) => {
        const patched = applyJsonPatch(old, document, core.limits.bodyBytes);
        // A patch can copy the document into itself.
        guard(patched, core.limits.jsonDepth);
        return patched;
      };
    case MERGE_PATCH: {
      const changes = patchDocument(document);
      return (old) => clone(mergePatch(old, changes));
    }
    case STRATEGIC_PATCH: {
      if (!shape) break;
      const changes = patchDocument(document);
      return (old) => clone(strategicMerge(old, changes, shape));
    }
  }
  const accepted = [JSON_PATCH, MERGE_PATCH, ...(shape ? [STRATEGIC_PATCH] : []), APPLY_PATCH];
  throw unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${accepted.join(", ")}`,
  );
}

function patchDocument(document: Json): JsonObject {
  if (!isJsonObject(document)) throw badRequest("error decoding patch: a merge patch must be a JSON object");
  return document;
}

function applyObject(core: Core, write: WriteContext, patch: PatchRequest): Written {
  const { definition, name } = write;
  if (patch.explicitManager === "") {
    throw new StatusError(
      422,
      "Invalid",
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
      {
        group: "meta.k8s.io",
        kind: "PatchOptions",
        causes: [
          {
            reason: "FieldValueRequired",
            message: "Required value: is required for apply patch",
            field: "fieldManager",
          },
        ],
      },
    );
  }
  const config = readConfiguration(core, patch.body);
  checkConfiguration(write, config);
  const old = core.store.get(keyOf(write, name));
  if (!old && write.subresource !== "") throw notFound(definition, name);
  const before = old?.objectFor(definition);
  const applied = applyConfiguration(before, config, writeOf(core, write, "Apply"), patch.force);
  if (!old) return createObject(core, write, applied.object, applied.managedFields);
  return updateObject(core, write, old, applied.object, applied);
}

function readConfiguration(core: Core, body: string): JsonObject {
  let document: unknown;
  if (body.trimStart().startsWith("{")) document = parseJson(body, core.limits.jsonDepth);
  else {
    try {
      document = parseYaml(body, { maxAliasCount: YAML_ALIASES, schema: "core", prettyErrors: false });
    } catch (error) {
      throw badRequest(`error decoding YAML: ${error instanceof Error ? error.message : "malformed"}`);
    }
  }
  if (!isJsonObject(document)) throw badRequest("error decoding YAML: the configuration must be an object");
  guard(document, core.limits.jsonDepth);
  return withoutNulls(document);
}

/** A field that does not exist has no owner. */
function withoutNulls(value: JsonObject): JsonObject {
  const kept: JsonObject = {};
  for (const key of Object.keys(value)) {
    const child = value[key];
    if (child === null || child === undefined) continue;
    if (isJsonObject(child)) kept[key] = withoutNulls(child);
    else if (Array.isArray(child)) kept[key] = child.map((item) => (isJsonObject(item) ? withoutNulls(item) : item));
    else kept[key] = child;
  }
  return kept;
}

function checkConfiguration(write: WriteContext, config: JsonObject): void {
  const { definition } = write;
  const metadata = ownField(config, "metadata");
  const expected: Partial<KubeObject> = { apiVersion: apiVersionOf(definition), kind: definition.kind };
  for (const field of ["apiVersion", "kind"]) {
    if (ownField(config, field) !== expected[field]) {
      throw badRequest(
        `the ${field} of the applied configuration (${JSON.stringify(ownField(config, field) ?? "")}) must be ${JSON.stringify(expected[field])}`,
      );
    }
  }
  if (!isJsonObject(metadata)) {
    config.metadata = { name: write.name };
    return;
  }
  if (ownField(metadata, "managedFields") !== undefined) throw badRequest("metadata.managedFields must be nil");
  if (ownField(metadata, "name") === undefined) metadata.name = write.name;
}
