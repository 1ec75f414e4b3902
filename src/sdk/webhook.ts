import jsonpatch from "fast-json-patch";
import { isJsonObject, type Json, type JsonObject, LIMITS } from "../runtime/index.ts";

export interface DependencyReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name?: string;
  readonly labelSelector?: JsonObject;
}

export interface StatusItem {
  readonly clusterName: string;
  readonly status?: Json;
  readonly applied?: boolean;
  readonly appliedMessage?: string;
  readonly health?: string;
}

/** How work stands that ends. Reason: one word. */
export interface CompletionAnswer {
  readonly state: "running" | "succeeded" | "failed";
  readonly reason?: string;
  readonly message?: string;
}

type Answer<T> = T | Promise<T>;

/**
 * The handlers of one kind's webhook, under the proposal's names. `T` is the kind as its CRD describes it. A handler
 * that changes the object returns the changed object (a copy, or the given one, which it may modify); the SDK computes
 * the patch.
 */
export interface KindHandlers<T extends object = JsonObject> {
  ExploreReplica?(input: { object: T }): Answer<{ replicas: number; requirements?: JsonObject }>;
  ExploreReplicaRevising?(input: { object: T; replicas: number }): Answer<T>;
  ExploreStatus?(input: { object: T }): Answer<Json | object>;
  ExplorePacking?(input: { object: T }): Answer<T>;
  /** `observed` is undefined if the caller follows the text of the proposal, which does not send it. */
  ExploreRetaining?(input: { desired: T; observed: T | undefined }): Answer<T>;
  ExploreStatusAggregating?(input: { object: T; items: StatusItem[] }): Answer<T>;
  ExploreHealthy?(input: { object: T }): Answer<boolean>;
  ExploreDependencies?(input: { object: T }): Answer<DependencyReference[]>;
  /** Lockstep's own, for CrossClusterJobs of this kind. It is `succeeded` or `failed` only when that is final. */
  ExploreCompletion?(input: { object: T }): Answer<CompletionAnswer>;
  /** Only in ResourceInterpreterContext. */
  InterpretComponent?(input: { object: T }): Answer<JsonObject[]>;
}

export interface WebhookAnswer {
  readonly status: number;
  readonly headers: { "content-type": "application/json" };
  readonly body: string;
}

export interface InterpreterWebhook {
  /** Answers one request body, of either protocol. Never rejects. */
  handle(body: string): Promise<WebhookAnswer>;
}

type Operation = keyof KindHandlers;
type Protocol = "explore" | "interpreter";

const API_VERSION = "config.karmada.io/v1alpha1";
const PROTOCOLS: Readonly<Record<string, Protocol>> = {
  ExploreReview: "explore",
  ResourceInterpreterContext: "interpreter",
};

/** The names of the operations in both protocols. */
const OPERATIONS: ReadonlyMap<string, Operation> = new Map<string, Operation>([
  ["ExploreReplica", "ExploreReplica"],
  ["InterpretReplica", "ExploreReplica"],
  ["ExploreReplicaRevising", "ExploreReplicaRevising"],
  ["ReviseReplica", "ExploreReplicaRevising"],
  ["ExploreStatus", "ExploreStatus"],
  ["InterpretStatus", "ExploreStatus"],
  ["ExplorePacking", "ExplorePacking"],
  ["Prune", "ExplorePacking"],
  ["ExploreRetaining", "ExploreRetaining"],
  ["Retain", "ExploreRetaining"],
  ["ExploreStatusAggregating", "ExploreStatusAggregating"],
  ["AggregateStatus", "ExploreStatusAggregating"],
  ["ExploreHealthy", "ExploreHealthy"],
  ["InterpretHealth", "ExploreHealthy"],
  ["ExploreDependencies", "ExploreDependencies"],
  ["InterpretDependency", "ExploreDependencies"],
  ["ExploreCompletion", "ExploreCompletion"],
  ["InterpretCompletion", "ExploreCompletion"],
  ["InterpretComponent", "InterpretComponent"],
]);

/** Thrown internally for requests that cannot be answered; the caller gets its message. */
class BadRequest extends Error {
  override readonly name = "BadRequest";
  readonly status: 400 | 404;

  constructor(status: 400 | 404, message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * A webhook for the kinds given as `group/version/Kind`, or `version/Kind` in the core group; version `*` means any
 * version. The type argument declares the type of each kind; without it, objects are plain JSON.
 */
export function createInterpreterWebhook<
  Kinds extends { readonly [kind: string]: object } = Record<string, JsonObject>,
>(kinds: { readonly [K in keyof Kinds]: KindHandlers<Kinds[K]> }): InterpreterWebhook {
  // The kind's type is what its CRD promises and its API server enforces; this is the only place that relies on it.
  const handlers = new Map(Object.entries(kinds as Readonly<Record<string, KindHandlers>>));
  return {
    async handle(body) {
      let request: Request | undefined;
      try {
        request = parseRequest(body);
        const response = await respond(handlersFor(handlers, request), request);
        return answer(200, request, { successful: true, ...response });
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error);
        const code = error instanceof BadRequest ? error.status : 500;
        // Karmada's protocol has a field for failures; the proposal's has only the HTTP status.
        if (request?.protocol === "interpreter") {
          return answer(200, request, { successful: false, status: { message, code } });
        }
        return plain(code, { message });
      }
    },
  };
}

interface Request {
  readonly protocol: Protocol;
  readonly kind: string;
  readonly uid: string;
  readonly group: string;
  readonly version: string;
  readonly objectKind: string;
  readonly operation: Operation;
  readonly operationName: string;
  readonly object: JsonObject;
  readonly observed: JsonObject | undefined;
  readonly replicas: number | undefined;
  readonly items: StatusItem[];
}

function parseRequest(body: string): Request {
  let review: Json;
  try {
    review = JSON.parse(body);
  } catch {
    throw new BadRequest(400, "the body is not JSON");
  }
  if (!isJsonObject(review)) throw new BadRequest(400, "the body must be a JSON object");
  const kind = String(review.kind);
  const protocol = Object.hasOwn(PROTOCOLS, kind) ? PROTOCOLS[kind] : undefined;
  if (review.apiVersion !== API_VERSION || protocol === undefined) {
    throw new BadRequest(400, `must be an ExploreReview or ResourceInterpreterContext of ${API_VERSION}`);
  }
  const { request } = review;
  if (!isJsonObject(request)) throw new BadRequest(400, "request must be an object");
  const { uid, object } = request;
  if (typeof uid !== "string" || uid === "") throw new BadRequest(400, "request.uid must be a text");
  if (!isJsonObject(object)) throw new BadRequest(400, "request.object must be an object");
  const operationName = String(request.operation);
  const operation = OPERATIONS.get(operationName);
  if (operation === undefined) throw new BadRequest(400, `request.operation ${operationName} is not known`);
  const gvk = isJsonObject(request.kind) ? request.kind : {};
  return {
    protocol,
    kind,
    uid,
    group: String(gvk.group ?? ""),
    version: String(gvk.version ?? ""),
    objectKind: String(gvk.kind ?? ""),
    operation,
    operationName,
    object,
    observed: isJsonObject(request.observedObject) ? request.observedObject : undefined,
    replicas: typeof request.replicas === "number" ? request.replicas : undefined,
    items: parseItems(request.aggregatedStatus),
  };
}

function parseItems(value: Json | undefined): StatusItem[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item): StatusItem[] => {
    if (!isJsonObject(item)) return [];
    const { clusterName, status, applied, appliedMessage, health } = item;
    return [
      {
        clusterName: String(clusterName ?? ""),
        ...(status !== undefined && { status }),
        ...(typeof applied === "boolean" && { applied }),
        ...(typeof appliedMessage === "string" && { appliedMessage }),
        ...(typeof health === "string" && { health }),
      },
    ];
  });
}

function handlersFor(kinds: ReadonlyMap<string, KindHandlers>, request: Request): KindHandlers {
  const { group, version, objectKind } = request;
  const prefix = group === "" ? "" : `${group}/`;
  const handlers = kinds.get(`${prefix}${version}/${objectKind}`) ?? kinds.get(`${prefix}*/${objectKind}`);
  if (handlers !== undefined) return handlers;
  throw new BadRequest(404, `${prefix}${version} ${objectKind} is not interpreted here`);
}

async function respond(handlers: KindHandlers, request: Request): Promise<JsonObject> {
  const { object, protocol, operation } = request;
  const missing = () =>
    new BadRequest(404, `${request.operationName} of ${request.objectKind} is not interpreted here`);
  // Handlers may change their argument; the patch starts from the object that was sent.
  const original = JSON.stringify(object);
  const patch = async (changed: Answer<JsonObject>) => patchFrom(original, await changed);
  switch (operation) {
    case "ExploreReplica": {
      if (!handlers.ExploreReplica) throw missing();
      const { replicas, requirements } = await handlers.ExploreReplica({ object });
      return { replicas, ...(requirements !== undefined && { replicaRequirements: requirements }) };
    }
    case "ExploreReplicaRevising":
      if (!handlers.ExploreReplicaRevising) throw missing();
      if (request.replicas === undefined) throw new BadRequest(400, "request.replicas must be a number");
      return patch(handlers.ExploreReplicaRevising({ object, replicas: request.replicas }));
    case "ExploreStatus": {
      if (!handlers.ExploreStatus) throw missing();
      const status: Json = JSON.parse(JSON.stringify(await handlers.ExploreStatus({ object })));
      return protocol === "explore" ? { status } : { rawStatus: status };
    }
    case "ExplorePacking":
      if (!handlers.ExplorePacking) throw missing();
      return patch(handlers.ExplorePacking({ object }));
    case "ExploreRetaining":
      if (!handlers.ExploreRetaining) throw missing();
      return patch(handlers.ExploreRetaining({ desired: object, observed: request.observed }));
    case "ExploreStatusAggregating":
      if (!handlers.ExploreStatusAggregating) throw missing();
      return patch(handlers.ExploreStatusAggregating({ object, items: request.items }));
    case "ExploreHealthy":
      if (!handlers.ExploreHealthy) throw missing();
      return { healthy: await handlers.ExploreHealthy({ object }) };
    case "ExploreDependencies": {
      if (!handlers.ExploreDependencies) throw missing();
      const dependencies = await handlers.ExploreDependencies({ object });
      return { dependencies: dependencies.map((dependency): JsonObject => ({ ...dependency })) };
    }
    case "ExploreCompletion": {
      if (!handlers.ExploreCompletion) throw missing();
      const completion: Json = { ...(await handlers.ExploreCompletion({ object })) };
      return { completion };
    }
    case "InterpretComponent":
      if (!handlers.InterpretComponent) throw missing();
      return { components: await handlers.InterpretComponent({ object }) };
  }
}

/** No difference, no patch. Compared as text, so that fields set to undefined count as absent. */
function patchFrom(before: string, after: JsonObject): JsonObject {
  const operations = jsonpatch.compare(JSON.parse(before), JSON.parse(JSON.stringify(after)));
  if (operations.length === 0) return {};
  return { patch: Buffer.from(JSON.stringify(operations)).toString("base64"), patchType: "JSONPatch" };
}

function answer(status: number, request: Request, response: JsonObject): WebhookAnswer {
  const { successful, ...rest } = response;
  const fields = request.protocol === "interpreter" ? { successful, ...rest } : rest;
  return plain(status, {
    apiVersion: API_VERSION,
    kind: request.kind,
    response: { uid: request.uid, ...fields },
  });
}

function plain(status: number, body: JsonObject): WebhookAnswer {
  return { status, headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
}

/** The body size limit for a listener: retaining sends two objects. */
export const MAX_REQUEST_BYTES = 2 * LIMITS.requestBodyBytes;
