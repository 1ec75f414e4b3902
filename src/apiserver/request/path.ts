import type { HttpRequest } from "../../runtime/index.ts";
import { badRequest, noSuchResource, StatusError } from "./status.ts";

/** A parsed URL of the object API. Whether the kind exists is checked elsewhere. */
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
  /** Decoded only if it was split; otherwise unchanged. */
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

/** A segment that decodes to a slash, a dot segment or nothing is an attack, not a name. */
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

/** The namespace's own subresources: /namespaces/NAME/status is one, /namespaces/NAME/pods is not. */
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
