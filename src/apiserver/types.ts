import type { CompiledSchema } from "../api/index.ts";
import type {
  Clock,
  Headers,
  HttpRequest,
  HttpResponse,
  HttpStream,
  Json,
  JsonObject,
  Log,
  Random,
} from "../runtime/index.ts";
import type { Decoder } from "./kinds/decode.ts";
import type { SchemaCache } from "./kinds/schema-cache.ts";

/** The requesting user. The front authenticates; in-process callers name themselves. */
export interface User {
  name: string;
  readonly groups: readonly string[];
}

export type ServerRequest = HttpRequest & { user?: User };

export interface OwnerReference extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry extends JsonObject {
  readonly manager?: string;
  readonly operation?: string;
  readonly apiVersion?: string;
  readonly time?: string;
  readonly fieldsType?: string;
  readonly fieldsV1?: JsonObject;
  readonly subresource?: string;
}

export interface ObjectMeta extends JsonObject {
  name: string;
  generateName?: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  deletionGracePeriodSeconds?: number;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
  managedFields?: ManagedFieldsEntry[];
}

/** A parsed object. Objects from the store are shared: never change one, copy it. */
export interface KubeObject extends JsonObject {
  readonly apiVersion: string;
  readonly kind: string;
  metadata: ObjectMeta;
}

/** The location of an object or a collection: the storage of one kind, shared by all its versions. */
export interface ObjectKey {
  /** `group/plural`; the core group is empty: `/pods`. */
  readonly resource: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  name: string;
}

/** How the lists and maps below one field merge; by default a granular map, or an atomic list or scalar. */
export interface Shape {
  readonly fields?: Readonly<Record<string, Shape>>;
  /** Shape of every value of a map with free keys, or of every item of a list. */
  readonly items?: Shape;
  /** List of objects, each identified by these keys (server-side apply). */
  readonly mapKeys?: readonly string[];
  /** Default value of a map key that an item may omit, e.g. protocol: TCP. */
  readonly keyDefaults?: Readonly<Record<string, Json>>;
  /** List of objects, merged by this key (strategic merge patch). */
  readonly patchKey?: string;
  /** List of distinct scalars. */
  readonly set?: boolean;
  /** Owned and replaced as one value, although it is a map. */
  readonly atomic?: boolean;
  /** Strategic merge: the patch names with $retainKeys which siblings stay. */
  readonly retainKeys?: boolean;
}

/** additionalPrinterColumns of a CRD version. table/ has the columns of built-in kinds. */
export interface PrinterColumn {
  name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath: string;
}

export interface ScaleSubresource {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  readonly labelSelectorPath?: string;
}

export interface Subresources {
  readonly status?: boolean;
  readonly scale?: ScaleSubresource;
}

/** One reason why an object is refused, in the wording of Kubernetes' field errors. */
export interface FieldProblem {
  readonly field: string;
  /** FieldValueInvalid, FieldValueRequired, FieldValueForbidden, FieldValueNotSupported, FieldValueDuplicate, ... */
  readonly reason: string;
  /** The sentence after the field, e.g. `Invalid value: -1: must be non-negative`. */
  readonly message: string;
}

/** Special behaviour of one kind. Functions get objects of the storage version that they may change. */
export interface Strategy {
  /** Sets fields that the client left out. */
  readonly defaults?: (object: KubeObject) => void;
  readonly prepareForCreate?: (object: KubeObject) => void;
  readonly prepareForUpdate?: (object: KubeObject, old: KubeObject) => void;
  readonly validate?: (object: KubeObject, old: KubeObject | undefined) => FieldProblem[];
  /** Kinds whose objects carry metadata.generation. */
  readonly generation?: boolean;
  /** PUT to a name that does not exist creates it. */
  readonly createOnUpdate?: boolean;
  /** PUT without resourceVersion is refused (custom resources, leases). */
  readonly requireResourceVersion?: boolean;
  /** Seconds that an object stays, marked, after DELETE, until a client deletes it with grace 0. */
  readonly gracePeriodSeconds?: (object: KubeObject) => number;
  /** Values of field selectors beyond metadata.name and metadata.namespace. */
  readonly fieldSelectors?: Readonly<Record<string, (object: KubeObject) => string>>;
  /** Name rule; by default RFC 1123 subdomain. */
  readonly nameRule?: "subdomain" | "label" | "label1035" | "path";
}

/** One served version of one kind, as routing, discovery, OpenAPI and Table need it. */
export interface ResourceDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly categories: readonly string[];
  readonly namespaced: boolean;
  readonly verbs: readonly string[];
  readonly subresources: Subresources;
  /** `group/plural`, see ObjectKey.resource. */
  readonly resource: string;
  /** Built-in kinds come with the server; the others with a CRD. */
  readonly builtIn: boolean;
  /**
   * apiVersion under which objects are stored; the same as apiVersionOf(this) for all kinds except CRDs with versions.
   */
  readonly storageApiVersion: string;
  /** Changes an object between this version and the storage's, beyond its apiVersion. */
  readonly convert?: {
    readonly toStorage: (object: KubeObject) => KubeObject;
    readonly fromStorage: (object: KubeObject) => KubeObject;
  };
  /** Built-in kinds: reads the object as Go's decoder would; absent if there is no schema. */
  readonly decoder?: Decoder | undefined;
  /** The compiled structural schema of a CRD version. */
  readonly schema?: CompiledSchema;
  /** The schema from the CRD, for OpenAPI. openapi/ has those of built-in kinds. */
  readonly openAPISchema?: JsonObject;
  readonly columns: readonly PrinterColumn[];
  readonly shape: Shape;
  readonly strategy: Strategy;
  /** A warning sent with every answer of this version. */
  readonly deprecationWarning?: string;
}

/** What authorizers see of a request. */
export interface RequestAttributes {
  readonly user: User;
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  name: string;
}

/** Undefined: allowed. A string: refused, with this reason. */
export type Authorizer = (attributes: RequestAttributes) => string | undefined;

export interface ServerLimits {
  /** Larger bodies are answered with 413. */
  readonly bodyBytes: number;
  readonly jsonDepth: number;
  /** Path and query; longer ones are answered with 414. */
  readonly urlCharacters: number;
  /** Changes kept for watches to resume from and lists to continue at; older resource versions get 410. */
  readonly historyEvents: number;
  /** How many events may wait for one slow watcher before it is dropped. */
  readonly watchQueueEvents: number;
  /** A watcher that requested bookmarks gets one after at most this many changes that do not match it. */
  readonly bookmarkEveryEvents: number;
}

/** The whole state, as JSON. */
export interface ServerSnapshot extends JsonObject {
  readonly format: "lockstep-apiserver/1";
  resourceVersion: number;
  readonly objects: { resource: string; object: KubeObject }[];
}

export interface ApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  /** Appears in logs, for servers of a fleet. */
  readonly name?: string;
  readonly limits?: Partial<ServerLimits>;
  /** Absent: everything is allowed. "RBAC": the server's own Roles and bindings apply. */
  readonly authorizer?: Authorizer | "RBAC" | undefined;
  /** The initial state, from snapshot(). */
  readonly storage?: ServerSnapshot;
  /** Share one between all servers of a process: compiling schemas is most of a server's start. */
  readonly schemas?: SchemaCache;
  /**
   * False: plain writes do not update metadata.managedFields (server-side apply still tracks its own), which is
   * cheaper.
   */
  readonly trackUpdates?: boolean;
}

/** A stored change. `object` is the new state, or for DELETED the last one with the deletion's version. */
export interface Commit {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly key: ObjectKey;
  readonly object: KubeObject;
  readonly old: KubeObject | undefined;
  resourceVersion: number;
}

/** Answers for a path prefix outside the object store: the cluster proxy of the embedded fleet, documents, metrics. */
export interface Route {
  /** Starts and ends with '/'; the longest matching prefix wins. */
  readonly prefix: string;
  handle(request: ServerRequest): Promise<HttpResponse>;
  /** For watches; absent: the answer of handle() as one chunk. */
  stream?(request: ServerRequest): Promise<HttpStream>;
}

export type { Headers, HttpResponse, HttpStream };

/**
 * request/discovery.ts and openapi/ each export one: it answers GET of its own paths, and returns undefined for all
 * others.
 */
export type DocumentHandler = (
  request: { readonly path: string; readonly query: URLSearchParams; readonly headers: Headers },
  registry: RegistryView,
) => HttpResponse | undefined;

/** What table/table.ts exports as `renderTable`: a meta.k8s.io/v1 Table of these objects (of the definition's version). */
export type TableRenderer = (
  definition: ResourceDefinition,
  objects: readonly KubeObject[],
  options: {
    readonly includeObject: "None" | "Metadata" | "Object";
    /** The list's metadata (resourceVersion, continue), or the single object's resourceVersion. */
    readonly metadata: JsonObject;
    /** Later events of a watch omit the column definitions. */
    readonly withColumns: boolean;
    readonly nowMs: number;
  },
) => JsonObject;

/** The kinds served now. */
export interface RegistryView {
  /** Changes with the kinds, so that documents can be cached by it. */
  readonly revision: number;
  /** Groups in the order of discovery (core first, built-in before CRDs'), each with its versions, preferred first. */
  groups(): readonly { readonly group: string; readonly versions: readonly string[] }[];
  definitions(group: string, version: string): readonly ResourceDefinition[];
  find(group: string, version: string, plural: string): ResourceDefinition | undefined;
  findKind(apiVersion: string, kind: string): ResourceDefinition | undefined;
}
