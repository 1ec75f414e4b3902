import { isJsonObject } from "../runtime/index.ts";

/** The request, for messages: method, path and object, never a body or a header. */
export interface RequestContext {
  readonly method: string;
  readonly path: string;
  /** For example `StatefulSet default/db`. */
  readonly object: string;
}

/** Why the server refused a field, from `details.causes`. */
export interface FieldCause {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

/** The parts of a Kubernetes Status that say what went wrong. */
export interface StatusInfo {
  readonly code: number;
  readonly reason: string;
  readonly message: string;
  readonly causes: readonly FieldCause[];
  readonly retryAfterMs: number | undefined;
}

/** Thrown before anything is sent: the request itself is invalid. */
export class InvalidRequestError extends Error {
  override readonly name: string = "InvalidRequestError";
}

/** Base class of all errors of failed requests. */
export abstract class KubeError extends Error {
  readonly request: RequestContext;

  constructor(request: RequestContext, what: string, options?: ErrorOptions) {
    super(`${request.method} ${request.object} (${request.path}): ${what}`, options);
    this.request = request;
  }
}

/** Base class of all unsuccessful answers. */
export abstract class StatusError extends KubeError {
  readonly status: StatusInfo;

  constructor(request: RequestContext, status: StatusInfo) {
    super(request, `${status.message || status.reason || "no message"} (${status.code})`);
    this.status = status;
  }
}

/** Thrown when the object, or its kind, does not exist. */
export class NotFoundError extends StatusError {
  override readonly name = "NotFoundError";
}
/**
 * Thrown when the object changed since it was read, or a precondition does not hold. Read it again, then decide again.
 */
export class ConflictError extends StatusError {
  override readonly name = "ConflictError";
}
/** Thrown when an object of that name already exists. */
export class AlreadyExistsError extends StatusError {
  override readonly name = "AlreadyExistsError";
}
/** Thrown when the credentials are missing, wrong or expired. */
export class UnauthorizedError extends StatusError {
  override readonly name = "UnauthorizedError";
}
/** Thrown when the credentials do not allow this; the message names the missing verb and resource. */
export class ForbiddenError extends StatusError {
  override readonly name = "ForbiddenError";
}
/** Thrown when the server refuses the object's content. `causes` names the fields. */
export class InvalidObjectError extends StatusError {
  override readonly name = "InvalidObjectError";
  get causes(): readonly FieldCause[] {
    return this.status.causes;
  }
}
/** Thrown when a resourceVersion or a continue token is too old: list again. */
export class ExpiredError extends StatusError {
  override readonly name = "ExpiredError";
}
/** Thrown when this server has not yet seen the requested resourceVersion: its cache lags behind another server's. */
export class NotYetVisibleError extends StatusError {
  override readonly name = "NotYetVisibleError";
}
/**
 * Thrown when the server still refuses because of load after every retry that fits. The request was not carried out.
 */
export class TooManyRequestsError extends StatusError {
  override readonly name = "TooManyRequestsError";
}
/** Thrown when the server calls the request malformed, and for every 4xx without its own class. */
export class BadRequestError extends StatusError {
  override readonly name = "BadRequestError";
}
/** Thrown when the server failed (5xx). For a write see WriteOutcomeUnknownError. */
export class ServerError extends StatusError {
  override readonly name = "ServerError";
}

/** Thrown when no complete answer arrived within the request's timeout. */
export class RequestTimeoutError extends KubeError {
  override readonly name = "RequestTimeoutError";
  readonly timeoutMs: number;
  constructor(request: RequestContext, timeoutMs: number, options?: ErrorOptions) {
    super(request, `no answer within ${timeoutMs} ms`, options);
    this.timeoutMs = timeoutMs;
  }
}

/** Thrown when the server could not be reached, or the connection broke while reading. */
export class UnreachableError extends KubeError {
  override readonly name = "UnreachableError";
}

/** Thrown when the answer is not what a Kubernetes API server sends: another service, a proxy's error page. */
export class BadResponseError extends KubeError {
  override readonly name = "BadResponseError";
}

/** Thrown when a write may or may not have been applied. Read the object before you decide; `cause` has the reason. */
export class WriteOutcomeUnknownError extends KubeError {
  override readonly name = "WriteOutcomeUnknownError";
  constructor(request: RequestContext, cause: Error) {
    super(request, `it is not known whether the write was applied: ${cause.message}`, { cause });
  }
}

/** Thrown when the server does not serve a kind. */
export class UnknownKindError extends Error {
  override readonly name = "UnknownKindError";
  readonly apiVersion: string;
  readonly kind: string;
  constructor(apiVersion: string, kind: string, options?: ErrorOptions) {
    super(
      `the server does not serve ${kind} of ${apiVersion}: install its CustomResourceDefinition, or correct apiVersion and kind`,
      options,
    );
    this.apiVersion = apiVersion;
    this.kind = kind;
  }
}

/** The error for an unsuccessful answer. */
export function statusError(request: RequestContext, status: StatusInfo): StatusError {
  const { code, reason } = status;
  if (reason === "AlreadyExists") return new AlreadyExistsError(request, status);
  if (reason === "Expired" || reason === "Gone" || code === 410) return new ExpiredError(request, status);
  if (isTooLargeVersion(status)) return new NotYetVisibleError(request, status);
  switch (code) {
    case 401:
      return new UnauthorizedError(request, status);
    case 403:
      return new ForbiddenError(request, status);
    case 404:
      return new NotFoundError(request, status);
    case 409:
      return new ConflictError(request, status);
    case 422:
      return new InvalidObjectError(request, status);
    case 429:
      return new TooManyRequestsError(request, status);
    default:
      return code >= 500 ? new ServerError(request, status) : new BadRequestError(request, status);
  }
}

function isTooLargeVersion(status: StatusInfo): boolean {
  return status.causes.some((cause) => cause.reason === "ResourceVersionTooLarge");
}

/** Other servers' error pages are cut to this length in messages. */
const MAX_FOREIGN_TEXT = 200;

/** Reads a Status from an answer's text; any other text (a proxy's page) becomes a Status with that text as message. */
export function readStatus(code: number, text: string): StatusInfo {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isJsonObject(parsed) && parsed.kind === "Status") return statusInfo(parsed, code);
  } catch {
    // Not JSON: a proxy answered, and its text is the best information.
  }
  return { code, reason: "", message: text.trim().slice(0, MAX_FOREIGN_TEXT), causes: [], retryAfterMs: undefined };
}

/** Reads a parsed Status object, also the one inside a watch's ERROR event. */
export function statusInfo(status: unknown, fallbackCode: number): StatusInfo {
  if (!isJsonObject(status))
    return { code: fallbackCode, reason: "", message: "", causes: [], retryAfterMs: undefined };
  const details = isJsonObject(status.details) ? status.details : {};
  const causes = Array.isArray(details.causes) ? details.causes.filter(isJsonObject) : [];
  const seconds = details.retryAfterSeconds;
  return {
    code: typeof status.code === "number" && status.code >= 400 ? status.code : fallbackCode,
    reason: text(status.reason),
    message: text(status.message),
    causes: causes.map((cause) => ({
      field: text(cause.field),
      reason: text(cause.reason),
      message: text(cause.message),
    })),
    retryAfterMs: typeof seconds === "number" && seconds > 0 ? seconds * 1000 : undefined,
  };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
