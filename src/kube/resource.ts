import { InvalidRequestError } from "./errors.ts";
import type { KubeObject, ObjectName } from "./object.ts";
import { isKubeObject } from "./object.ts";

/** One kind in the server's REST interface. `parse` turns its objects into what the caller works with. */
export interface Resource<T extends KubeObject = KubeObject> {
  readonly apiVersion: string;
  readonly kind: string;
  readonly plural: string;
  readonly namespaced: boolean;
  /** Throws if the object does not have this kind's shape. */
  readonly parse: (object: KubeObject) => T;
}

export type AnyResource = Omit<Resource, "parse">;

export function resource(definition: AnyResource): Resource;
export function resource<T extends KubeObject>(
  definition: AnyResource & { parse: (object: KubeObject) => T },
): Resource<T>;
export function resource(definition: AnyResource & { parse?: (object: KubeObject) => KubeObject }): Resource {
  return { ...definition, parse: definition.parse ?? ((object) => object) };
}

export type Subresource = "status" | "scale";

/** Kubernetes' own limit for the name of any object. */
const MAX_NAME_LENGTH = 253;
const GROUP_VERSION = /^(?:[a-z0-9](?:[-a-z0-9.]*[a-z0-9])?\/)?v[a-z0-9]+$/;
const PLURAL = /^[a-z][-a-z0-9]*$/;

/**
 * The path of an object or, without a name, of its collection. Every part is checked, so that no name from outside can
 * lead to another object: Kubernetes itself refuses '/', '%', '.' and '..' as path segments.
 */
export function pathOf(
  of: AnyResource,
  target: { readonly namespace?: string | undefined; readonly name?: string | undefined },
  subresource?: Subresource,
): string {
  if (!GROUP_VERSION.test(of.apiVersion)) throw new InvalidRequestError(`'${of.apiVersion}' is not an apiVersion`);
  if (!PLURAL.test(of.plural)) throw new InvalidRequestError(`'${of.plural}' is not a plural resource name`);
  let path = groupPath(of.apiVersion);
  if (target.namespace !== undefined && target.namespace !== "") {
    if (!of.namespaced) {
      throw new InvalidRequestError(`${of.kind} is cluster-scoped; leave out the namespace '${target.namespace}'`);
    }
    path += `/namespaces/${segment(target.namespace, "namespace")}`;
  } else if (of.namespaced && target.name !== undefined) {
    throw new InvalidRequestError(`${of.kind} '${target.name}' needs a namespace`);
  }
  path += `/${of.plural}`;
  if (target.name !== undefined) path += `/${segment(target.name, "name")}`;
  if (subresource !== undefined) path += `/${subresource}`;
  return path;
}

export function groupPath(apiVersion: string): string {
  return apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

/** A prefix such as `/apis/cluster.karmada.io/v1alpha1/clusters/member1/proxy`; '' is the server itself. */
export function checkedBasePath(basePath: string): string {
  const trimmed = basePath.endsWith("/") ? basePath.slice(0, -1) : basePath;
  if (trimmed === "") return "";
  if (!trimmed.startsWith("/")) throw new InvalidRequestError(`the base path '${basePath}' must begin with '/'`);
  return pathOfSegments(trimmed.slice(1).split("/"));
}

export function pathOfSegments(segments: readonly string[]): string {
  return segments.map((part) => `/${segment(part, "part of the base path")}`).join("");
}

function segment(value: string, what: string): string {
  if (value === "") throw new InvalidRequestError(`the ${what} is empty`);
  if (value.length > MAX_NAME_LENGTH) {
    throw new InvalidRequestError(`the ${what} has ${value.length} characters, more than ${MAX_NAME_LENGTH}`);
  }
  if (value === "." || value === ".." || /[/%\\?#\s]/.test(value)) {
    throw new InvalidRequestError(
      `'${value}' cannot be a ${what}: it may not be '.' or '..' or contain / % \\ ? # or space`,
    );
  }
  return encodeURIComponent(value);
}

/** For messages: `StatefulSet default/db`. */
export function describe(of: AnyResource, name: Partial<ObjectName>): string {
  if (name.name === undefined) return name.namespace ? `${of.plural} in ${name.namespace}` : of.plural;
  return `${of.kind} ${name.namespace ? `${name.namespace}/` : ""}${name.name}`;
}

/** Reads an object of this kind. On a real server, items of a list have neither apiVersion nor kind: they are added. */
export function readObject<T extends KubeObject>(of: Resource<T>, value: unknown): T {
  if (typeof value === "object" && value !== null && !("kind" in value && "apiVersion" in value)) {
    return readObject(of, { apiVersion: of.apiVersion, kind: of.kind, ...value });
  }
  if (!isKubeObject(value)) throw new Error(`not a Kubernetes object: ${excerpt(value)}`);
  return of.parse(value);
}

const EXCERPT_LENGTH = 120;

function excerpt(value: unknown): string {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > EXCERPT_LENGTH ? `${text.slice(0, EXCERPT_LENGTH)}...` : text;
}
