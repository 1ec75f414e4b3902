/** The two review protocols: the request, and parsing the answer. They differ only in names. */
import {
  applyPatch,
  isJsonObject,
  type Json,
  type JsonObject,
  LIMITS,
  PatchError,
  type PatchOperation,
} from "../../runtime/index.ts";
import { describe, gvkOf, presentAt } from "../fields.ts";
import { EXPLORE_NAMES, type Inputs, isExplored, type Operation, type Results } from "../operations.ts";
import {
  BadAnswer,
  parseBoolean,
  parseCompletion,
  parseComponents,
  parseDependencies,
  parseReplicas,
  parseRequirements,
  parseSameObject,
} from "../results.ts";
import { REVIEW_VERSION, type WebhookProtocol } from "./configuration.ts";
import { WebhookFailure } from "./failure.ts";

const API_VERSION = `config.karmada.io/${REVIEW_VERSION}`;
const KINDS = { explore: "ExploreReview", interpreter: "ResourceInterpreterContext" } as const;

export function buildReview<O extends Operation>(
  protocol: WebhookProtocol,
  uid: string,
  operation: O,
  input: Inputs[O],
): string {
  const { object } = input;
  const namespace = presentAt(object, "metadata", "namespace");
  const request: JsonObject = {
    uid,
    kind: { ...gvkOf(object) },
    name: String(presentAt(object, "metadata", "name") ?? ""),
    ...(typeof namespace === "string" && namespace !== "" && { namespace }),
    operation: operationName(protocol, operation),
    object,
    ...("replicas" in input && { replicas: input.replicas }),
    ...("items" in input &&
      input.items !== undefined && { aggregatedStatus: input.items.map((item): JsonObject => ({ ...item })) }),
    // The proposal's review has no field for it, but retaining needs it; webhooks ignore unknown fields.
    ...("observed" in input && { observedObject: input.observed }),
  };
  return JSON.stringify({ apiVersion: API_VERSION, kind: KINDS[protocol], request });
}

function operationName(protocol: WebhookProtocol, operation: Operation): string {
  return protocol === "explore" && isExplored(operation) ? EXPLORE_NAMES[operation] : operation;
}

/** Parses the answer in an HTTP body. Throws WebhookFailure for an invalid one. */
export function parseReview<O extends Operation>(
  protocol: WebhookProtocol,
  uid: string,
  operation: O,
  input: Inputs[O],
  body: string,
): Results[O] {
  const parse: Answer<O> | undefined = ANSWERS[operation];
  if (parse === undefined) throw new WebhookFailure("NotCallable", `the protocol has no operation ${operation}`);
  const response = responseOf(protocol, uid, body);
  try {
    return parse({ protocol, response }, input);
  } catch (error) {
    if (error instanceof BadAnswer) throw new WebhookFailure("BadAnswer", error.message);
    throw error;
  }
}

function responseOf(protocol: WebhookProtocol, uid: string, body: string): JsonObject {
  const review = parseBody(body);
  if (!isJsonObject(review)) {
    throw new WebhookFailure("Malformed", `the body must be a JSON object, found ${describe(review)}`);
  }
  const wanted: [string, string][] = [
    ["apiVersion", API_VERSION],
    ["kind", KINDS[protocol]],
  ];
  for (const [field, value] of wanted) {
    const found = review[field];
    if (found !== undefined && found !== value) {
      throw new WebhookFailure("WrongKind", `${field} must be ${value}, found ${describe(found)}`);
    }
  }
  const { response } = review;
  if (!isJsonObject(response)) {
    throw new WebhookFailure("Malformed", `response must be an object, found ${describe(response)}`);
  }
  if (response.uid !== uid) {
    const found = describe(response.uid);
    throw new WebhookFailure("WrongUid", `response.uid must be the request's ${uid}, found ${found}`);
  }
  if (protocol === "interpreter" && response.successful !== true) {
    const status = isJsonObject(response.status) ? response.status : {};
    const message = typeof status.message === "string" ? status.message.slice(0, 500) : "without a message";
    throw new WebhookFailure("Unsuccessful", `the webhook returned code ${String(status.code ?? "none")}: ${message}`);
  }
  return response;
}

function parseBody(body: string): Json {
  if (isDeeperThan(body, LIMITS.jsonDepth)) {
    throw new WebhookFailure("Malformed", `the body nests deeper than ${LIMITS.jsonDepth} levels`);
  }
  try {
    return JSON.parse(body);
  } catch {
    // Not the body itself: it may contain most of a Secret.
    throw new WebhookFailure("Malformed", `the body of ${body.length} characters is not JSON`);
  }
}

/** Checked as text, before recursion over the value could exhaust the stack. */
export function isDeeperThan(json: string, limit: number): boolean {
  let depth = 0;
  let inText = false;
  for (let index = 0; index < json.length; index++) {
    const character = json[index];
    if (inText) {
      if (character === "\\") index++;
      else if (character === '"') inText = false;
    } else if (character === '"') inText = true;
    else if (character === "{" || character === "[") {
      depth++;
      if (depth > limit) return true;
    } else if (character === "}" || character === "]") depth--;
  }
  return false;
}

interface Answered {
  readonly protocol: WebhookProtocol;
  readonly response: JsonObject;
}

type Answer<O extends Operation> = (answered: Answered, input: Inputs[O]) => Results[O];

const ANSWERS: { readonly [O in Operation]?: Answer<O> } = {
  InterpretReplica({ response }) {
    const requirements = parseRequirements(response.replicaRequirements, "response.replicaRequirements");
    return {
      replicas: parseReplicas(response.replicas, "response.replicas"),
      ...(requirements !== undefined && { requirements }),
    };
  },
  InterpretComponent: ({ response }) => parseComponents(response.components, "response.components"),
  InterpretDependency: ({ response }) => parseDependencies(response.dependencies, "response.dependencies"),
  InterpretCompletion: ({ response }) => parseCompletion(response.completion, "response.completion"),
  InterpretHealth: ({ response }) => parseBoolean(response.healthy, "response.healthy"),
  InterpretStatus({ protocol, response }) {
    if (protocol === "explore") return response.status ?? null;
    if (response.rawStatus === undefined) throw new BadAnswer("response.rawStatus is required");
    return response.rawStatus;
  },
  Prune: patched,
  Retain: patched,
  ReviseReplica: patched,
  AggregateStatus: patched,
};

/** No patch and no type: the object stays unchanged. */
function patched({ response }: Answered, { object }: { object: JsonObject }): JsonObject {
  const { patch, patchType } = response;
  if (isAbsent(patch) && isAbsent(patchType)) return object;
  if (patchType !== "JSONPatch") {
    throw new WebhookFailure("BadPatch", `response.patchType must be JSONPatch, found ${describe(patchType)}`);
  }
  const operations = decodePatch(patch);
  try {
    return parseSameObject(applyPatch(object, operations), "the patched object", object);
  } catch (error) {
    if (!(error instanceof PatchError)) throw error;
    throw new WebhookFailure("BadPatch", `response.patch does not apply: ${error.message.slice(0, 300)}`);
  }
}

function decodePatch(patch: Json | undefined): PatchOperation[] {
  if (typeof patch !== "string") {
    throw new WebhookFailure("BadPatch", `response.patch must be a JSON patch in base64, found ${describe(patch)}`);
  }
  const text = Buffer.from(patch, "base64").toString("utf8");
  let operations: unknown;
  try {
    if (isDeeperThan(text, LIMITS.jsonDepth)) throw new SyntaxError("too deep");
    operations = JSON.parse(text);
  } catch {
    throw new WebhookFailure("BadPatch", "response.patch is not JSON in base64");
  }
  if (!Array.isArray(operations) || !operations.every(isPatchOperation)) {
    throw new WebhookFailure("BadPatch", "response.patch must be a list of RFC 6902 operations");
  }
  return operations;
}

const PATCH_OPERATIONS = new Set(["add", "remove", "replace", "move", "copy", "test"]);

function isPatchOperation(value: unknown): value is PatchOperation {
  if (!isJsonObject(value)) return false;
  const { op, path, from } = value;
  if (typeof op !== "string" || !PATCH_OPERATIONS.has(op) || typeof path !== "string") return false;
  if (op === "move" || op === "copy") return typeof from === "string";
  return op === "remove" || value.value !== undefined;
}

function isAbsent(value: Json | undefined): boolean {
  return value === undefined || value === null || value === "";
}
