import { isJsonObject, type JsonObject, timestamp } from "../../runtime/index.ts";
import { textAt } from "../store/values.ts";
import type { Authorizer, User } from "../types.ts";
import { StatusError } from "./status.ts";

export const SELF_SUBJECT_REVIEWS = "authentication.k8s.io/selfsubjectreviews";
export const SELF_SUBJECT_ACCESS_REVIEWS = "authorization.k8s.io/selfsubjectaccessreviews";

/** As Kubernetes' role system:basic-user: every user may ask for their own identity and their own rights. */
export function isSelfReview(resource: string, verb: string): boolean {
  return verb === "create" && (resource === "selfsubjectreviews" || resource === "selfsubjectaccessreviews");
}

/** The answer to "who am I": the server stores nothing. */
export function selfSubjectReview({ name, groups }: User, nowMs: number): JsonObject {
  return {
    kind: "SelfSubjectReview",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { creationTimestamp: timestamp(nowMs) },
    status: { userInfo: { username: name, groups: [...groups] } },
  };
}

/** The answer to "may I": the server stores nothing. Without an authorizer everything is allowed. */
export function selfSubjectAccessReview(
  user: User,
  authorizer: Authorizer | undefined,
  body: string | undefined,
): JsonObject {
  const spec = specOf(body);
  const attributes = isJsonObject(spec.resourceAttributes) ? spec.resourceAttributes : undefined;
  const path = isJsonObject(spec.nonResourceAttributes) ? spec.nonResourceAttributes : undefined;
  if ((attributes === undefined) === (path === undefined)) {
    throw new StatusError(
      422,
      "Invalid",
      "SelfSubjectAccessReview: spec needs exactly one of resourceAttributes and nonResourceAttributes",
    );
  }
  const asked = attributes ?? path ?? {};
  const at = (field: string) => textAt(asked, field) ?? "";
  const reason = authorizer?.({
    user,
    verb: at("verb"),
    path: at("path"),
    group: at("group"),
    version: at("version"),
    resource: at("resource"),
    subresource: at("subresource"),
    namespace: at("namespace"),
    name: at("name"),
  });
  const allowed = reason === undefined;
  return {
    kind: "SelfSubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: {},
    spec,
    status: { allowed, ...(reason && { reason }) },
  };
}

function specOf(body: string | undefined): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(body ?? "");
  } catch {
    throw new StatusError(400, "BadRequest", "the body is not JSON");
  }
  return isJsonObject(parsed) && isJsonObject(parsed.spec) ? parsed.spec : {};
}
