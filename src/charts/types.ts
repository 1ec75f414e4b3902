import type { KubeObject } from "../kube/index.ts";
import type { JsonObject } from "../runtime/index.ts";

/** Where an application's objects come from. */
export type ChartSource =
  | {
      readonly kind: "helm";
      readonly chart: ChartLocation;
      readonly releaseName: string;
      /** Layers in order, the lowest first: maps are merged, lists are replaced, null deletes a key. */
      readonly values: readonly JsonObject[];
      /** Those of the layers that come from Secrets: nothing of them may be in a message. */
      readonly secretValues?: readonly JsonObject[] | undefined;
    }
  | { readonly kind: "kustomize"; readonly path: string; readonly archive: ArchiveLocation }
  | { readonly kind: "manifests"; readonly objects: readonly JsonObject[] }
  | { readonly kind: "manifestText"; readonly text: string };

export type ChartLocation =
  | {
      readonly repository: string;
      readonly chart: string;
      /** Exact or a range, as Helm reads it. */
      readonly version: string;
      readonly credentials?: Credentials | undefined;
    }
  | OciLocation
  | { readonly archive: ArchiveLocation };

/** `oci://host/path`, or `oci://host/path@sha256:...`, which needs no version. */
export interface OciLocation {
  readonly oci: string;
  /** A tag or a range over the tags. */
  readonly version: string;
  readonly credentials?: Credentials | undefined;
}

export type ArchiveLocation =
  | { readonly bytes: Uint8Array }
  | { readonly url: string; readonly sha256: string; readonly credentials?: Credentials | undefined }
  | OciLocation;

/** Sent only to the host that the location names. Never logged, never part of a message. */
export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
  /** PEM of a private CA that signed the host's certificate; the system's CAs if absent. */
  readonly ca?: string | undefined;
}

/** What Helm's `lookup` sees: this application's own objects, nothing, or an error. */
export type Lookups = "Own" | "Empty" | "Refuse";

export interface RenderRequest {
  readonly source: ChartSource;
  readonly namespace: string;
  /** Of the members that get the result, such as `v1.36.4`. */
  readonly kubeVersion: string;
  /** `group/version` and `group/version/Kind`. */
  readonly apiVersions: readonly string[];
  readonly isUpgrade: boolean;
  readonly lookups: Lookups;
  /** What this application distributed before: the only objects that `lookup` may see. */
  readonly previousObjects: readonly KubeObject[];
  /** Who asks, such as the application's namespace: random values of one tenant are never given to another. */
  readonly tenant: string;
}

export const HOOK_EVENTS = [
  "pre-install",
  "post-install",
  "pre-upgrade",
  "post-upgrade",
  "pre-delete",
  "post-delete",
  "pre-rollback",
  "post-rollback",
  "test",
] as const;
export type HookEvent = (typeof HOOK_EVENTS)[number];

export interface Hook {
  readonly events: readonly HookEvent[];
  /** Hooks of one event run in ascending order of weight, then of name and kind. */
  readonly weight: number;
  /** Never empty: without a policy Helm means `before-hook-creation`. */
  readonly deletePolicies: readonly string[];
}

export interface RenderedObject {
  readonly object: KubeObject;
  readonly hook?: Hook;
  /** `helm.sh/resource-policy: keep`: never pruned, never deleted with the application. */
  readonly keep: boolean;
  readonly isCrd: boolean;
  /** The template that made it, if the program says so: for messages. */
  readonly template?: string;
}

export interface Rendered {
  readonly kind: "rendered";
  /** CRDs first, then in apply order; hooks come last, in the order in which they run. */
  readonly objects: readonly RenderedObject[];
  /** Of the objects' content: two results with one digest are the same. */
  readonly digest: string;
  readonly chartVersion?: string;
  /** `sha256:` of the archive that was rendered. */
  readonly sourceDigest?: string;
  readonly warnings: readonly string[];
}

export type RefusalReason =
  | "RenderFailed"
  | "SourceUnavailable"
  | "DigestMismatch"
  | "BadArchive"
  | "LookupRefused"
  | "NotDeterministic"
  | "TooLarge"
  | "DuplicateObject"
  | "ProgramMissing"
  | "InvalidManifest"
  | "EmptyRender";

export interface Refused {
  readonly kind: "refused";
  readonly reason: RefusalReason;
  /** What failed, with the program's own words where a program refused. */
  readonly message: string;
  readonly remedy: string;
}

export type RenderResult = Rendered | Refused;

export type ProgramStatus =
  | { readonly kind: "found"; readonly path: string; readonly version: string }
  | { readonly kind: "missing"; readonly message: string; readonly remedy: string };

export interface ProgramReport {
  readonly helm: ProgramStatus;
  readonly kustomize: ProgramStatus;
  /** How the programs are kept off the network: by a network namespace of their own, or only by proxies that do not exist. */
  readonly network: "Namespace" | "DeadProxies";
}

export interface Renderer {
  /** Rejects only if the signal aborts; everything else is a refusal. */
  render(request: RenderRequest, signal: AbortSignal): Promise<RenderResult>;
  programs(): Promise<ProgramReport>;
}
