import { createHash } from "node:crypto";
import { type HttpResponse, isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { apiVersionOf } from "../kinds/registry.ts";
import { errorResponse, jsonResponse, noSuchResource } from "../request/status.ts";
import type { DocumentHandler, RegistryView, ResourceDefinition } from "../types.ts";
import { DEFINITIONS, definitionName, UNKNOWN_KIND } from "./built-in.ts";
import { META, ref, referenceOf, type Schema, text } from "./fields.ts";

const INDEX_PATH = "/openapi/v3";

/**
 * kubectl requests OpenAPI v2 only for kinds that v3 does not have, that is, for typing mistakes. With an empty
 * document it continues to the helpful message: no matches for kind.
 */
const OLD_PATH = "/openapi/v2";
/** The media type in requests; it is not valid, so the answer uses a dot instead. */
const OLD_PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf";

function oldDocument(accept: string): HttpResponse {
  // In protobuf: field 1 (swagger), a text of three characters.
  if (accept.includes(OLD_PROTOBUF))
    return { status: 200, headers: { "content-type": OLD_PROTOBUF.replace("@", ".") }, body: "\n\u00032.0" };
  return jsonResponse(
    200,
    JSON.stringify({ swagger: "2.0", info: { title: "Kubernetes", version: "unversioned" }, paths: {} }),
  );
}

interface Document {
  readonly body: string;
  readonly hash: string;
}

/** Answers the index of OpenAPI documents and the document of each group and version. */
export function openAPIDocuments(): DocumentHandler {
  // Documents are created on demand and cached until the kinds change.
  let keptFor = { registry: undefined as RegistryView | undefined, revision: 0 };
  const kept = new Map<string, Document>();
  const documentOf = (registry: RegistryView, key: string): Document | undefined => {
    if (keptFor.registry !== registry || keptFor.revision !== registry.revision) {
      keptFor = { registry, revision: registry.revision };
      kept.clear();
    }
    const document = kept.get(key) ?? makeDocument(registry, key);
    if (document) kept.set(key, document);
    return document;
  };
  return (request, registry) => {
    const path = request.path.replace(/\/$/, "");
    if (path === INDEX_PATH) {
      const paths: Record<string, Json> = {};
      for (const { group, versions } of registry.groups()) {
        for (const key of versions.map((version) => documentKey(group, version))) {
          // The hash in the address lets kubectl cache a document as long as it does not change.
          paths[key] = { serverRelativeURL: `${INDEX_PATH}/${key}?hash=${documentOf(registry, key)?.hash}` };
        }
      }
      return jsonResponse(200, JSON.stringify({ paths }));
    }
    if (path === OLD_PATH) return oldDocument(request.headers.accept ?? "");
    if (!path.startsWith(`${INDEX_PATH}/`)) return undefined;
    const document = documentOf(registry, path.slice(INDEX_PATH.length + 1));
    if (!document) return errorResponse(noSuchResource());
    return jsonResponse(200, document.body, { etag: `"${document.hash}"` });
  };
}

/** `api/v1` or `apis/apps/v1`: the documents' names, which are also the paths they describe. */
function documentKey(group: string, version: string): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}

function groupVersionOf(key: string): { group: string; version: string } | undefined {
  const core = /^api\/([^/]+)$/.exec(key);
  if (core?.[1]) return { group: "", version: core[1] };
  const other = /^apis\/([^/]+)\/([^/]+)$/.exec(key);
  return other?.[1] && other[2] ? { group: other[1], version: other[2] } : undefined;
}

function makeDocument(registry: RegistryView, key: string): Document | undefined {
  const found = groupVersionOf(key);
  const definitions = found ? registry.definitions(found.group, found.version) : [];
  if (definitions.length === 0) return undefined;
  const body = JSON.stringify(openAPIDocument(definitions));
  return { body, hash: createHash("sha256").update(body).digest("hex").toUpperCase() };
}

/** The document of one group and version: a path per kind, and every schema that they need. */
export function openAPIDocument(definitions: readonly ResourceDefinition[]): JsonObject {
  const schemas: Record<string, Schema> = {};
  const paths: Record<string, Json> = {};
  addDefinition(schemas, `${META}.DeleteOptions`);
  addDefinition(schemas, `${META}.Status`);
  for (const definition of definitions) {
    const name = schemaName(definition);
    schemas[name] = { ...kindSchema(definition), "x-kubernetes-group-version-kind": [groupVersionKind(definition)] };
    for (const each of Object.values(schemas[name])) addReferences(schemas, each);
    const listName = `${name}List`;
    schemas[listName] = listSchema(definition, name);
    addReferences(schemas, schemas[listName]);
    if (definition.subresources.scale) addDefinition(schemas, SCALE);
    Object.assign(paths, kindPaths(definition, name, listName));
  }
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "unversioned" },
    paths,
    components: { schemas },
  };
}

const SCALE = "io.k8s.api.autoscaling.v1.Scale";

function schemaName({ builtIn, group, version, kind }: ResourceDefinition): string {
  if (builtIn) return definitionName(group, version, kind);
  // As Kubernetes names them: io.karmada.apps.v1alpha1.CrossClusterStatefulset for apps.karmada.io.
  return `${group.split(".").reverse().join(".")}.${version}.${kind}`;
}

function groupVersionKind({ group, version, kind }: ResourceDefinition): JsonObject {
  return { group, version, kind };
}

function kindSchema(definition: ResourceDefinition): Schema {
  if (definition.builtIn) return DEFINITIONS[schemaName(definition)] ?? UNKNOWN_KIND;
  const own = definition.openAPISchema ?? { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  const properties = isJsonObject(own.properties) ? own.properties : {};
  return {
    ...own,
    properties: {
      apiVersion: text("The group and version of this object."),
      kind: text("The kind of this object."),
      ...properties,
      metadata: ref(META, "ObjectMeta", "The object's name, labels and other data every object has."),
    },
  };
}

function listSchema(definition: ResourceDefinition, name: string): Schema {
  const { group, version, listKind } = definition;
  return {
    type: "object",
    description: `A list of ${definition.plural}.`,
    required: ["items"],
    properties: {
      apiVersion: text("The group and version of this list."),
      items: {
        type: "array",
        items: { allOf: [{ $ref: `#/components/schemas/${name}` }] },
        description: "The objects.",
      },
      kind: text("The kind of this list."),
      metadata: ref(META, "ListMeta", "The list's version and paging."),
    },
    "x-kubernetes-group-version-kind": [{ group, version, kind: listKind }],
  };
}

/** Adds a built-in definition and everything it refers to. */
function addDefinition(schemas: Record<string, Schema>, name: string): void {
  const schema = DEFINITIONS[name];
  if (!schema || schemas[name]) return;
  schemas[name] = schema;
  addReferences(schemas, schema);
}

function addReferences(schemas: Record<string, Schema>, value: Json | undefined): void {
  if (Array.isArray(value)) for (const each of value) addReferences(schemas, each);
  if (!isJsonObject(value)) return;
  const reference = referenceOf(value);
  if (reference !== undefined) addDefinition(schemas, reference);
  else for (const each of Object.values(value)) addReferences(schemas, each);
}

const query = (name: string, type: string, description: string): JsonObject => ({
  name,
  in: "query",
  description,
  schema: { type, uniqueItems: true },
});

const DRY_RUN = query("dryRun", "string", 'With "All" nothing is stored.');
const FIELD_MANAGER = query("fieldManager", "string", "The writer's name, for managedFields.");
// kubectl reads from this document whether the server validates fields itself, and then leaves it to the server.
const FIELD_VALIDATION = query(
  "fieldValidation",
  "string",
  "What unknown or repeated fields do: Ignore, Warn or Strict.",
);
const WRITE = [DRY_RUN, FIELD_MANAGER, FIELD_VALIDATION];

const PATCH_TYPES = [
  "application/json-patch+json",
  "application/merge-patch+json",
  "application/strategic-merge-patch+json",
  "application/apply-patch+yaml",
];

function kindPaths(definition: ResourceDefinition, name: string, listName: string): Record<string, Json> {
  const { group, version, plural, kind, namespaced, verbs, builtIn } = definition;
  const root = group === "" ? `/api/${version}` : `/apis/${apiVersionOf(definition)}`;
  const collection = namespaced ? `${root}/namespaces/{namespace}/${plural}` : `${root}/${plural}`;
  const body = (schema: string) => ({ content: { "*/*": { schema: reference(schema) } } });
  const operation = (verb: string, action: string, result: string, extra: JsonObject = {}): JsonObject => ({
    [verb]: {
      operationId: `${action}${definition.singular}-${group}-${version}`,
      responses: { "200": { description: "OK", content: { "application/json": { schema: reference(result) } } } },
      "x-kubernetes-action": action,
      "x-kubernetes-group-version-kind": { group, version, kind },
      ...extra,
    },
  });
  const patchTypes = builtIn ? PATCH_TYPES : PATCH_TYPES.filter((type) => !type.includes("strategic"));
  const patchBody = {
    content: Object.fromEntries(patchTypes.map((type) => [type, { schema: { type: "object" } }])),
  };
  const patch = (result: string, action = "patch") =>
    operation("patch", action, result, {
      parameters: [...WRITE, query("force", "boolean", "Takes fields from other managers.")],
      requestBody: patchBody,
    });
  const put = (result: string, action = "put") =>
    operation("put", action, result, { parameters: WRITE, requestBody: body(result) });
  const one = {
    parameters: [pathParameter("name"), ...(namespaced ? [pathParameter("namespace")] : [])],
    ...(verbs.includes("get") && operation("get", "get", name)),
    ...(verbs.includes("update") && put(name)),
    ...(verbs.includes("patch") && patch(name)),
    ...(verbs.includes("delete") &&
      operation("delete", "delete", `${META}.Status`, {
        parameters: [DRY_RUN],
        requestBody: body(`${META}.DeleteOptions`),
      })),
  };
  const subresource = (schema: string) => ({
    parameters: one.parameters,
    ...operation("get", "get", schema),
    ...put(schema),
    ...patch(schema),
  });
  return {
    [collection]: {
      ...(namespaced && { parameters: [pathParameter("namespace")] }),
      ...(verbs.includes("list") && operation("get", "list", listName)),
      ...(verbs.includes("create") && operation("post", "post", name, { parameters: WRITE, requestBody: body(name) })),
    },
    [`${collection}/{name}`]: one,
    ...(definition.subresources.status && { [`${collection}/{name}/status`]: subresource(name) }),
    ...(definition.subresources.scale && { [`${collection}/{name}/scale`]: subresource(SCALE) }),
    ...(namespaced && verbs.includes("list") && { [`${root}/${plural}`]: operation("get", "list", listName) }),
  };
}

function pathParameter(name: string): JsonObject {
  return {
    name,
    in: "path",
    required: true,
    description: `The ${name}.`,
    schema: { type: "string", uniqueItems: true },
  };
}

function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` };
}
