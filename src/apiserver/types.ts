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
import type { Decoder } from "./decode.ts";
import type { SchemaCache } from "./schema-cache.ts";

/** Who asks. The front authenticates; in-process callers say who they are. */
export interface User {
  name: string;
  groups: readonly string[];
}

export type ServerRequest = HttpRequest & { user?: User };

export interface OwnerReference extends JsonObject {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface ManagedFieldsEntry extends JsonObject {
  manager?: string;
  operation?: string;
  apiVersion?: string;
  time?: string;
  fieldsType?: string;
  fieldsV1?: JsonObject;
  subresource?: string;
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

/** A parsed object. Objects that left the store are shared: never change one, copy it. */
export interface KubeObject extends JsonObject {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
}

/** Where an object or a collection lives: the storage of one kind, shared by all its versions. */
export interface ObjectKey {
  /** `group/plural`; the core group is empty: `/pods`. */
  readonly resource: string;
  /** Empty for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

/** How the lists and maps below one field merge; what is not said is a granular map, or an atomic list or scalar. */
export interface Shape {
  readonly fields?: Readonly<Record<string, Shape>>;
  /** Shape of every value of a map with free keys, or of every item of a list. */
  readonly items?: Shape;
  /** List of objects, each identified by these keys (server-side apply). */
  readonly mapKeys?: readonly string[];
  /** Value of a map key that an item may leave out, e.g. protocol: TCP. */
  readonly keyDefaults?: Readonly<Record<string, Json>>;
  /** List of objects, merged by this key (strategic merge patch). */
  readonly patchKey?: string;
  /** List of distinct scalars. */
  readonly set?: boolean;
  /** Owned and replaced as one value, although it is a map. */
  readonly atomic?: boolean;
  /** Strategic merge: the patch says with $retainKeys which siblings survive. */
  readonly retainKeys?: boolean;
}

/** additionalPrinterColumns of a CRD version. The columns of built-in kinds are table.ts's own. */
export interface PrinterColumn {
  readonly name: string;
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

/** One reason why an object is refused, in the words of Kubernetes' field errors. */
export interface FieldProblem {
  readonly field: string;
  /** FieldValueInvalid, FieldValueRequired, FieldValueForbidden, FieldValueNotSupported, FieldValueDuplicate, ... */
  readonly reason: string;
  /** The sentence after the field, e.g. `Invalid value: -1: must be non-negative`. */
  readonly message: string;
}

/** What one kind does differently. Functions get objects of the storage version that they may change. */
export interface Strategy {
  /** Fills in what the client left out. */
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
  /** Seconds that an object stays, marked, after DELETE, until someone deletes it with grace 0. */
  readonly gracePeriodSeconds?: (object: KubeObject) => number;
  /** Values of field selectors beyond metadata.name and metadata.namespace. */
  readonly fieldSelectors?: Readonly<Record<string, (object: KubeObject) => string>>;
  /** Name rule; RFC 1123 subdomain when absent. */
  readonly nameRule?: "subdomain" | "label" | "label1035" | "path";
}

/** One served version of one kind: what routing, discovery, OpenAPI and Table need to know about it. */
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
  /** Built-in kinds come with the server; the others come and go with a CRD. */
  readonly builtIn: boolean;
  /** apiVersion under which objects are stored; the same as apiVersionOf(this) for all kinds but CRDs with versions. */
  readonly storageApiVersion: string;
  /** Changes an object between this version and the storage's, beyond its apiVersion. */
  readonly convert?: {
    readonly toStorage: (object: KubeObject) => KubeObject;
    readonly fromStorage: (object: KubeObject) => KubeObject;
  };
  /** Built-in kinds: reads the object as Go's decoder would; absent where no schema is written down. */
  readonly decoder?: Decoder | undefined;
  /** The compiled structural schema of a CRD version. */
  readonly schema?: CompiledSchema;
  /** The schema as the CRD gives it, for OpenAPI. Built-in kinds: openapi.ts knows. */
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
  readonly name: string;
}

/** Undefined: allowed. A string: refused, and why. */
export type Authorizer = (attributes: RequestAttributes) => string | undefined;

export interface ServerLimits {
  /** Bodies above this are answered with 413. */
  readonly bodyBytes: number;
  readonly jsonDepth: number;
  /** Path and query; longer ones are answered with 414. */
  readonly urlCharacters: number;
  /** Changes kept for watches to resume from and lists to continue at; older resource versions get 410. */
  readonly historyEvents: number;
  /** Events that may wait for one slow watcher before it is dropped. */
  readonly watchQueueEvents: number;
  /** A watcher that asked for bookmarks gets one at the latest when so many changes did not concern it. */
  readonly bookmarkEveryEvents: number;
}

/** The whole state, as JSON. */
export interface ServerSnapshot extends JsonObject {
  format: "lockstep-apiserver/1";
  resourceVersion: number;
  objects: { resource: string; object: KubeObject }[];
}

export interface ApiServerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log?: Log;
  /** Shows in logs, for servers of a fleet. */
  readonly name?: string;
  readonly limits?: Partial<ServerLimits>;
  readonly authorizer?: Authorizer;
  /** State to begin with, from snapshot(). */
  readonly storage?: ServerSnapshot;
  /** Give all servers of one process the same: compiling schemas is most of what a server's start costs. */
  readonly schemas?: SchemaCache;
  /** False leaves metadata.managedFields of plain writes alone (server-side apply still tracks its own): cheaper. */
  readonly trackUpdates?: boolean;
}

/** A change that was stored. `object` is the new state, or for DELETED the last one with the deletion's version. */
export interface Commit {
  readonly type: "ADDED" | "MODIFIED" | "DELETED";
  readonly key: ObjectKey;
  readonly object: KubeObject;
  readonly old: KubeObject | undefined;
  readonly resourceVersion: number;
}

/** Answers for a path prefix outside the object store: the cluster proxy of the embedded fleet, documents, metrics. */
export interface Route {
  /** Begins and ends with '/'; the longest matching prefix wins. */
  readonly prefix: string;
  handle(request: ServerRequest): Promise<HttpResponse>;
  /** For watches; absent: the answer of handle() as one chunk. */
  stream?(request: ServerRequest): Promise<HttpStream>;
}

export type { Headers, HttpResponse, HttpStream };

/** discovery.ts and openapi.ts each export one: answers GET of its own paths, undefined for all others. */
export type DocumentHandler = (
  request: { readonly path: string; readonly query: URLSearchParams; readonly headers: Headers },
  registry: RegistryView,
) => HttpResponse | undefined;

/** What table.ts exports as `renderTable`: a meta.k8s.io/v1 Table of these objects (of the definition's version). */
export type TableRenderer = (
  definition: ResourceDefinition,
  objects: readonly KubeObject[],
  options: {
    readonly includeObject: "None" | "Metadata" | "Object";
    /** The list's metadata (resourceVersion, continue), or the single object's resourceVersion. */
    readonly metadata: JsonObject;
    /** Later events of a watch leave the column definitions out. */
    readonly withColumns: boolean;
    readonly nowMs: number;
  },
) => JsonObject;

/** The kinds served now. */
export interface RegistryView {
  /** Moves with every change of the kinds, so that documents can be cached by it. */
  readonly revision: number;
  /** Groups in the order of discovery (core first, built-in before CRDs'), each with its versions, preferred first. */
  groups(): readonly { readonly group: string; readonly versions: readonly string[] }[];
  definitions(group: string, version: string): readonly ResourceDefinition[];
  find(group: string, version: string, plural: string): ResourceDefinition | undefined;
  findKind(apiVersion: string, kind: string): ResourceDefinition | undefined;
}
