import type { HttpRequest } from "../../runtime/index.ts";
import { qualifiedResource } from "../kinds/registry.ts";
import type { Authorizer, User } from "../types.ts";
import type { RequestTarget, ResourcePath } from "./path.ts";
import { StatusError } from "./status.ts";

/** Asks the authorizer; throws 403 in Kubernetes' wording. A path that is not an object's has an empty plural. */
export function authorize(
  authorizer: Authorizer,
  user: User,
  method: HttpRequest["method"],
  target: RequestTarget,
  path: ResourcePath,
): void {
  const { group, version, plural, subresource, name } = path;
  // A Namespace counts as inside itself, so that a Role in it can grant rights on it.
  const namespace = group === "" && plural === "namespaces" ? name : path.namespace;
  const verb = verbOf(method, target, path);
  const attributes = { user, verb, path: target.path, group, version, resource: plural, subresource, namespace, name };
  const reason = authorizer(attributes);
  if (reason === undefined) return;
  const why = reason === "" ? "" : `: ${reason}`;
  const who = `User ${JSON.stringify(user.name)} cannot ${verb}`;
  if (plural === "") {
    throw new StatusError(403, "Forbidden", `forbidden: ${who} path ${JSON.stringify(target.path)}${why}`, {});
  }
  const subject = qualifiedResource({ group, plural }) + (name === "" ? "" : ` ${JSON.stringify(name)}`);
  const resource = subresource === "" ? plural : `${plural}/${subresource}`;
  const what = `resource ${JSON.stringify(resource)} in API group ${JSON.stringify(group)}`;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${JSON.stringify(namespace)}`;
  throw new StatusError(403, "Forbidden", `${subject} is forbidden: ${who} ${what} ${where}${why}`, {
    ...(name && { name }),
    ...(group && { group }),
    kind: plural,
  });
}

function verbOf(method: HttpRequest["method"], { query }: RequestTarget, path: ResourcePath): string {
  const isCollection = path.name === "";
  switch (method) {
    case "GET":
      if (path.plural === "" || path.subresource !== "") return "get";
      if (query.get("watch") === "true" || query.get("watch") === "1") return "watch";
      return isCollection ? "list" : "get";
    case "POST":
      return "create";
    case "PUT":
      return "update";
    case "PATCH":
      return "patch";
    case "DELETE":
      return isCollection ? "deletecollection" : "delete";
  }
}
