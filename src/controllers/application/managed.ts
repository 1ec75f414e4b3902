import type { ParsedDistributedApplication } from "../../api/index.ts";
import type { ObjectRef } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";

/** A workload inside that has a CrossClusterStatefulset is left to it. */
export function managedIn(
  { spec: { targetNamespace } }: ParsedDistributedApplication,
  statefulsets: readonly KubeObject[],
): (ref: ObjectRef) => boolean {
  const managed = new Set(
    statefulsets.flatMap(({ metadata, spec }) => {
      const { resourceSelector, template } = isJsonObject(spec) ? spec : {};
      const selected = isJsonObject(resourceSelector) ? resourceSelector : {};
      const inline = isJsonObject(template) ? template : undefined;
      const given = inline && isJsonObject(inline.metadata) ? inline.metadata.name : undefined;
      const [kind, name] = inline ? [inline.kind, given ?? metadata.name] : [selected.kind, selected.name];
      return metadata.namespace === targetNamespace && typeof name === "string" ? [`${kind}/${name}`] : [];
    }),
  );
  return ({ kind, namespace, name }) => namespace === targetNamespace && managed.has(`${kind}/${name}`);
}
