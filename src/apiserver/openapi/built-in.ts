import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { CORE_DEFINITIONS } from "./core-kinds.ts";
import { referenceOf, SCALARS, type Schema } from "./fields.ts";
import { kind, META_DEFINITIONS } from "./meta-kinds.ts";
import { OTHER_DEFINITIONS } from "./other-kinds.ts";
import { POD_DEFINITIONS } from "./pod-kinds.ts";
import { WORKLOAD_DEFINITIONS } from "./workload-kinds.ts";

/** Every named definition of the built-in kinds, by the name Kubernetes' documents give it. */
export const DEFINITIONS: Readonly<Record<string, Schema>> = {
  ...SCALARS,
  ...META_DEFINITIONS,
  ...POD_DEFINITIONS,
  ...CORE_DEFINITIONS,
  ...WORKLOAD_DEFINITIONS,
  ...OTHER_DEFINITIONS,
};

/** A built-in kind that has no schema here is stored as it comes. */
export const UNKNOWN_KIND: Schema = {
  ...kind("A kind whose fields this server does not check.", {}),
  "x-kubernetes-preserve-unknown-fields": true,
};

/** `io.k8s.api.apps.v1.StatefulSet` for StatefulSet of apps/v1, as Kubernetes names its definitions. */
export function definitionName(group: string, version: string, kindName: string): string {
  if (group === "apiextensions.k8s.io")
    return `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.${version}.${kindName}`;
  const packageName = group === "" ? "core" : (group.split(".")[0] ?? group);
  return `io.k8s.api.${packageName}.${version}.${kindName}`;
}

/**
 * The structural schema (no references, so that compileSchema takes it) of a built-in kind, for strict field validation:
 * its unknown fields are slips, what lies below an open field is not looked at. Undefined for kinds not written down here.
 */
export function builtInSchema(group: string, version: string, kindName: string): JsonObject | undefined {
  const schema = DEFINITIONS[definitionName(group, version, kindName)];
  return schema && structural(schema);
}

/** The keywords of structural schemas; merge keys and descriptions say nothing about validity. */
const KEPT = ["type", "properties", "items", "additionalProperties", "x-kubernetes-preserve-unknown-fields"];

function structural(schema: Schema): JsonObject {
  const reference = referenceOf(schema);
  if (reference !== undefined) {
    const target = DEFINITIONS[reference];
    return target ? structural(target) : { "x-kubernetes-preserve-unknown-fields": true };
  }
  // Number or text: the schema engine need not tell them apart here, the kind's own validation does.
  if (schema.oneOf !== undefined) return { "x-kubernetes-preserve-unknown-fields": true };
  const result: Record<string, Json> = {};
  for (const keyword of KEPT) {
    const value = schema[keyword];
    if (value === undefined) continue;
    if (keyword === "properties" && isJsonObject(value)) {
      result[keyword] = Object.fromEntries(
        Object.entries(value).map(([name, field]) => [name, isJsonObject(field) ? structural(field) : {}]),
      );
    } else if (isJsonObject(value)) result[keyword] = structural(value);
    else result[keyword] = value;
  }
  return result;
}
