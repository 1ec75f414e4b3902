import { type JsonObject, timestamp } from "../../runtime/index.ts";
import { objectAt, textAt } from "../store/values.ts";
import type { Authorizer, User } from "../types.ts";

export const SELF_SUBJECT_REVIEWS = "authentication.k8s.io/selfsubjectreviews";

export const SELF_SUBJECT_ACCESS_REVIEWS = "authorization.k8s.io/selfsubjectaccessreviews";

/** The answer to "may I": what `kubectl auth can-i` asks. Without an authorizer, every user may do everything. */
export function selfSubjectAccessReview(
  user: User,
  asked: JsonObject,
  authorizer: Authorizer | undefined,
  nowMs: number,
): JsonObject {
  const what = objectAt(asked, "spec", "resourceAttributes");
  const field = (name: string) => textAt(what, name) ?? "";
  const refusal = authorizer?.({
    user,
    verb: field("verb") || (textAt(asked, "spec", "nonResourceAttributes", "verb") ?? ""),
    path: textAt(asked, "spec", "nonResourceAttributes", "path") ?? "",
    group: field("group"),
    version: field("version"),
    resource: field("resource"),
    subresource: field("subresource"),
    namespace: field("namespace"),
    name: field("name"),
  });
  return {
    ...asked,
    kind: "SelfSubjectAccessReview",
    apiVersion: "authorization.k8s.io/v1",
    metadata: { creationTimestamp: timestamp(nowMs) },
    status: { allowed: refusal === undefined, ...(refusal && { reason: refusal }) },
  };
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
