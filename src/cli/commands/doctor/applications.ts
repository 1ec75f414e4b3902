/** What `doctor` checks of DistributedApplications: whether their kinds can be delivered and read in every member. */
import { type KubeObject, NotFoundError, resource, StatusError, UnknownKindError } from "../../../kube/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";
import type { Hub } from "../../hub/hub.ts";
import type { Finding } from "./findings.ts";

const APPLICATIONS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "DistributedApplication",
  plural: "distributedapplications",
  namespaced: true,
});
const READ = ["get", "list", "watch"];
/** A hub with more applications than this is checked by the first of them. */
const APPLICATIONS_MAX = 1000;

/** A kind that some application distributes, as the hub serves it. */
export interface DistributedKind {
  readonly group: string;
  readonly plural: string;
}

export interface DistributedKinds {
  readonly kinds: readonly DistributedKind[];
  readonly findings: readonly Finding[];
}

/** The kinds that applications distribute now, by their status; kinds that the hub does not serve are findings. */
export async function distributedKinds(hub: Hub, isKarmada: boolean): Promise<DistributedKinds> {
  const objects = await applicationsOf(hub);
  const found = new Map<string, { apiVersion: string; kind: string; app: string }>();
  for (const { metadata, status } of objects) {
    const rows = isJsonObject(status) && Array.isArray(status.objects) ? status.objects.filter(isJsonObject) : [];
    for (const { apiVersion, kind } of rows) {
      if (typeof apiVersion !== "string" || typeof kind !== "string") continue;
      const id = `${apiVersion}/${kind}`;
      if (!found.has(id)) found.set(id, { apiVersion, kind, app: `${metadata.namespace}/${metadata.name}` });
    }
  }
  const kinds: DistributedKind[] = [];
  const findings: Finding[] = [];
  for (const { apiVersion, kind, app } of found.values()) {
    try {
      const { plural } = await hub.client.discovery.resource(apiVersion, kind, hub.request);
      kinds.push({ group: apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "", plural });
    } catch (error) {
      if (!(error instanceof UnknownKindError)) throw error;
      if (!isKarmada) continue;
      findings.push({
        check: "applications",
        state: "problem",
        message: `DistributedApplication ${app} has a ${kind} of ${apiVersion}, which the hub does not serve: Karmada cannot deliver it`,
        remedy: "Create its CustomResourceDefinition on the hub, too.",
      });
    }
  }
  return { kinds, findings };
}

async function applicationsOf({ client, request }: Hub): Promise<KubeObject[]> {
  try {
    return (await client.listAll(APPLICATIONS, request)).items.slice(0, APPLICATIONS_MAX);
  } catch (error) {
    // Its CRD is not installed, or this identity may not read it: other checks say so.
    if (error instanceof NotFoundError || error instanceof StatusError) return [];
    throw error;
  }
}

type Ask = (right: { group: string; named: string; verb: string }) => Promise<boolean | undefined>;

/** Which rights to read distributed kinds are missing in one member. */
export async function checkDistributed(
  member: string,
  kinds: readonly DistributedKind[],
  ask: Ask,
): Promise<Finding[]> {
  const check = `applications in ${member}`;
  const missing: string[] = [];
  const options: string[] = [];
  for (const { group, plural } of kinds) {
    const named = group === "" ? plural : `${plural}.${group}`;
    const denied: string[] = [];
    for (const verb of READ) if ((await ask({ group, named: plural, verb })) === false) denied.push(verb);
    if (denied.length === 0) continue;
    missing.push(`${denied.join(", ")} ${named}`);
    if (group !== "" || plural === "secrets") options.push(` --distribute ${named}`);
  }
  if (kinds.length === 0) return [];
  if (missing.length === 0) {
    return [{ check, state: "ok", message: `all ${kinds.length} kinds that applications distribute can be read` }];
  }
  return [
    {
      check,
      state: "problem",
      message: `not allowed to this identity: ${missing.join("; ")}. The health of such objects stays unknown, and rollouts wait`,
      remedy: `As an administrator of the hub: lockstep install --apply${options.join("")}, in addition to the options that you use already.`,
    },
  ];
}
