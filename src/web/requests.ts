/** What a page asks for, checked. Everything else is refused. Pure. */
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import { ACTIONS, type Act, type Topic } from "./types.ts";
import { Refused } from "./viewer.ts";

/** As Kubernetes names objects. */
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
const REVISION = /^[A-Za-z0-9](?:[-A-Za-z0-9._]{0,251}[A-Za-z0-9])?$/;
const MAX_COMMENT_CHARS = 1_000;
/** Larger than any token that an API server issues; header limits are near. */
const MAX_TOKEN_CHARS = 16_000;

export function readJson(text: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    throw new Refused(400, "the body is not JSON");
  }
  if (!isJsonObject(parsed)) throw new Refused(400, "the body is not a JSON object");
  return parsed;
}

export function readTopic(path: string, query: URLSearchParams): Topic {
  const namespace = query.get("namespace") ?? "";
  if (path === "/api/live/application") {
    return { kind: "application", namespace: named("namespace", namespace), name: named("name", query.get("name")) };
  }
  return { kind: "overview", ...(namespace !== "" && { namespace: named("namespace", namespace) }) };
}

export function readAct(body: JsonObject): Act {
  const action = ACTIONS.find((one) => one === body.action);
  if (action === undefined) throw new Refused(400, `action must be one of ${ACTIONS.join(", ")}`);
  const { toRevision, comment } = body;
  if (toRevision !== undefined && (typeof toRevision !== "string" || !REVISION.test(toRevision))) {
    throw new Refused(400, "toRevision must be the name of a revision");
  }
  if (comment !== undefined && (typeof comment !== "string" || comment.length > MAX_COMMENT_CHARS)) {
    throw new Refused(400, `comment must be text of at most ${MAX_COMMENT_CHARS} characters`);
  }
  return {
    action,
    namespace: named("namespace", body.namespace),
    name: named("name", body.name),
    ...(toRevision !== undefined && { toRevision }),
    ...(comment !== undefined && comment !== "" && { comment }),
  };
}

export type Credentials =
  | { readonly kind: "token"; readonly token: string }
  | { readonly kind: "link"; readonly secret: string };

export function readCredentials(body: JsonObject): Credentials {
  if (typeof body.link === "string" && body.link !== "") return { kind: "link", secret: body.link };
  const token = typeof body.token === "string" ? body.token.trim().replace(/^Bearer\s+/i, "") : "";
  if (token === "") throw new Refused(400, "enter a bearer token of the hub");
  if (token.length > MAX_TOKEN_CHARS || !/^[\x21-\x7e]+$/.test(token)) {
    throw new Refused(400, "this is not a bearer token: it has spaces or other characters that no token has");
  }
  return { kind: "token", token };
}

function named(field: string, value: unknown): string {
  if (typeof value === "string" && NAME.test(value)) return value;
  throw new Refused(400, `${field} must be the name of a Kubernetes object`);
}
