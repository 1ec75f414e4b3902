import { type CrossClusterStatefulsetStatus, parseCrossClusterStatefulset } from "../../api/index.ts";
import type { KubeObject } from "../../kube/index.ts";

/** Any status that can be read. */
const NO_TEMPLATE = { apiVersion: "v1", kind: "None", name: "none" };

export function statusOf(object: KubeObject): CrossClusterStatefulsetStatus {
  const parsed = parseCrossClusterStatefulset(object);
  if (parsed.ok) return parsed.value.status ?? {};
  // The status of an object with an invalid spec is still useful: it is parsed with an empty spec.
  const alone = parseCrossClusterStatefulset({ ...object, spec: { resourceSelector: NO_TEMPLATE } });
  return alone.ok ? (alone.value.status ?? {}) : {};
}
