import type { HttpStream, JsonObject } from "../../runtime/index.ts";
import type { Core } from "../core.ts";
import { apiVersionOf } from "../kinds/registry.ts";
import type { Position, StoredObject } from "../store/store.ts";
import { translate, type WatchEncoding, Watcher, type WatchHub, type WatchScope } from "../store/watch.ts";
import { renderTable } from "../table/table.ts";
import type { ResourceDefinition } from "../types.ts";
import { type AnswerForm, METADATA_TYPE, metadataOf } from "./answer-form.ts";
import { fieldMatcher, labelMatcher, type Matcher, selectedName } from "./selectors.ts";
import { badRequest, expired, StatusError } from "./status.ts";

/** A read of a collection, as its URL, query and Accept header describe it. */
export interface CollectionRead {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  /** Set when a single object is watched by its own URL. */
  readonly name: string;
  readonly query: URLSearchParams;
  readonly form: AnswerForm;
}

/** More than any page has; a larger limit has no effect. */
const LONGEST_PAGE = 1_000_000;

export function selection(read: CollectionRead): { matches: Matcher | undefined; name: string | undefined } {
  const fields = read.query.get("fieldSelector") ?? "";
  const byLabel = labelMatcher(read.query.get("labelSelector") ?? "");
  const byField = fieldMatcher(fields, read.definition);
  const matches: Matcher | undefined =
    byLabel && byField ? (object) => byLabel(object) && byField(object) : (byLabel ?? byField);
  return { matches, name: read.name === "" ? selectedName(fields) : read.name };
}

interface Continuation {
  readonly version: number;
  readonly after: Position;
}

/** A list, as JSON text. */
export function listCollection(core: Core, read: CollectionRead): string {
  const { store } = core;
  const { definition, namespace, query } = read;
  const { matches, name } = selection(read);
  const limit = limitOf(query.get("limit"));
  const token = query.get("continue") ?? "";
  const continuation = token === "" ? undefined : decodeContinue(token);
  const version = continuation?.version ?? listVersion(core, query);
  if (continuation && version < store.compacted) {
    throw expired(
      "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list.",
    );
  }
  const items: StoredObject[] = [];
  let remaining = 0;
  for (const stored of store.objectsAt(version, definition.resource, namespace, continuation?.after)) {
    if (name !== undefined && stored.key.name !== name) continue;
    if (matches && !matches(stored.object)) continue;
    if (items.length < limit) items.push(stored);
    else {
      remaining += 1;
      // For a selection, Kubernetes does not report how many are left, so they need not be counted.
      if (matches) break;
    }
  }
  const last = items.at(-1);
  const metadata: JsonObject = {
    resourceVersion: String(version),
    ...(remaining > 0 && last && { continue: encodeContinue({ version, after: last.key }) }),
    ...(remaining > 0 && !matches && { remainingItemCount: remaining }),
  };
  if (read.form === "table") return JSON.stringify(tableOf(core, read, items, metadata, true));
  if (read.form === "metadata") {
    const list = { ...METADATA_TYPE, kind: `${METADATA_TYPE.kind}List`, metadata };
    return JSON.stringify({ ...list, items: items.map((stored) => metadataOf(stored.objectFor(definition))) });
  }
  const head = JSON.stringify({ kind: definition.listKind, apiVersion: apiVersionOf(definition), metadata });
  const texts = items.map((stored) => stored.textFor(definition));
  return `${head.slice(0, -1)},"items":[${texts.join(",")}]}`;
}

/** The version that a list shows: the newest, unless the client requests exactly another one. */
function listVersion(core: Core, query: URLSearchParams): number {
  const { store } = core;
  const asked = query.get("resourceVersion") ?? "";
  const match = query.get("resourceVersionMatch") ?? "";
  if (match !== "" && asked === "") {
    throw forbiddenOption("resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  if (match !== "" && match !== "Exact" && match !== "NotOlderThan") {
    throw forbiddenOption(
      `resourceVersionMatch: Unsupported value: ${JSON.stringify(match)}: supported values: "Exact", "NotOlderThan"`,
    );
  }
  const version = parseVersion(asked);
  if (version > store.version) throw tooLargeVersion(version, store.version);
  const isPaged = (query.get("limit") ?? "0") !== "0";
  const exact = match === "Exact" || (match === "" && isPaged && version > 0);
  if (!exact) return store.version;
  if (version === 0) throw forbiddenOption('resourceVersionMatch "exact" is forbidden for resourceVersion "0"');
  if (version < store.compacted) throw expired(`The resourceVersion for the provided list is too old.`);
  return version;
}

function parseVersion(text: string): number {
  if (text === "") return 0;
  const version = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(version)) {
    throw badRequest(`Invalid value: ${JSON.stringify(text.slice(0, 64))}: strconv.ParseUint: invalid syntax`);
  }
  return version;
}

function limitOf(text: string | null): number {
  if (text === null || text === "" || text === "0") return LONGEST_PAGE;
  if (!/^\d{1,18}$/.test(text))
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(text.slice(0, 64))}: invalid syntax`);
  return Math.min(Number(text), LONGEST_PAGE);
}

function forbiddenOption(message: string): StatusError {
  return new StatusError(422, "Invalid", `ListOptions.meta.k8s.io "" is invalid: ${message}`, {
    group: "meta.k8s.io",
    kind: "ListOptions",
  });
}

/** A version from the future: the client may retry soon. */
function tooLargeVersion(asked: number, current: number): StatusError {
  return new StatusError(504, "Timeout", `Too large resource version: ${asked}, current: ${current}`, {
    causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
    retryAfterSeconds: 1,
  });
}

function encodeContinue({ version, after }: Continuation): string {
  return Buffer.from(JSON.stringify([version, after.namespace, after.name])).toString("base64url");
}

function decodeContinue(token: string): Continuation {
  try {
    const [version, namespace, name]: unknown[] = JSON.parse(Buffer.from(token, "base64url").toString("utf8"));
    if (Number.isSafeInteger(version) && typeof namespace === "string" && typeof name === "string") {
      return { version: Number(version), after: { namespace, name } };
    }
  } catch {
    // Falls through to the refusal: a foreign token is invalid.
  }
  throw badRequest("continue key is not valid: it is not a token of this server");
}

function tableOf(
  core: Core,
  read: CollectionRead,
  items: readonly StoredObject[],
  metadata: JsonObject,
  withColumns: boolean,
): JsonObject {
  const include = read.query.get("includeObject");
  return renderTable(
    read.definition,
    items.map((stored) => stored.objectFor(read.definition)),
    {
      includeObject: include === "None" || include === "Object" ? include : "Metadata",
      metadata,
      withColumns,
      nowMs: core.clock.now(),
    },
  );
}

/** One object, as JSON text. */
export function objectText(core: Core, read: CollectionRead, stored: StoredObject): string {
  if (read.form === "object") return stored.textFor(read.definition);
  if (read.form === "metadata") return JSON.stringify(metadataOf(stored.objectFor(read.definition)));
  const metadata = { resourceVersion: stored.object.metadata.resourceVersion };
  return JSON.stringify(tableOf(core, read, [stored], metadata, true));
}

/** Opens a watch. Throws errors that need a status code; later errors are ERROR events. */
export function watchCollection(core: Core, hub: WatchHub, read: CollectionRead, signal?: AbortSignal): HttpStream {
  const { store } = core;
  const { definition, query } = read;
  const { matches, name } = selection(read);
  const scope: WatchScope = { resource: definition.resource, namespace: read.namespace, name, matches };
  const asked = parseVersion(query.get("resourceVersion") ?? "");
  const wantsBookmarks = isTrue(query.get("allowWatchBookmarks"));
  const sendInitial = query.get("sendInitialEvents");
  const withInitial = sendInitial === null ? asked === 0 : isTrue(sendInitial);
  const encoding = encodingOf(core, read);
  const initial: ({ type: "ADDED" | "MODIFIED" | "DELETED"; stored: StoredObject } | { text: string })[] = [];
  let failure: StatusError | undefined;
  if (asked > store.version) throw tooLargeVersion(asked, store.version);
  if (withInitial) {
    for (const stored of store.objects(definition.resource, read.namespace)) {
      if (name !== undefined && stored.key.name !== name) continue;
      if (!matches || matches(stored.object)) initial.push({ type: "ADDED", stored });
    }
    if (sendInitial !== null && wantsBookmarks) initial.push({ text: encoding.bookmark(store.version, true) });
  } else if (asked > 0) {
    try {
      for (const event of store.eventsAfter(asked)) {
        const item = event.key.resource === scope.resource && translate(scope, event);
        if (item) initial.push(item);
      }
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      failure = error;
    }
  }
  const timeout = new AbortController();
  const onAbort = () => watcher.abort(signal?.reason);
  const watcher = new Watcher({
    scope,
    encoding,
    limits: {
      queueEvents: core.limits.watchQueueEvents,
      bookmarkEveryEvents: wantsBookmarks ? core.limits.bookmarkEveryEvents : undefined,
    },
    version: store.version,
    initial,
    onClose: (closed) => {
      hub.remove(closed);
      timeout.abort();
      signal?.removeEventListener("abort", onAbort);
    },
  });
  hub.add(watcher);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  if (failure) watcher.fail(failure);
  endAfter(core, watcher, query.get("timeoutSeconds"), timeout.signal);
  return {
    status: 200,
    headers: { "content-type": "application/json" },
    chunks: watcher.chunks(),
  };
}

function endAfter(core: Core, watcher: Watcher, text: string | null, signal: AbortSignal): void {
  if (text === null || !/^\d{1,9}$/.test(text) || Number(text) === 0) return;
  core.clock.sleep(Number(text) * 1000, signal).then(
    () => watcher.finish(core.store.version),
    () => {}, // The watch ended first.
  );
}

const isTrue = (text: string | null) => text === "true" || text === "1";

function encodingOf(core: Core, read: CollectionRead): WatchEncoding {
  const { definition } = read;
  let withColumns = true;
  return {
    event(type, stored) {
      if (read.form !== "table") return `{"type":"${type}","object":${objectText(core, read, stored)}}\n`;
      const metadata = { resourceVersion: stored.object.metadata.resourceVersion };
      const object = tableOf(core, read, [stored], metadata, withColumns);
      withColumns = false;
      return `${JSON.stringify({ type, object })}\n`;
    },
    bookmark(version, initialEventsEnd) {
      const annotations = initialEventsEnd ? { annotations: { "k8s.io/initial-events-end": "true" } } : {};
      const object = {
        ...(read.form === "metadata" ? METADATA_TYPE : { kind: definition.kind, apiVersion: apiVersionOf(definition) }),
        metadata: { resourceVersion: String(version), creationTimestamp: null, ...annotations },
      };
      return `${JSON.stringify({ type: "BOOKMARK", object })}\n`;
    },
  };
}
