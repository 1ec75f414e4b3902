import { isJsonObject, type Json, ownField } from "../../runtime/index.ts";
import type { DeleteOptions, PropagationPolicy } from "../store/deletion.ts";
import { parseJson } from "../store/values.ts";
import type { ServerLimits, ServerRequest } from "../types.ts";
import type { PatchRequest } from "./patches.ts";
import type { RequestTarget } from "./path.ts";
import { badRequest, StatusError, unsupportedMediaType } from "./status.ts";

/** The longest field manager name in Kubernetes, in characters. */
const MANAGER_CHARACTERS = 128;

/** The options of a write, from query and headers. */
export interface RequestOptions {
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  readonly warnings: string[];
  /** The body as JSON; a body in another format is refused. */
  body(limits: ServerLimits): Json;
  patch(): PatchRequest;
}

export function readOptions(request: ServerRequest, { query }: RequestTarget): RequestOptions {
  const explicitManager = query.get("fieldManager") ?? "";
  if (explicitManager.length > MANAGER_CHARACTERS) {
    throw badRequest(`fieldManager: Too long: may not be more than ${MANAGER_CHARACTERS} bytes`);
  }
  const agent = (request.headers["user-agent"] ?? "").split("/")[0] ?? "";
  return {
    dryRun: isDryRun(query.getAll("dryRun")),
    fieldManager: explicitManager || agent.slice(0, MANAGER_CHARACTERS) || "unknown",
    fieldValidation: fieldValidationOf(query.get("fieldValidation")),
    warnings: [],
    body: (limits) => readBody(request, limits),
    patch: () => ({
      contentType: contentTypeOf(request),
      body: request.body ?? "",
      force: isTrue(query.get("force")),
      explicitManager,
    }),
  };
}

const isTrue = (text: string | null) => text === "true" || text === "1";

function contentTypeOf(request: ServerRequest): string {
  return (request.headers["content-type"] ?? "").split(";")[0]?.trim().toLowerCase() ?? "";
}

function readBody(request: ServerRequest, limits: ServerLimits): Json {
  const type = contentTypeOf(request);
  if (type !== "" && type !== "application/json" && type !== "text/plain") {
    throw unsupportedMediaType(
      `the body of the request was in an unknown format - accepted media types include: application/json (got ${type})`,
    );
  }
  return parseJson(request.body ?? "", limits.jsonDepth);
}

function isDryRun(values: readonly string[]): boolean {
  const unknown = values.find((value) => value !== "All" && value !== "");
  if (unknown !== undefined) {
    throw new StatusError(
      422,
      "Invalid",
      `the dryRun option is invalid: Unsupported value: ${JSON.stringify(unknown)}: supported values: "All"`,
    );
  }
  return values.includes("All");
}

function fieldValidationOf(text: string | null): RequestOptions["fieldValidation"] {
  if (text === null || text === "") return "Warn";
  if (text === "Strict" || text === "Warn" || text === "Ignore") return text;
  throw new StatusError(
    422,
    "Invalid",
    `fieldValidation: Unsupported value: ${JSON.stringify(text)}: supported values: "Ignore", "Strict", "Warn"`,
  );
}

const POLICIES: readonly PropagationPolicy[] = ["Background", "Foreground", "Orphan"];

/** Deletion options are in the body, in the query, or in both; the body takes precedence. */
export function readDeleteOptions(request: ServerRequest, target: RequestTarget, limits: ServerLimits): DeleteOptions {
  const parsed = (request.body ?? "") === "" ? {} : readBody(request, limits);
  if (!isJsonObject(parsed)) throw badRequest("the body of a delete request must be DeleteOptions");
  const { query } = target;
  const kind = ownField(parsed, "kind");
  if (kind !== undefined && kind !== "DeleteOptions")
    throw badRequest(`DeleteOptions are expected, not ${JSON.stringify(kind)}`);
  const preconditions = ownField(parsed, "preconditions");
  const dryRun = ownField(parsed, "dryRun");
  const policy = ownField(parsed, "propagationPolicy") ?? query.get("propagationPolicy") ?? undefined;
  const known = POLICIES.find((each) => each === policy);
  if (policy !== undefined && policy !== null && policy !== "" && !known) {
    throw badRequest(
      `invalid propagationPolicy ${JSON.stringify(policy)}: supported values: "Background", "Foreground", "Orphan"`,
    );
  }
  const orphan = ownField(parsed, "orphanDependents");
  const grace = ownField(parsed, "gracePeriodSeconds") ?? query.get("gracePeriodSeconds") ?? undefined;
  return {
    dryRun: isDryRun([...query.getAll("dryRun"), ...(Array.isArray(dryRun) ? dryRun.map(String) : [])]),
    propagationPolicy: known ?? (orphan === true ? "Orphan" : orphan === false ? "Background" : undefined),
    gracePeriodSeconds: grace === undefined || grace === null ? undefined : seconds(grace),
    preconditions: isJsonObject(preconditions)
      ? {
          uid: textOf(ownField(preconditions, "uid")),
          resourceVersion: textOf(ownField(preconditions, "resourceVersion")),
        }
      : {},
  };
}

function seconds(value: Json): number {
  const number = typeof value === "string" && /^-?\d{1,15}$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isSafeInteger(number)) {
    throw badRequest("gracePeriodSeconds must be a whole number of seconds");
  }
  return number;
}

function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
