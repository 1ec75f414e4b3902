import { clone, isJsonObject, type Json, type JsonObject, LIMITS } from "../../runtime/index.ts";
import { badRequest, problem } from "../request/status.ts";
import type { FieldProblem, KubeObject, ObjectMeta, OwnerReference, Strategy } from "../types.ts";

const TEXT_FIELDS = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "resourceVersion",
  "creationTimestamp",
  "deletionTimestamp",
] as const;
const NUMBER_FIELDS = ["generation", "deletionGracePeriodSeconds"] as const;
const MAP_FIELDS = ["labels", "annotations"] as const;
const OTHER_FIELDS = ["selfLink", "finalizers", "ownerReferences", "managedFields"];
const KNOWN_FIELDS = new Set<string>([...TEXT_FIELDS, ...NUMBER_FIELDS, ...MAP_FIELDS, ...OTHER_FIELDS]);

/**
 * Reads metadata into its typed form, in a fixed order of fields. Unknown fields are reported; wrong types are refused.
 */
export function readMetadata(raw: Json | undefined, unknown: string[]): ObjectMeta {
  if (raw !== undefined && raw !== null && !isJsonObject(raw)) throw wrongType("metadata", "v1.ObjectMeta");
  const source: JsonObject = raw ?? {};
  for (const key of Object.keys(source)) if (!KNOWN_FIELDS.has(key)) unknown.push(`metadata.${key}`);
  const metadata: ObjectMeta = { name: "" };
  for (const field of TEXT_FIELDS) {
    const value = source[field];
    if (value === undefined || value === null) continue;
    if (typeof value !== "string") throw wrongType(`metadata.${field}`, "string");
    metadata[field] = value;
  }
  for (const field of NUMBER_FIELDS) {
    const value = source[field];
    if (value === undefined || value === null) continue;
    if (typeof value !== "number" || !Number.isInteger(value)) throw wrongType(`metadata.${field}`, "int64");
    metadata[field] = value;
  }
  for (const field of MAP_FIELDS) {
    const value = source[field];
    if (value === undefined || value === null) continue;
    const texts = readTexts(value, `metadata.${field}`);
    if (Object.keys(texts).length > 0) metadata[field] = texts;
  }
  const owners = readList(source.ownerReferences, "metadata.ownerReferences").map(readOwner);
  if (owners.length > 0) metadata.ownerReferences = owners;
  const finalizers = readList(source.finalizers, "metadata.finalizers").map((value) => {
    if (typeof value !== "string") throw wrongType("metadata.finalizers", "string");
    return value;
  });
  if (finalizers.length > 0) metadata.finalizers = [...new Set(finalizers)];
  const managed = readList(source.managedFields, "metadata.managedFields");
  if (managed.length > 0) metadata.managedFields = managed.filter(isJsonObject);
  return metadata;
}

function readTexts(value: Json, field: string): Record<string, string> {
  if (!isJsonObject(value)) throw wrongType(field, "map[string]string");
  const texts: Record<string, string> = {};
  for (const key of Object.keys(value)) {
    const text = value[key];
    if (typeof text !== "string" && text !== null) throw wrongType(field, "string");
    texts[key] = text ?? "";
  }
  return texts;
}

function readList(value: Json | undefined, field: string): Json[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw wrongType(field, "[]");
  return value;
}

function readOwner(value: Json): OwnerReference {
  if (!isJsonObject(value)) throw wrongType("metadata.ownerReferences", "v1.OwnerReference");
  const text = (field: string) => {
    const found = value[field];
    return typeof found === "string" ? found : "";
  };
  const owner: OwnerReference = {
    apiVersion: text("apiVersion"),
    kind: text("kind"),
    name: text("name"),
    uid: text("uid"),
  };
  if (typeof value.controller === "boolean") owner.controller = value.controller;
  if (typeof value.blockOwnerDeletion === "boolean") owner.blockOwnerDeletion = value.blockOwnerDeletion;
  return owner;
}

function wrongType(field: string, goType: string): Error {
  return badRequest(`json: cannot unmarshal a value into Go struct field ObjectMeta.${field} of type ${goType}`);
}

const LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?";
const RULES = {
  subdomain: {
    pattern: new RegExp(`^${LABEL}(\\.${LABEL})*$`),
    length: 253,
    message:
      "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  },
  label: {
    pattern: new RegExp(`^${LABEL}$`),
    length: 63,
    message:
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')",
  },
  label1035: {
    pattern: /^[a-z]([-a-z0-9]*[a-z0-9])?$/,
    length: 63,
    message:
      "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
  },
  path: { pattern: /^(?!\.{1,2}$)[^/%]+$/, length: 253, message: "may not be '.' or '..', nor contain '/' or '%'" },
} as const;

const QUALIFIED_NAME = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const QUALIFIED_MESSAGE =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_MESSAGE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

/** Longest part of a label key, and longest label value, in characters. */
const LABEL_CHARACTERS = 63;

export function validateMetadata(object: KubeObject, strategy: Strategy): FieldProblem[] {
  const { metadata } = object;
  return [
    ...validateName(metadata.name, strategy),
    ...validateLabels(metadata.labels, "metadata.labels"),
    ...validateAnnotations(metadata.annotations),
    ...validateFinalizers(metadata.finalizers),
    ...validateOwners(metadata.ownerReferences),
  ];
}

function validateName(name: string, strategy: Strategy): FieldProblem[] {
  if (name === "") return [problem.required("metadata.name", "name or generateName is required")];
  const { pattern, length, message } = RULES[strategy.nameRule ?? "subdomain"];
  const problems: FieldProblem[] = [];
  if (name.length > length)
    problems.push(problem.invalid("metadata.name", name, `must be no more than ${length} bytes`));
  if (!pattern.test(name)) problems.push(problem.invalid("metadata.name", name, message));
  return problems;
}

export function validateLabels(labels: Record<string, string> | undefined, field: string): FieldProblem[] {
  const problems: FieldProblem[] = [];
  for (const [key, value] of Object.entries(labels ?? {})) {
    problems.push(...qualifiedName(key, field));
    if (value.length > LABEL_CHARACTERS) {
      problems.push(problem.invalid(field, value, `must be no more than ${LABEL_CHARACTERS} bytes`));
    } else if (value !== "" && !QUALIFIED_NAME.test(value)) {
      problems.push(problem.invalid(field, value, LABEL_VALUE_MESSAGE));
    }
  }
  return problems;
}

function validateAnnotations(annotations: Record<string, string> | undefined): FieldProblem[] {
  const problems: FieldProblem[] = [];
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations ?? {})) {
    problems.push(...qualifiedName(key.toLowerCase(), "metadata.annotations"));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes > LIMITS.annotationsBytes) problems.push(problem.tooLong("metadata.annotations", LIMITS.annotationsBytes));
  return problems;
}

function validateFinalizers(finalizers: string[] | undefined): FieldProblem[] {
  return (finalizers ?? []).flatMap((finalizer) => qualifiedName(finalizer, "metadata.finalizers"));
}

function qualifiedName(key: string, field: string): FieldProblem[] {
  const parts = key.split("/");
  const name = parts.at(-1) ?? "";
  if (parts.length > 2) {
    return [
      problem.invalid(
        field,
        key,
        `a qualified name must consist of an optional DNS subdomain prefix and '/', then a name`,
      ),
    ];
  }
  const [prefix] = parts;
  if (parts.length === 2 && (prefix === undefined || prefix === "" || !RULES.subdomain.pattern.test(prefix))) {
    return [problem.invalid(field, key, `prefix part ${RULES.subdomain.message}`)];
  }
  if (name === "") return [problem.invalid(field, key, "name part must be non-empty")];
  if (name.length > LABEL_CHARACTERS) {
    return [problem.invalid(field, key, `name part must be no more than ${LABEL_CHARACTERS} bytes`)];
  }
  return QUALIFIED_NAME.test(name) ? [] : [problem.invalid(field, key, QUALIFIED_MESSAGE)];
}

function validateOwners(owners: OwnerReference[] | undefined): FieldProblem[] {
  const problems: FieldProblem[] = [];
  let controllers = 0;
  for (const [index, owner] of (owners ?? []).entries()) {
    const field = `metadata.ownerReferences[${index}]`;
    for (const key of ["apiVersion", "kind", "name", "uid"] as const) {
      if (owner[key] === "") problems.push(problem.invalid(`${field}.${key}`, "", `${key} must not be empty`));
    }
    if (owner.controller) controllers += 1;
  }
  if (controllers > 1) {
    problems.push(
      problem.invalid("metadata.ownerReferences", clone(owners), "Only one reference can have Controller set to true"),
    );
  }
  return problems;
}

/** Letters and digits that cannot be misread or spell words, as in Kubernetes. */
const SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;
/** A generated name keeps room for its suffix. */
const GENERATED_PREFIX_CHARACTERS = 63 - SUFFIX_LENGTH;

export function generateName(prefix: string, next: () => number): string {
  let suffix = "";
  for (let index = 0; index < SUFFIX_LENGTH; index++) {
    suffix += SUFFIX_LETTERS[Math.floor(next() * SUFFIX_LETTERS.length)] ?? "x";
  }
  return prefix.slice(0, GENERATED_PREFIX_CHARACTERS) + suffix;
}
