/** Deletes what `install --apply` created on the hub, in the reverse order: the kinds last. */
import { customResourceDefinitions } from "../../../api/index.ts";
import { type EngineDefinition, EXECUTOR_WORK, unprotectedHold } from "../../../engine/index.ts";
import { isKubeObject, type KubeObject, NotFoundError, resource, UnknownKindError } from "../../../kube/index.ts";
import type { Hub } from "../../hub/hub.ts";
import { installManifests, STANDING_HOLD_LABEL } from "../install/manifests.ts";
import { MEMBER_RIGHTS_WORK } from "../install/ocm.ts";

const MANIFEST_WORKS = resource({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "ManifestWork",
  plural: "manifestworks",
  namespaced: true,
});
const STATEFULSETS = resource({ apiVersion: "apps/v1", kind: "StatefulSet", plural: "statefulsets", namespaced: true });
const OUR_KINDS = new Set(
  customResourceDefinitions()
    .filter(isKubeObject)
    .map(({ metadata }) => metadata.name),
);

export async function removeHubSet(
  hub: Hub,
  engine: EngineDefinition,
  systemNamespace: string,
  say: (line: string) => void,
): Promise<void> {
  if (engine.name === "ocm") await removeMemberRights(hub, engine, say);
  const settings = { systemNamespace, engine: engine.name, workloads: [], standingHold: true };
  for (const manifest of installManifests(settings).filter(isKubeObject).reverse()) {
    if (!isOurs(manifest)) continue;
    if (await removeOne(hub, manifest)) say(`${manifest.kind} ${manifest.metadata.name} deleted`);
  }
}

/** The namespace may hold more than Lockstep's objects, and so may a kind that another project defines. */
function isOurs({ kind, metadata }: KubeObject): boolean {
  if (kind === "Namespace") return false;
  return kind !== "CustomResourceDefinition" || OUR_KINDS.has(metadata.name);
}

/** Whether it was there. */
async function removeOne({ client, request }: Hub, { apiVersion, kind, metadata }: KubeObject): Promise<boolean> {
  try {
    const of = await client.discovery.resource(apiVersion, kind, request);
    const found = await client.find(of, metadata, request);
    if (found === undefined) return false;
    // Karmada deletes nothing that is protected.
    const unprotected = unprotectedHold(found);
    if (unprotected) await client.update(of, unprotected, request);
    await client.delete(of, metadata, { propagation: "Background", ...request });
    return true;
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof UnknownKindError) return false;
    throw error;
  }
}

async function removeMemberRights(hub: Hub, engine: EngineDefinition, say: (line: string) => void): Promise<void> {
  const { client, request } = hub;
  const { items } = await client.listAll(engine.clusters, request);
  for (const { metadata: cluster } of items) {
    for (const name of [MEMBER_RIGHTS_WORK, EXECUTOR_WORK]) {
      const at = { namespace: cluster.name, name };
      if ((await client.find(MANIFEST_WORKS, at, request)) === undefined) continue;
      await client.delete(MANIFEST_WORKS, at, { propagation: "Background", ...request });
      say(`ManifestWork ${name} for cluster ${cluster.name} deleted`);
    }
  }
}

/** Templates that only the standing hold keeps from being rendered. */
export async function templatesHeldOnlyByLabel(
  { client, request }: Hub,
  { name }: EngineDefinition,
): Promise<string[]> {
  if (name !== "karmada") return [];
  const labelSelector = `${STANDING_HOLD_LABEL}=true`;
  const { items } = await client.listAll(STATEFULSETS, { ...request, labelSelector });
  return items.map(({ metadata }) => `StatefulSet ${metadata.namespace}/${metadata.name}`);
}
