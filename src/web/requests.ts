/** What a page asks for, checked. Everything else is refused. Pure. */
import { isJsonObject, type JsonObject } from "../runtime/index.ts";
import {
  ACTIONS,
  type Act,
  type AppAddress,
  type ApplicationName,
  type AppType,
  CLUSTER_ACTIONS,
  type ClusterAct,
  type LogsOf,
  type PodsOf,
  type RecordOf,
  type Seen,
  type Topic,
  TYPES,
} from "./types.ts";
import { Refused } from "./viewer.ts";

/** As Kubernetes names objects. */
const NAME = /^[a-z0-9](?:[-a-z0-9.]{0,251}[a-z0-9])?$/;
const REVISION = /^[A-Za-z0-9](?:[-A-Za-z0-9._]{0,251}[A-Za-z0-9])?$/;
const KIND = /^[A-Z][A-Za-z0-9]{0,62}$/;
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
    const at = { namespace: named("namespace", namespace), name: named("name", query.get("name")) };
    return { kind: "application", type: typed(query.get("type") ?? undefined), ...at };
  }
  return { kind: "overview", ...(namespace !== "" && { namespace: named("namespace", namespace) }) };
}

/** Which pod's log. */
export function readLogsOf(query: URLSearchParams): LogsOf {
  return {
    namespace: named("namespace", query.get("namespace")),
    cluster: named("cluster", query.get("cluster")),
    pod: named("pod", query.get("pod")),
  };
}

/** Which application's pods. Without a type: a CrossClusterStatefulset's. */
export function readApplicationName(query: URLSearchParams): ApplicationName {
  return { type: typed(query.get("type") ?? undefined), ...readAddress(query) };
}

function readAddress(query: URLSearchParams): AppAddress {
  return { namespace: named("namespace", query.get("namespace")), name: named("name", query.get("name")) };
}

/** Which workload's pods. */
export function readPodsOf(query: URLSearchParams): PodsOf {
  const kind = query.get("kind") ?? "";
  if (!KIND.test(kind)) throw new Refused(400, "kind must be the kind of a Kubernetes object");
  const group = query.get("group");
  return {
    ...readAddress(query),
    cluster: named("cluster", query.get("cluster")),
    kind,
    ...(group !== null && { group: group === "" ? "" : named("group", group) }),
  };
}

/** Which rollout. */
export function readRecordOf(query: URLSearchParams): RecordOf {
  const revision = query.get("revision") ?? "";
  if (!REVISION.test(revision)) throw new Refused(400, "revision must be the name of a revision");
  return { ...readApplicationName(query), revision };
}

export function readAct(body: JsonObject): Act | ClusterAct {
  const onCluster = CLUSTER_ACTIONS.find((one) => one === body.action);
  if (onCluster !== undefined) {
    return { action: onCluster, cluster: named("cluster", body.cluster), uid: uidIn(body.uid) };
  }
  const action = ACTIONS.find((one) => one === body.action);
  if (action === undefined)
    throw new Refused(400, `action must be one of ${[...ACTIONS, ...CLUSTER_ACTIONS].join(", ")}`);
  const { toRevision, comment } = body;
  if (toRevision !== undefined && (typeof toRevision !== "string" || !REVISION.test(toRevision))) {
    throw new Refused(400, "toRevision must be the name of a revision");
  }
  if (comment !== undefined && (typeof comment !== "string" || comment.length > MAX_COMMENT_CHARS)) {
    throw new Refused(400, `comment must be text of at most ${MAX_COMMENT_CHARS} characters`);
  }
  return {
    action,
    type: typed(body.type),
    namespace: named("namespace", body.namespace),
    name: named("name", body.name),
    seen: readSeen(body.seen),
    ...(toRevision !== undefined && { toRevision }),
    ...(comment !== undefined && comment !== "" && { comment }),
  };
}

/** An act without it would be on whatever is there now: an old page has to be loaded again. */
function readSeen(value: unknown): Seen {
  if (!isJsonObject(value)) throw new Refused(400, "seen must say what the person saw; load the page again");
  const { uid, revision, from, wave, past, attempt } = value;
  const seen = {
    ...given("revision", revision, isRevision),
    ...given("from", from, isRevision),
    ...given("wave", wave, isNumber),
    ...given("attempt", attempt, isNumber),
  };
  if (!Array.isArray(past)) throw new Refused(400, "seen.past must be a list");
  return { uid: uidIn(uid), ...seen, past: HOLDS.filter((one) => past.includes(one)) };
}

const HOLDS = ["soak", "window"] as const;
const UID = /^[-A-Za-z0-9._:]{1,128}$/;

function uidIn(value: unknown): string {
  if (typeof value === "string" && UID.test(value)) return value;
  throw new Refused(400, "uid must be that of the object that the person saw; load the page again");
}

function given<K extends string, T>(key: K, value: unknown, is: (value: unknown) => value is T): { [key in K]?: T } {
  if (value === undefined) return {};
  if (!is(value)) throw new Refused(400, `seen.${key} is not valid; load the page again`);
  // A computed key widens the type.
  return { [key]: value } as { [key in K]?: T };
}

function isRevision(value: unknown): value is string {
  return typeof value === "string" && REVISION.test(value);
}

function isNumber(value: unknown): value is number {
  return Number.isSafeInteger(value);
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

function typed(value: unknown): AppType {
  if (value === undefined) return "ccs";
  const type = TYPES.find((one) => one === value);
  if (type === undefined) throw new Refused(400, `type must be one of ${TYPES.join(", ")}`);
  return type;
}

function named(field: string, value: unknown): string {
  if (typeof value === "string" && NAME.test(value)) return value;
  throw new Refused(400, `${field} must be the name of a Kubernetes object`);
}
