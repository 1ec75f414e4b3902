/** The image of a template: at the top of a custom kind's spec, or in a StatefulSet's first container. Pure. */
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";

export function imageOf({ spec }: KubeObject): string | undefined {
  const image = isJsonObject(spec) ? (spec.image ?? containersOf(spec)[0]?.image) : undefined;
  return typeof image === "string" ? image : undefined;
}

/** As the spec of a merge patch. */
export function withImage({ spec }: KubeObject, image: string): JsonObject {
  if (!isJsonObject(spec) || spec.image !== undefined) return { image };
  const [first, ...others] = containersOf(spec);
  return { template: { spec: { containers: [{ ...first, image }, ...others] } } };
}

/** Without the tag. A colon before a slash is a port. */
export function withoutTag(image: string): string {
  return image.replace(/:[^:/]*$/, "");
}

function containersOf(spec: JsonObject): JsonObject[] {
  const pod = isJsonObject(spec.template) && isJsonObject(spec.template.spec) ? spec.template.spec : {};
  return Array.isArray(pod.containers) ? pod.containers.filter(isJsonObject) : [];
}
