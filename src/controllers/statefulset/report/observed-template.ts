import { type CrossClusterStatefulsetStatus, MAX_LISTED_DEPENDENCIES } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { metadataDigest } from "../../../render/index.ts";
import type { SeenSources } from "../revise/revise.ts";

/** What of the hub a status rests on, in terms that a reader can compare with the objects themselves. */
export function observedTemplate(
  template: KubeObject,
  seen: SeenSources | undefined,
): NonNullable<CrossClusterStatefulsetStatus["observedTemplate"]> {
  const { uid, generation, namespace } = template.metadata;
  return {
    ...(uid !== undefined && { uid }),
    ...(generation !== undefined && { generation }),
    metadata: metadataDigest(template),
    ...(seen && {
      revision: seen.revision,
      dependencies: seen.dependencies.slice(0, MAX_LISTED_DEPENDENCIES).map(({ ref, resourceVersion }) => ({
        kind: ref.kind,
        ...(ref.namespace !== undefined && ref.namespace !== namespace && { namespace: ref.namespace }),
        name: ref.name ?? "",
        ...(resourceVersion !== undefined && { resourceVersion }),
      })),
    }),
  };
}
