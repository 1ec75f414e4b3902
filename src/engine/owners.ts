import type { KubeObject } from "../kube/index.ts";
import { isJsonObject } from "../runtime/index.ts";
import { KARMADA_MANAGED } from "./karmada/resources.ts";

/**
 * Who else keeps an object of a member in shape, in words; undefined: nothing says so. Two owners would write over each
 * other without end. Only what acts by itself counts: a Helm release in the cluster, for example, does not.
 */
export function otherOwnerOf({ metadata }: KubeObject): string | undefined {
  if (metadata.labels?.[KARMADA_MANAGED] === "true") return "Karmada, for another object of the hub";
  const { ownerReferences } = metadata;
  const references = Array.isArray(ownerReferences) ? ownerReferences.filter(isJsonObject) : [];
  const owner = references.find(({ controller, kind }) => controller === true || kind === "AppliedManifestWork");
  return owner && `${String(owner.kind)} ${String(owner.name)}`;
}
