import type { Authorizer } from "../types.ts";
import { SUPERUSERS } from "./certificates.ts";

/** What one user or group may do. "*" in a list stands for all. */
export interface Grant {
  /** A user's name or a group's. */
  subject: string;
  verbs: readonly string[];
  /** Plurals, such as pods, with `/status` for a subresource; for paths that are no objects, the path. */
  resources: readonly string[];
  /** All namespaces if absent. */
  namespaces?: readonly string[];
}

/** Health and version are for probes, which have no credentials. */
export const PUBLIC_PATHS: readonly string[] = ["/healthz", "/livez", "/readyz", "/version"];

/** Discovery and documents: every known user may see what the server has, else kubectl cannot even say what is forbidden. */
const DOCUMENT_PATH = /^\/(?:api|apis|openapi|version|healthz|livez|readyz)?(?:\/|$)/;

/** system:masters may do everything; others what is granted. The simplest thing that can refuse: no roles, no bindings. */
export function authorizerOf(grants: readonly Grant[]): Authorizer {
  return ({ user, verb, resource, subresource, namespace, path }) => {
    if (user.groups.includes(SUPERUSERS)) return undefined;
    if (resource === "" && verb === "get" && DOCUMENT_PATH.test(path)) return undefined;
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
