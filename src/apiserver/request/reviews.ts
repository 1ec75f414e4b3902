import { isJsonObject, type Json, type JsonObject, timestamp } from "../../runtime/index.ts";
import { listAt, objectAt, textAt } from "../store/values.ts";
import type { Authorizer, User } from "../types.ts";
import { StatusError } from "./status.ts";

const SELF_SUBJECT_REVIEWS = "authentication.k8s.io/selfsubjectreviews";
const SELF_SUBJECT_ACCESS_REVIEWS = "authorization.k8s.io/selfsubjectaccessreviews";
const SUBJECT_ACCESS_REVIEWS = "authorization.k8s.io/subjectaccessreviews";

/** As Kubernetes' role system:basic-user: every user may ask for their own identity and their own rights. */
export function isSelfReview(resource: string, verb: string): boolean {
  return verb === "create" && (resource === "selfsubjectreviews" || resource === "selfsubjectaccessreviews");
}

export function isReview(resource: string): boolean {
  return [SELF_SUBJECT_REVIEWS, SELF_SUBJECT_ACCESS_REVIEWS, SUBJECT_ACCESS_REVIEWS].includes(resource);
}

interface Asking {
  readonly user: User;
  readonly nowMs: number;
  /** Absent: everything is allowed. */
  readonly authorizer: Authorizer | undefined;
}

/** The answer to a question that is asked by creating an object: the server stores nothing. */
export function answerReview(resource: string, body: () => Json, { user, nowMs, authorizer }: Asking): JsonObject {
  const metadata = { creationTimestamp: timestamp(nowMs) };
  if (resource === SELF_SUBJECT_REVIEWS) {
    const userInfo = { username: user.name, groups: [...user.groups] };
    return { kind: "SelfSubjectReview", apiVersion: "authentication.k8s.io/v1", metadata, status: { userInfo } };
  }
  const asked = body();
  const spec = (isJsonObject(asked) ? objectAt(asked, "spec") : undefined) ?? {};
  const isOwn = resource === SELF_SUBJECT_ACCESS_REVIEWS;
  const reason = authorizer?.(questionOf(spec, isOwn ? user : subjectOf(spec)));
  return {
    kind: isOwn ? "SelfSubjectAccessReview" : "SubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata,
    spec,
    status: { allowed: reason === undefined, ...(reason && { reason }) },
  };
}

function subjectOf(spec: JsonObject): User {
  const groups = listAt(spec, "groups").filter((group) => typeof group === "string");
  return { name: textAt(spec, "user") ?? "", groups };
}

function questionOf(spec: JsonObject, user: User): Parameters<Authorizer>[0] {
  const isOfResource = isJsonObject(spec.resourceAttributes);
  if (isOfResource === isJsonObject(spec.nonResourceAttributes)) {
    const message = "spec needs exactly one of resourceAttributes and nonResourceAttributes";
    throw new StatusError(422, "Invalid", message);
  }
  const attributes = objectAt(spec, "resourceAttributes") ?? {};
  const field = (name: string) => textAt(attributes, name) ?? "";
  return {
    user,
    verb: field("verb") || (textAt(spec, "nonResourceAttributes", "verb") ?? ""),
    path: textAt(spec, "nonResourceAttributes", "path") ?? "",
    group: field("group"),
    version: field("version"),
    resource: field("resource"),
    subresource: field("subresource"),
    namespace: field("namespace"),
    name: field("name"),
  };
}
