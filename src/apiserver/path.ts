import type { HttpRequest } from "../runtime/index.ts";
import { badRequest, noSuchResource, StatusError } from "./status.ts";

/** A URL of the object API, taken apart. Nothing here says yet that such a kind exists. */
export interface ResourcePath {
  readonly group: string;
  readonly version: string;
  readonly namespace: string;
  readonly plural: string;
  /** Empty for a collection. */
  readonly name: string;
  readonly subresource: string;
}

export interface RequestTarget {
  /** Decoded only where it was taken apart; as it came otherwise. */
  readonly path: string;
  readonly segments: readonly string[];
  readonly query: URLSearchParams;
}

export function parseTarget(request: HttpRequest, urlCharacters: number): RequestTarget {
  if (request.path.length > urlCharacters) {
    throw new StatusError(414, "RequestURITooLong", `the URL is longer than ${urlCharacters} characters`);
  }
  const mark = request.path.indexOf("?");
  const path = mark < 0 ? request.path : request.path.slice(0, mark);
  if (!path.startsWith("/")) throw badRequest("the request's path must begin with '/'");
  return {
    path,
    segments: path === "/" ? [] : segmentsOf(path),
    query: new URLSearchParams(mark < 0 ? "" : request.path.slice(mark + 1)),
  };
}

/** A segment that decodes to something with a slash, a dot segment or nothing at all is a trick, not a name. */
function segmentsOf(path: string): string[] {
  const raw = path.slice(1).split("/");
  if (raw.at(-1) === "") raw.pop();
  return raw.map((segment) => {
    let decoded: string;
    try {
      decoded = segment.includes("%") ? decodeURIComponent(segment) : segment;
    } catch {
      throw badRequest("the request's path is not valid percent-encoding");
    }
    if (decoded === "" || decoded === "." || decoded === ".." || /[/\\%\0]/.test(decoded)) throw noSuchResource();
    return decoded;
  });
}

/** Kinds of the namespace's own subresources: /namespaces/NAME/status is one, /namespaces/NAME/pods is not. */
const NAMESPACE_SUBRESOURCES = ["status", "finalize"];

export function resourcePath(segments: readonly string[]): ResourcePath | undefined {
  const [root] = segments;
  const core = root === "api";
  if (!core && root !== "apis") return undefined;
  const [group, version] = core ? ["", segments[1]] : [segments[1], segments[2]];
  const rest = segments.slice(core ? 2 : 3);
  if (group === undefined || version === undefined || rest.length === 0) return undefined;
  const [first = "", second = "", third] = rest;
  const inNamespace =
    first === "namespaces" && third !== undefined && !(rest.length === 3 && NAMESPACE_SUBRESOURCES.includes(third));
  const [plural = "", name = "", subresource = "", ...more] = inNamespace ? rest.slice(2) : rest;
  if (more.length > 0) return undefined;
  return { group, version, namespace: inNamespace ? second : "", plural, name, subresource };
}
