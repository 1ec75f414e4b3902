import { CROSS_CLUSTER_JOB } from "../../api/index.ts";
import { type KubeObject, resource } from "../../kube/index.ts";
import { CommandError } from "../errors.ts";
import { parseKindName } from "../terminal/kind-name.ts";
import { nearest } from "../terminal/nearest.ts";
import type { Hub } from "./hub.ts";

export const CROSS_CLUSTER_JOBS = resource({
  apiVersion: `${CROSS_CLUSTER_JOB.group}/${CROSS_CLUSTER_JOB.version}`,
  kind: CROSS_CLUSTER_JOB.kind,
  plural: CROSS_CLUSTER_JOB.plural,
  namespaced: true,
});

/** The CrossClusterJob, or an error that suggests another one. */
export async function getJob({ client, namespace, request }: Hub, given: string): Promise<KubeObject> {
  const { name } = parseKindName(given);
  const found = await client.find(CROSS_CLUSTER_JOBS, { namespace, name }, request);
  if (found) return found;
  await client.discovery.resource(CROSS_CLUSTER_JOBS.apiVersion, CROSS_CLUSTER_JOBS.kind, request);
  const { items } = await client.listAll(CROSS_CLUSTER_JOBS, { namespace, ...request });
  const names = items.map(({ metadata }) => metadata.name);
  const like = nearest(name, names);
  const hint = like ? `did you mean '${like}'?` : names.length > 0 ? `there are: ${names.join(", ")}` : "there is none";
  throw new CommandError(`CrossClusterJob ${namespace}/${name} does not exist; ${hint}`);
}
