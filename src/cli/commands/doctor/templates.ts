/** Whether the hub serves what every CrossClusterStatefulset selects. */
import { selectedWorkload } from "../../../api/index.ts";
import { explainMissingKind, ForbiddenError, type KubeObject, UnknownKindError } from "../../../kube/index.ts";
import { type Hub, listStatefulsets } from "../../hub/hub.ts";
import type { Finding } from "./findings.ts";

export async function checkTemplates(hub: Hub): Promise<Finding[]> {
  const check = "templates";
  const objects = await applications(hub);
  const findings: Finding[] = [];
  for (const [selected, names] of selectedKinds(objects)) {
    const [apiVersion = "", kind = ""] = selected.split(" ");
    try {
      await hub.client.discovery.resource(apiVersion, kind, hub.request);
    } catch (error) {
      if (!(error instanceof UnknownKindError)) throw error;
      const why = await explainMissingKind(hub.client.discovery, apiVersion, kind, hub.request);
      findings.push({
        check,
        state: "problem",
        message: `${names.join(", ")}: ${why}`,
        remedy: "Install its CustomResourceDefinition on the hub, or create the object again with the right kind.",
      });
    }
  }
  if (findings.length > 0) return findings;
  return [{ check, state: "ok", message: `the hub serves what ${objects.length} CrossClusterStatefulsets select` }];
}

async function applications(hub: Hub): Promise<KubeObject[]> {
  try {
    return await listStatefulsets(hub, undefined);
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    return listStatefulsets(hub, hub.namespace);
  }
}

/** By `apiVersion kind`: the objects that select it. */
function selectedKinds(objects: readonly KubeObject[]): Map<string, string[]> {
  const kinds = new Map<string, string[]>();
  for (const object of objects) {
    const { metadata } = object;
    const selected = selectedWorkload(object);
    // An inline template need not be served by the hub.
    if (!selected || selected.isInline) continue;
    const key = `${selected.apiVersion} ${selected.kind}`;
    kinds.set(key, [...(kinds.get(key) ?? []), `CrossClusterStatefulset ${metadata.namespace}/${metadata.name}`]);
  }
  return kinds;
}
