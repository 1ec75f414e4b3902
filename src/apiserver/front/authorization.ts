import { isSelfReview } from "../request/reviews.ts";
import type { Authorizer } from "../types.ts";
import { SUPERUSERS } from "./certificates.ts";

/** The rights of one user or group. "*" in a list means all. */
export interface Grant {
  /** A user's name or a group's. */
  readonly subject: string;
  readonly verbs: readonly string[];
  /** Plurals, such as pods, with `/status` for a subresource; for non-object paths, the path. */
  readonly resources: readonly string[];
  /** All namespaces if absent. */
  readonly namespaces?: readonly string[];
}

/** Probes read health and version without credentials. */
export const PUBLIC_PATHS: readonly string[] = ["/healthz", "/livez", "/readyz", "/version"];

/**
 * Discovery and documents: every known user may read what the server serves; otherwise kubectl cannot even report what
 * is forbidden.
 */
const DOCUMENT_PATH = /^\/(?:api|apis|openapi|version|healthz|livez|readyz)?(?:\/|$)/;

/**
 * system:masters may do everything; others what is granted. The simplest authorizer that can refuse: no roles, no
 * bindings.
 */
export function authorizerOf(grants: readonly Grant[]): Authorizer {
  return ({ user, verb, resource, subresource, namespace, path }) => {
    if (user.groups.includes(SUPERUSERS)) return undefined;
    if (resource === "" && verb === "get" && DOCUMENT_PATH.test(path)) return undefined;
    if (isSelfReview(resource, verb)) return undefined;
    const asked = resource === "" ? path : subresource === "" ? resource : `${resource}/${subresource}`;
    const granted = grants.some(
      (grant) =>
        (grant.subject === user.name || user.groups.includes(grant.subject)) &&
        names(grant.verbs, verb) &&
        names(grant.resources, asked) &&
        (grant.namespaces === undefined || names(grant.namespaces, namespace)),
    );
    return granted ? undefined : "no grant allows it; ask for one or use a member of system:masters";
  };
}

function names(list: readonly string[], wanted: string): boolean {
  return list.includes("*") || list.includes(wanted);
}
