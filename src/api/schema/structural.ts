import type { SchemaNode } from "./node.ts";
import { SchemaError } from "./types.ts";

/**
 * Throws SchemaError unless the schema is structural, by Kubernetes' rules. Every field that it mentions is declared,
 * with a type, outside of allOf, anyOf, oneOf and not. Those only restrict values, and metadata is left to the API
 * server.
 */
export function checkStructural(root: SchemaNode): void {
  if (root.type === undefined) fail(root, "type", "must not be empty at the root");
  if (root.type !== "object") fail(root, "type", "must be object at the root");
  if (root.additional !== undefined) fail(root, "additionalProperties", "must not be used at the root");
  checkNode(root, true);
}

function checkNode(node: SchemaNode, isObjectRoot: boolean): void {
  checkType(node);
  checkLists(node);
  if (node.intOrString && node.preserveUnknown) {
    fail(node, "x-kubernetes-preserve-unknown-fields", "must be false if x-kubernetes-int-or-string is true");
  }
  if (node.embedded) checkEmbedded(node);
  if (isObjectRoot || node.embedded) checkMeta(node, isObjectRoot);

  node.properties.forEach((property, name) => {
    const isRootMetadata = isObjectRoot && name === "metadata";
    if (!isRootMetadata) checkNode(property, false);
  });
  if (node.items) checkNode(node.items, false);
  if (node.additional && node.additional !== "anything") checkNode(node.additional, false);

  for (const nested of nestedOf(node)) checkNested(nested, node);
}

function nestedOf(node: SchemaNode): SchemaNode[] {
  const anyOf = node.intOrString && isIntOrString(node.anyOf) ? [] : node.anyOf;
  const allOf = node.intOrString
    ? node.allOf.filter((nested, index) => !(index === 0 && isIntOrString(nested.anyOf)))
    : node.allOf;
  return [...allOf, ...anyOf, ...node.oneOf, ...(node.not ? [node.not] : [])];
}

/** The only place where types may appear under anyOf: `[{type: integer}, {type: string}]`. */
function isIntOrString(alternatives: readonly SchemaNode[]): boolean {
  return alternatives.length === 2 && alternatives[0]?.type === "integer" && alternatives[1]?.type === "string";
}

function checkType(node: SchemaNode): void {
  if (node.type === undefined && !node.intOrString && !node.preserveUnknown) {
    const place = node.path.endsWith("items") ? "specified array items" : "specified object fields";
    fail(node, "type", `must not be empty for ${place}`);
  }
  if (node.intOrString && node.type !== undefined) {
    fail(node, "type", "must be empty if x-kubernetes-int-or-string is true");
  }
  if (node.type === "array" && node.items === undefined) fail(node, "items", "must be specified");
}

function checkLists(node: SchemaNode): void {
  if (node.listType !== undefined && node.type !== "array") {
    fail(node, "type", "must be array if x-kubernetes-list-type is specified");
  }
  if (node.listType !== "map") {
    if (node.listMapKeys.length > 0) {
      fail(node, "x-kubernetes-list-type", "must be map if x-kubernetes-list-map-keys is non-empty");
    }
    return;
  }
  if (node.listMapKeys.length === 0) {
    fail(node, "x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map");
  }
  for (const key of node.listMapKeys) {
    const property = node.items?.properties.get(key);
    if (property === undefined) {
      fail(node, "x-kubernetes-list-map-keys", `entries must all be names of item properties, but ${key} is not`);
    } else if (property.defaultValue === undefined && !node.items?.limits.required.includes(key)) {
      fail(
        property,
        "default",
        "this property is in x-kubernetes-list-map-keys, so it must have a default or be required",
      );
    }
  }
}

function checkEmbedded(node: SchemaNode): void {
  if (node.type !== "object") fail(node, "type", "must be object if x-kubernetes-embedded-resource is true");
  if (node.additional !== undefined) {
    fail(node, "additionalProperties", "must not be used if x-kubernetes-embedded-resource is set");
  }
  if (!node.preserveUnknown && node.properties.size === 0) {
    fail(
      node,
      "properties",
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields",
    );
  }
}

function checkMeta(node: SchemaNode, isObjectRoot: boolean): void {
  for (const name of ["apiVersion", "kind"]) {
    const property = node.properties.get(name);
    if (property && property.type !== "string") fail(property, "type", "must be string");
  }
  const metadata = node.properties.get("metadata");
  if (metadata === undefined) return;
  if (metadata.type !== "object") fail(metadata, "type", "must be object");
  const onlyNames = [...metadata.properties.keys()].every((name) => name === "name" || name === "generateName");
  if (isObjectRoot && (!onlyNames || metadata.additional !== undefined || metadata.preserveUnknown)) {
    fail(
      metadata,
      "",
      "must not specify anything other than name and generateName, but metadata is implicitly specified",
    );
  }
}

/** `declared` is the structural node at the same place. */
function checkNested(nested: SchemaNode, declared: SchemaNode): void {
  if (nested.type !== undefined) fail(nested, "type", "must be empty to be structural");
  if (nested.additional !== undefined) fail(nested, "additionalProperties", "must be undefined to be structural");
  if (nested.defaultValue !== undefined) fail(nested, "default", "must be undefined to be structural");
  if (nested.nullable) fail(nested, "nullable", "must be false to be structural");
  if (nested.rules.length > 0) fail(nested, "x-kubernetes-validations", "must be empty to be structural");
  if (nested.preserveUnknown) fail(nested, "x-kubernetes-preserve-unknown-fields", "must be false to be structural");
  if (nested.embedded) fail(nested, "x-kubernetes-embedded-resource", "must be false to be structural");
  if (nested.intOrString) fail(nested, "x-kubernetes-int-or-string", "must be false to be structural");
  if (nested.listType !== undefined) fail(nested, "x-kubernetes-list-type", "must be undefined to be structural");

  nested.properties.forEach((property, name) => {
    if (name === "metadata") fail(property, "", "must not be specified in a nested context");
    const outside = declared.properties.get(name);
    if (outside === undefined) fail(declared, `properties[${name}]`, `must be specified because ${property.path} is`);
    else checkNested(property, outside);
  });
  if (nested.items) {
    if (declared.items === undefined) fail(declared, "items", `must be specified because ${nested.items.path} is`);
    else checkNested(nested.items, declared.items);
  }
  for (const deeper of [...nested.allOf, ...nested.anyOf, ...nested.oneOf, ...(nested.not ? [nested.not] : [])]) {
    checkNested(deeper, declared);
  }
}

function fail(node: SchemaNode, keyword: string, reason: string): never {
  throw new SchemaError([node.path, keyword].filter((part) => part !== "").join("."), reason);
}
