import { createHash } from "node:crypto";
import type { KubeObject } from "../../kube/index.ts";
import { canonicalText, type JsonObject } from "../../runtime/index.ts";
import { isManifest } from "./manifest.ts";

/** What a renderer is asked, and what it answers: the interface of the room that renders charts. */
export interface RenderRequest {
  readonly source: ChartSource;
  readonly namespace: string;
  readonly kubeVersion: string;
  readonly apiVersions: readonly string[];
  readonly isUpgrade: boolean;
  readonly lookups: "Own" | "Empty" | "Refuse";
  readonly previousObjects: readonly KubeObject[];
}

export type ChartSource =
  | {
      readonly kind: "helm";
      readonly chart: ChartLocation;
      readonly releaseName: string;
      readonly values: readonly JsonObject[];
    }
  | { readonly kind: "kustomize"; readonly path: string; readonly archive: ArchiveLocation }
  | { readonly kind: "manifests"; readonly objects: readonly JsonObject[] }
  | { readonly kind: "manifestText"; readonly text: string };

export interface Credentials {
  readonly username?: string;
  readonly password?: string;
  readonly token?: string;
  readonly ca?: string;
}

export type ChartLocation =
  | {
      readonly repository: string;
      readonly chart: string;
      readonly version: string;
      readonly credentials?: Credentials;
    }
  | { readonly oci: string; readonly version: string; readonly credentials?: Credentials }
  | { readonly archive: ArchiveLocation };

export type ArchiveLocation = { readonly bytes: Uint8Array } | { readonly url: string; readonly sha256: string };

export interface RenderedObject {
  readonly object: KubeObject;
  readonly hook?: {
    readonly events: readonly string[];
    readonly weight: number;
    readonly deletePolicies: readonly string[];
  };
  readonly keep: boolean;
  readonly isCrd: boolean;
}

export type RenderResult =
  | {
      readonly kind: "rendered";
      readonly objects: readonly RenderedObject[];
      readonly digest: string;
      readonly chartVersion?: string;
      readonly sourceDigest?: string;
      readonly warnings: readonly string[];
    }
  | { readonly kind: "refused"; readonly reason: string; readonly message: string; readonly remedy: string };

export interface Renderer {
  render(request: RenderRequest, signal: AbortSignal): Promise<RenderResult>;
}

const KEEP_ANNOTATION = "helm.sh/resource-policy";

/** Takes inline objects as they are; every other source needs a renderer with programs. */
export const inlineRenderer: Renderer = {
  async render({ source }) {
    if (source.kind !== "manifests") {
      return {
        kind: "refused",
        reason: "NoRenderer",
        message: `this controller cannot render ${source.kind}`,
        remedy: "Start the controller with the renderer's programs, or use manifests.inline.",
      };
    }
    const bad = source.objects.findIndex((object) => !isManifest(object));
    if (bad >= 0) {
      return {
        kind: "refused",
        reason: "InvalidObject",
        message: `spec.source.manifests.inline[${bad}] has no apiVersion, kind or metadata.name`,
        remedy: "Complete the object.",
      };
    }
    const objects = source.objects.filter(isManifest).map((object) => ({
      object,
      keep: object.metadata.annotations?.[KEEP_ANNOTATION] === "keep",
      isCrd: object.kind === "CustomResourceDefinition",
    }));
    const digest = createHash("sha256")
      .update(canonicalText([...source.objects]))
      .digest("hex");
    return { kind: "rendered", objects, digest, warnings: [] };
  },
};
