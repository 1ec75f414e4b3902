import type { HttpResponse, JsonObject } from "../../runtime/index.ts";
import { qualifiedKind, qualifiedResource } from "../kinds/registry.ts";
import type { FieldProblem } from "../types.ts";

interface Named {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
}

interface StatusCause extends JsonObject {
  readonly reason?: string;
  readonly message?: string;
  readonly field?: string;
}

interface StatusDetails extends JsonObject {
  name?: string;
  readonly group?: string;
  readonly kind?: string;
  uid?: string;
  readonly causes?: StatusCause[];
  readonly retryAfterSeconds?: number;
}

/** A failed request, as the Status that Kubernetes would answer with, in the wording that kubectl users know. */
export class StatusError extends Error {
  override readonly name = "StatusError";
  readonly code: number;
  readonly reason: string;
  readonly details: StatusDetails | undefined;

  constructor(code: number, reason: string, message: string, details?: StatusDetails) {
    super(message);
    this.code = code;
    this.reason = reason;
    this.details = details;
  }

  /** The Status object; watches send it inside an ERROR event. */
  status(): JsonObject {
    return {
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: this.message,
      reason: this.reason,
      ...(this.details && { details: this.details }),
      code: this.code,
    };
  }
}

export function jsonResponse(status: number, body: string, headers: Record<string, string> = {}): HttpResponse {
  return { status, headers: { "content-type": "application/json", ...headers }, body };
}

export function errorResponse(error: StatusError): HttpResponse {
  const retryAfter = error.details?.retryAfterSeconds;
  return jsonResponse(
    error.code,
    JSON.stringify(error.status()),
    retryAfter === undefined ? {} : { "retry-after": String(retryAfter) },
  );
}

export function successStatus(definition: Named, name: string, uid: string | undefined): JsonObject {
  return {
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Success",
    details: {
      name,
      ...(definition.group && { group: definition.group }),
      kind: definition.plural,
      ...(uid && { uid }),
    },
  };
}

const detailsOf = (definition: Named, name: string): StatusDetails => ({
  name,
  ...(definition.group && { group: definition.group }),
  kind: definition.plural,
});

export function notFound(definition: Named, name: string): StatusError {
  return new StatusError(
    404,
    "NotFound",
    `${qualifiedResource(definition)} "${name}" not found`,
    detailsOf(definition, name),
  );
}

/** No such path or kind. */
export function noSuchResource(): StatusError {
  return new StatusError(404, "NotFound", "the server could not find the requested resource", {});
}

export function alreadyExists(definition: Named, name: string): StatusError {
  return new StatusError(
    409,
    "AlreadyExists",
    `${qualifiedResource(definition)} "${name}" already exists`,
    detailsOf(definition, name),
  );
}

export function conflict(definition: Named, name: string, why: string): StatusError {
  return new StatusError(
    409,
    "Conflict",
    `Operation cannot be fulfilled on ${qualifiedResource(definition)} "${name}": ${why}`,
    detailsOf(definition, name),
  );
}

export const MODIFIED = "the object has been modified; please apply your changes to the latest version and try again";

export function badRequest(message: string): StatusError {
  return new StatusError(400, "BadRequest", message);
}

export function forbidden(definition: Named, name: string, why: string): StatusError {
  return new StatusError(
    403,
    "Forbidden",
    `${qualifiedResource(definition)} "${name}" is forbidden: ${why}`,
    detailsOf(definition, name),
  );
}

export function invalid(definition: Named, name: string, problems: readonly FieldProblem[]): StatusError {
  const sentences = problems.map(({ field, message }) => `${field}: ${message}`);
  const text = sentences.length === 1 ? sentences[0] : `[${sentences.join(", ")}]`;
  return new StatusError(422, "Invalid", `${qualifiedKind(definition)} "${name}" is invalid: ${text}`, {
    name,
    ...(definition.group && { group: definition.group }),
    kind: definition.kind,
    causes: problems.map(({ field, reason, message }) => ({ reason, message, field })),
  });
}

export function expired(message: string): StatusError {
  return new StatusError(410, "Expired", message);
}

export function tooOldResourceVersion(asked: number, oldest: number): StatusError {
  return expired(`too old resource version: ${asked} (${oldest})`);
}

export function methodNotAllowed(): StatusError {
  return new StatusError(
    405,
    "MethodNotAllowed",
    "the server does not allow this method on the requested resource",
    {},
  );
}

export function unsupportedMediaType(message: string): StatusError {
  return new StatusError(415, "UnsupportedMediaType", message);
}

/** Builders of Kubernetes' field errors. */
export const problem = {
  invalid: (field: string, value: unknown, detail: string): FieldProblem => ({
    field,
    reason: "FieldValueInvalid",
    message: `Invalid value: ${quote(value)}: ${detail}`,
  }),
  required: (field: string, detail = ""): FieldProblem => ({
    field,
    reason: "FieldValueRequired",
    message: detail === "" ? "Required value" : `Required value: ${detail}`,
  }),
  forbidden: (field: string, detail: string): FieldProblem => ({
    field,
    reason: "FieldValueForbidden",
    message: `Forbidden: ${detail}`,
  }),
  notSupported: (field: string, value: unknown, supported: readonly string[]): FieldProblem => ({
    field,
    reason: "FieldValueNotSupported",
    message: `Unsupported value: ${quote(value)}: supported values: ${supported.map(quote).join(", ")}`,
  }),
  tooLong: (field: string, limitBytes: number): FieldProblem => ({
    field,
    reason: "FieldValueTooLong",
    message: `Too long: may not be more than ${limitBytes} bytes`,
  }),
};

function quote(value: unknown): string {
  return typeof value === "string" || typeof value === "number" || typeof value === "boolean"
    ? JSON.stringify(value)
    : value === undefined
      ? "null"
      : JSON.stringify(value);
}
