import { createHash } from "node:crypto";
import type { Renderer } from "../../charts/index.ts";
import { canonicalText } from "../../runtime/index.ts";
import { isManifest } from "./manifest.ts";

/** What this folder needs of the room that renders. */
export type SourceRenderer = Pick<Renderer, "render">;

const KEEP_ANNOTATION = "helm.sh/resource-policy";

/** Takes inline objects as they are; every other source needs a renderer with programs. */
export const inlineRenderer: SourceRenderer = {
  async render({ source }) {
    if (source.kind !== "manifests") {
      return {
        kind: "refused",
        reason: "ProgramMissing",
        message: `this controller cannot render ${source.kind}`,
        remedy: "Start the controller with the renderer's programs, or use manifests.inline.",
      };
    }
    const bad = source.objects.findIndex((object) => !isManifest(object));
    if (bad >= 0) {
      return {
        kind: "refused",
        reason: "InvalidManifest",
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
