import { isJsonObject, type Json, type JsonObject } from "../runtime/index.ts";
import { API_VERSION, DNS_SUBDOMAIN, KIND, LABEL_CHARS, NAME_CHARS } from "./kinds/names.ts";
import type { FieldError } from "./schema/types.ts";
import { wording } from "./schema/wording.ts";

/** What a CrossClusterStatefulset runs: selected by name or by label, or inline. Without a name: selected by label. */
interface SelectedWorkload {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name?: string;
  readonly isInline: boolean;
}

/**
 * The object that carries it also carries its status, and kubectl's copy of what was applied last, which Kubernetes
 * limits to 256 KiB.
 */
const MAX_INLINE_TEMPLATE_BYTES = 192 * 1024;

/** The policy and the controller's own check use the same message. */
export const INLINE_NAMESPACE_REMEDY =
  "template.metadata.namespace must be the CrossClusterStatefulset's own namespace: leave it out, or create the CrossClusterStatefulset in that namespace";

/** Read without validation: a spec that is not valid any more may still own what it runs. */
export function selectedWorkload(object: {
  readonly metadata: unknown;
  readonly spec?: Json;
}): SelectedWorkload | undefined {
  const { metadata } = object;
  const spec = isJsonObject(object.spec) ? object.spec : {};
  const isInline = isJsonObject(spec.template);
  const source = isJsonObject(spec.template) ? spec.template : spec.resourceSelector;
  if (!isJsonObject(source)) return undefined;
  const { apiVersion, kind } = source;
  if (typeof apiVersion !== "string" || typeof kind !== "string") return undefined;
  const name = isInline ? (nameIn(source.metadata) ?? nameIn(metadata)) : source.name;
  return { apiVersion, kind, isInline, ...(typeof name === "string" && { name }) };
}

/** What is wrong with `spec.template`, beyond what its schema says. */
export function inlineTemplateErrors(template: JsonObject, namespace: string): FieldError[] {
  const path = "spec.template";
  const { apiVersion, kind, metadata } = template;
  const errors = [
    ...textErrors(`${path}.apiVersion`, apiVersion, API_VERSION, NAME_CHARS + LABEL_CHARS),
    ...textErrors(`${path}.kind`, kind, KIND, LABEL_CHARS),
  ];
  if (typeof apiVersion === "string" && !apiVersion.includes("/")) {
    errors.push(
      wording.forbidden(path, `${kind} of ${apiVersion} may not be a template: core kinds run no application`),
    );
  }
  if (metadata !== undefined && !isJsonObject(metadata)) {
    errors.push(wording.invalidWhole(`${path}.metadata`, "must be an object"));
  } else if (metadata) {
    errors.push(...metadataErrors(`${path}.metadata`, metadata, namespace));
  }
  const bytes = Buffer.byteLength(JSON.stringify(template));
  if (bytes > MAX_INLINE_TEMPLATE_BYTES) errors.push(wording.tooLong(path, MAX_INLINE_TEMPLATE_BYTES));
  return errors;
}

function metadataErrors(path: string, metadata: JsonObject, namespace: string): FieldError[] {
  const { name, namespace: own, labels, annotations } = metadata;
  const errors = name === undefined ? [] : textErrors(`${path}.name`, name, DNS_SUBDOMAIN, NAME_CHARS);
  if (own !== undefined && own !== namespace) {
    errors.push(wording.invalid(`${path}.namespace`, own, INLINE_NAMESPACE_REMEDY));
  }
  for (const [field, map] of Object.entries({ labels, annotations })) {
    const isMap =
      map === undefined || (isJsonObject(map) && Object.values(map).every((one) => typeof one === "string"));
    if (!isMap) errors.push(wording.invalidWhole(`${path}.${field}`, "must be a map of strings"));
  }
  return errors;
}

function textErrors(path: string, value: Json | undefined, pattern: string, maxChars: number): FieldError[] {
  if (value === undefined || value === "") return [wording.required(path)];
  if (typeof value !== "string") return [wording.wrongType(path, value, "must be a string")];
  if (value.length > maxChars) return [wording.tooLong(path, maxChars)];
  return new RegExp(pattern).test(value) ? [] : [wording.invalid(path, value, `must match ${pattern}`)];
}

function nameIn(metadata: unknown): string | undefined {
  const name = isJsonObject(metadata) ? metadata.name : undefined;
  return typeof name === "string" && name !== "" ? name : undefined;
}
