/** What `doctor` checks on a hub of Open Cluster Management only: its clusters, and what Lockstep can know of them. */
import { CLUSTERS_IN_USE, type Workload } from "../../../api/index.ts";
import { type EngineDefinition, EXECUTOR_WORK, executorOf, MEMBER_ACCESS_LABEL } from "../../../engine/index.ts";
import { type KubeClient, type KubeObject, resource, StatusError } from "../../../kube/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import type { Hub } from "../../hub/hub.ts";
import { withMember } from "../../hub/members.ts";
import { agentMayApplyAndWatch, MEMBER_RIGHTS_WORK } from "../install/ocm.ts";
import type { DistributedKind } from "./applications.ts";
import type { Finding } from "./findings.ts";

const WORKS = resource({
  apiVersion: "work.open-cluster-management.io/v1",
  kind: "ManifestWork",
  plural: "manifestworks",
  namespaced: true,
});
const DEFINITIONS = resource({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });

/** What an agent's reports alone never prove; gates and deletions that need it wait, and the status says so. */
const UNPROVEN =
  "pods that Lockstep did not name, claims that exist, what quotas leave, what a dry run would refuse, and the content of objects that others created. A broken pod that blocks a rollback cannot be deleted there";

/** Whether ManifestWorks have the field with which agents report at once (OCM 1.2). */
export async function checkFeedback({ client, request }: Hub): Promise<Finding[]> {
  const found = await client.find(DEFINITIONS, { name: "manifestworks.work.open-cluster-management.io" }, request);
  if (!found) return [];
  const check = "reports of agents";
  if (JSON.stringify(found.spec).includes("feedbackScrapeType")) {
    return [{ check, state: "ok", message: "agents can report changes at once (feedbackScrapeType)" }];
  }
  return [
    {
      check,
      state: "warning",
      message: "ManifestWorks have no field feedbackScrapeType: agents poll, and every step takes 10 to 60 s longer",
      remedy: "Update Open Cluster Management to 1.2 or later.",
    },
  ];
}

/** Whether clusters that hold something of Lockstep's are kept from being detached. */
export async function checkClustersInUse({ client, request }: Hub, namespace: string): Promise<Finding[]> {
  const check = "clusters in use";
  const found = await client.find(CONFIG_MAPS, { namespace, name: CLUSTERS_IN_USE }, request);
  if (!found) {
    return [
      {
        check,
        state: "problem",
        message: `ConfigMap ${namespace}/${CLUSTERS_IN_USE} does not exist: a cluster can be detached before it is drained`,
        remedy: "As an administrator of the hub: lockstep install --apply, with the same options as before.",
      },
    ];
  }
  const names = Object.keys(isJsonObject(found.data) ? found.data : {});
  const message =
    names.length === 0 ? "none" : `${names.sort().join(", ")}: they can be detached only after they were drained`;
  return [{ check, state: "ok", message }];
}

export async function checkManagedCluster(
  hub: Hub,
  engine: EngineDefinition,
  cluster: KubeObject,
  kinds: { readonly workloads: readonly Workload[]; readonly distributed: readonly DistributedKind[] },
  timeoutMs: number,
): Promise<Finding[]> {
  const { name, deletionTimestamp } = cluster.metadata;
  const check = `member ${name}`;
  if (deletionTimestamp !== undefined) {
    const message = "is being detached: Lockstep can no longer drain it, and what runs there stays as it is";
    const remedy = `Schedule no instances there, then: lockstep confirm-lost ${name}. Next time, first: lockstep drain ${name} --move-instances`;
    return [{ check, state: "problem", message, remedy }];
  }
  const facts = engine.readCluster(cluster);
  if (facts?.state !== "Ready") {
    const why = facts ? "its agent does not report" : "it has not joined, or was not accepted";
    const remedy = `kubectl describe managedcluster ${name}`;
    return [{ check, state: "problem", message: `is not available: ${why}`, remedy }];
  }
  return [
    await checkAccess(hub, engine, name, timeoutMs),
    ...(await checkMemberRights(hub.client, hub, name, kinds)),
    ...(await checkExecutor(hub, name)),
  ];
}

async function checkAccess(hub: Hub, engine: EngineDefinition, name: string, timeoutMs: number): Promise<Finding> {
  const check = `member ${name}`;
  try {
    const version = await withMember(hub, engine, name, ({ client }) =>
      client.getJson("/version", { ...hub.request, timeoutMs, maxAttempts: 1 }),
    );
    const message = `is available, and its own API server answers (Kubernetes ${String(version.gitVersion ?? "of unknown version")})`;
    return { check, state: "ok", message };
  } catch (error) {
    // The remedy says what is missing if there is no Secret; one that does not work is worth its reason.
    const why = error instanceof CommandError ? "" : ` (${error instanceof Error ? error.message : String(error)})`;
    return {
      check,
      state: "warning",
      message: `is available, and known by its agent's reports alone${why}. They do not prove: ${UNPROVEN}`,
      remedy: `To let Lockstep read it: a Secret labelled ${MEMBER_ACCESS_LABEL}=true in namespace ${name} of the hub, with server, ca.crt and token (docs/guides/ocm.md).`,
    };
  }
}

/** The account that the agent acts as, if one is installed. */
async function checkExecutor({ client, request }: Hub, name: string): Promise<Finding[]> {
  const check = `executor of ${name}`;
  try {
    const work = await client.find(WORKS, { namespace: name, name: EXECUTOR_WORK }, request);
    const executor = executorOf(work);
    if (!work || !executor) return [];
    const account = `${executor.namespace}/${executor.name}`;
    const remedy = `As an administrator of the hub: lockstep install --apply --executor ${account}, with the same options as before.`;
    const conditions = isJsonObject(work.status) && Array.isArray(work.status.conditions) ? work.status.conditions : [];
    const applied = conditions.filter(isJsonObject).find(({ type }) => type === "Applied");
    if (applied?.status === "True") return [{ check, state: "ok", message: `the agent acts as ${account}` }];
    const message = `${account} is not there yet: ${String(applied?.message ?? "no report")}`;
    return [{ check, state: "problem", message, remedy }];
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [{ check, state: "warning", message: `cannot be checked: ${error.message}` }];
  }
}

/** Custom kinds: the agent may write, list and watch them only with the role that `install` carries there. */
async function checkMemberRights(
  client: KubeClient,
  { request }: Pick<Hub, "request">,
  name: string,
  {
    workloads,
    distributed,
  }: { readonly workloads: readonly Workload[]; readonly distributed: readonly DistributedKind[] },
): Promise<Finding[]> {
  if (workloads.length === 0 && distributed.length === 0) return [];
  const check = `rights: agent of ${name}`;
  try {
    const work = await client.find(WORKS, { namespace: name, name: MEMBER_RIGHTS_WORK }, request);
    const missing = [...workloads, ...distributed].filter((kind) => !work || !agentMayApplyAndWatch(work, kind));
    const custom = missing.filter(({ group }) => group !== "").map(({ plural, group }) => `${plural}.${group}`);
    const options = custom.map((kind) => ` --distribute ${kind}`).join("");
    const remedy = `As an administrator of the hub: lockstep install --apply${options}, in addition to the options that you use already.`;
    if (!work || missing.length > 0) {
      const names = missing.map(({ plural, group }) => (group === "" ? plural : `${plural}.${group}`));
      const message = `ManifestWork ${name}/${MEMBER_RIGHTS_WORK} is missing or outdated: the agent may not apply and watch ${names.join(", ")}`;
      return [{ check, state: "problem", message, remedy }];
    }
    const conditions = isJsonObject(work.status) && Array.isArray(work.status.conditions) ? work.status.conditions : [];
    const applied = conditions.filter(isJsonObject).find(({ type }) => type === "Applied");
    if (applied?.status === "True")
      return [{ check, state: "ok", message: "may apply and watch all kinds that are used" }];
    return [
      { check, state: "problem", message: `are not applied yet: ${String(applied?.message ?? "no report")}`, remedy },
    ];
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    return [{ check, state: "warning", message: `cannot be checked: ${error.message}` }];
  }
}
