import { type JsonObject, timestamp } from "../../runtime/index.ts";
import type { User } from "../types.ts";

export const SELF_SUBJECT_REVIEWS = "authentication.k8s.io/selfsubjectreviews";

/** The answer to "who am I": the server stores nothing. */
export function selfSubjectReview({ name, groups }: User, nowMs: number): JsonObject {
  return {
    kind: "SelfSubjectReview",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { creationTimestamp: timestamp(nowMs) },
    status: { userInfo: { username: name, groups: [...groups] } },
  };
}
