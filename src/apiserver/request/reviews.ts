import { isJsonObject, type Json, type JsonObject, timestamp } from "../../runtime/index.ts";
import { listAt, objectAt, textAt } from "../store/values.ts";
import type { Authorizer, User } from "../types.ts";

const SELF_SUBJECT_REVIEWS = "authentication.k8s.io/selfsubjectreviews";
const SUBJECT_ACCESS_REVIEWS = "authorization.k8s.io/subjectaccessreviews";

export function isReview(resource: string): boolean {
  return resource === SELF_SUBJECT_REVIEWS || resource === SUBJECT_ACCESS_REVIEWS;
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
  const review: JsonObject = isJsonObject(asked) ? asked : {};
  const spec = objectAt(review, "spec") ?? {};
  const attributes = objectAt(spec, "resourceAttributes") ?? {};
  const groups = listAt(spec, "groups").filter((group) => typeof group === "string");
  const reason = authorizer?.({
    user: { name: textAt(spec, "user") ?? "", groups },
    verb: textAt(attributes, "verb") ?? "",
    path: "",
    group: textAt(attributes, "group") ?? "",
    version: textAt(attributes, "version") ?? "",
    resource: textAt(attributes, "resource") ?? "",
    subresource: textAt(attributes, "subresource") ?? "",
    namespace: textAt(attributes, "namespace") ?? "",
    name: textAt(attributes, "name") ?? "",
  });
  const status = { allowed: reason === undefined, ...(reason && { reason }) };
  return { kind: "SubjectAccessReview", apiVersion: "authorization.k8s.io/v1", metadata, spec, status };
}
