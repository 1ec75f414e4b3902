import type { JsonObject } from "../../runtime/index.ts";
import type { KubeObject } from "../types.ts";

/** The format of objects that a client wants: whole, as a Table of what kubectl prints, or only their metadata. */
export type AnswerForm = "object" | "table" | "metadata";

const FORMS: Readonly<Record<string, AnswerForm>> = {
  "as=Table": "table",
  "as=PartialObjectMetadata": "metadata",
  "as=PartialObjectMetadataList": "metadata",
};

/**
 * A list must be requested as a list, and an object, or a watch's object, as an object: anything else is refused, as in
 * Kubernetes.
 */
export function isWrongForm(accept: string | undefined, isList: boolean): boolean {
  const wrong = isList ? "PartialObjectMetadata" : "PartialObjectMetadataList";
  return new RegExp(`as=${wrong}(?:[;,\\s]|$)`).test(accept ?? "");
}

/** The first format in Accept that this server supports. */
export function answerForm(accept: string | undefined): AnswerForm {
  for (const range of (accept ?? "").split(",")) {
    const [type, ...parameters] = range.split(";").map((each) => each.trim());
    if (type !== "application/json" && type !== "*/*" && type !== "application/*") continue;
    const as = parameters.find((each) => each.startsWith("as="));
    if (as === undefined) return "object";
    const form = FORMS[as];
    if (form && parameters.includes("v=v1") && parameters.includes("g=meta.k8s.io")) return form;
  }
  return "object";
}

export const METADATA_TYPE = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };

/** An object for a client that requested only metadata. */
export function metadataOf({ metadata }: KubeObject): JsonObject {
  return { ...METADATA_TYPE, metadata };
}
