import { customResourceDefinitions } from "../../../api/index.ts";
import { ENGINES, type EngineDefinition, findEngines } from "../../../engine/index.ts";
import { ForbiddenError, type KubeObject, resource, StatusError, UnknownKindError } from "../../../kube/index.ts";
import { includesJson, isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { engineOf } from "../../hub/engine.ts";
import type { EngineOption } from "../../hub/engine-option.ts";
import { type Hub, STATEFULSETS, withHub } from "../../hub/hub.ts";
import { LEASE_NAME, readLeader } from "../../hub/leader.ts";
import type { GlobalOptions } from "../../options.ts";
import type { Io } from "../../terminal/io.ts";
import { natural } from "../../terminal/natural.ts";
import { duration, formatOf, print, printData, styleOf } from "../../terminal/output.ts";
import { hubRules, memberRules, type Rule, systemRules } from "../install/roles.ts";
import type { OutputOption } from "../registry.ts";
import { checkDistributed, type DistributedKind, distributedKinds } from "./applications.ts";
import type { Finding } from "./findings.ts";
import { checkClustersInUse, checkFeedback, checkManagedCluster } from "./ocm.ts";
import { checkPolicies, installedSettings } from "./policies.ts";
import { checkRoom } from "./room.ts";
import { checkSettings } from "./settings.ts";
import { checkTemplates } from "./templates.ts";
import { checkTold } from "./told.ts";

const DEFINITIONS = resource({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});
const HOLDS = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "OverridePolicy",
  plural: "overridepolicies",
  namespaced: true,
});
/** The engine's marks on a hold: its owner. */
const HOLD_LABEL = "lockstep.karmada.io/hold=true";
const HOLD_NAMESPACE = "lockstep.karmada.io/app-namespace";
const HOLD_APP = "lockstep.karmada.io/app-name";
/** A member that does not answer within this counts as not reachable. */
const MEMBER_TIMEOUT_MS = 5_000;
export async function runDoctor(io: Io, options: OutputOption & EngineOption & GlobalOptions): Promise<number> {
  const format = formatOf(options.output, ["json", "yaml"]);
  return withHub(io, options, async (hub) => {
    const findings: Finding[] = [];
    const style = styleOf(io);
    const told = (finding: Finding) => {
      findings.push(finding);
      if (format !== "text") return;
      const { check, state, message, remedy } = finding;
      const mark =
        state === "ok" ? style.good("ok     ") : state === "warning" ? style.busy("warning") : style.bad("problem");
      print(io, `${mark}  ${check}: ${message}${remedy === undefined ? "" : `\n         ${remedy}`}`);
    };
    await examine(hub, options.engine, told);
    const problems = findings.filter(({ state }) => state === "problem").length;
    if (format === "text") print(io, problems === 0 ? "\nNo problems found." : `\n${problems} problems.`);
    else printData(io, format, findings);
    return problems === 0 ? 0 : 1;
  });
}

async function examine(hub: Hub, named: string | undefined, tell: (finding: Finding) => void): Promise<void> {
  tell(await checkHub(hub));
  // A server that is no hub of any engine is examined as Karmada's: the findings say what is missing.
  const [found, another] = await findEngines(hub.client, hub.request);
  const engine =
    named === undefined && another === undefined ? ENGINES[found ?? "karmada"] : await engineOf(hub, named);
  const kinds = await checkKinds(hub, engine);
  tell(kinds);
  for (const finding of await asFarAsAllowed("CRDs", () => checkDefinitions(hub))) tell(finding);
  const settings = { ...(await installedSettings(hub)), ...(engine.name === "ocm" && { engine: engine.name }) };
  const { workloads, systemNamespace } = settings;
  for (const finding of await asFarAsAllowed("admission policies", () => checkPolicies(hub, settings))) tell(finding);
  for (const finding of await asFarAsAllowed("controller", () => checkController(hub, engine, systemNamespace)))
    tell(finding);
  for (const finding of await checkRights(hub, "hub", "", hubRules({ workloads, engine: engine.name }))) tell(finding);
  for (const finding of await checkRights(hub, `namespace ${systemNamespace}`, "", systemRules(), systemNamespace))
    tell(finding);
  if (kinds.state === "problem") return;
  const isOcm = engine.name === "ocm";
  if (isOcm) {
    for (const finding of await asFarAsAllowed("reports of agents", () => checkFeedback(hub))) tell(finding);
    const inUse = () => checkClustersInUse(hub, systemNamespace);
    for (const finding of await asFarAsAllowed("clusters in use", inUse)) tell(finding);
  }
  const { kinds: distributed, findings: undeliverable } = await distributedKinds(hub, !isOcm);
  for (const finding of undeliverable) tell(finding);
  const { items } = await hub.client.listAll(engine.clusters, hub.request);
  for (const cluster of [...items].sort((a, b) => natural(a.metadata.name, b.metadata.name))) {
    const findings = isOcm
      ? await checkManagedCluster(hub, engine, cluster, { workloads, distributed }, MEMBER_TIMEOUT_MS)
      : await checkMember(hub, cluster, memberRules({ workloads }), distributed);
    for (const finding of [...findings, ...checkRoom(engine, cluster)]) tell(finding);
  }
  if (!isOcm) for (const finding of await checkHolds(hub)) tell(finding);
  const conflicts = isOcm ? () => checkTold(hub) : () => checkSettings(hub, items, MEMBER_TIMEOUT_MS);
  const checks = [() => asFarAsAllowed("settings", conflicts), () => checkTemplates(hub)];
  for (const check of checks) for (const finding of await whereServed(check)) tell(finding);
}

/** Without its CRD there is no CrossClusterStatefulset, and another finding says so. */
async function whereServed(check: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await check();
  } catch (error) {
    if (error instanceof UnknownKindError) return [];
    throw error;
  }
}

/** The controller's own account may not read everything that an administrator may; that is not a problem of the hub. */
async function asFarAsAllowed(check: string, run: () => Promise<Finding[]>): Promise<Finding[]> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof ForbiddenError)) throw error;
    const remedy = "Run 'lockstep doctor' again as an administrator of the hub to check it.";
    return [{ check, state: "warning", message: `this identity may not read: ${error.message}`, remedy }];
  }
}

async function checkHub({ client, server, context, request }: Hub): Promise<Finding> {
  const version = await client.getJson("/version", request);
  return {
    check: "hub",
    state: "ok",
    message: `${server} (context ${context}) answers, Kubernetes ${String(version.gitVersion ?? "of unknown version")}`,
  };
}

async function checkKinds({ client, request }: Hub, { kinds, title, since }: EngineDefinition): Promise<Finding> {
  const missing: string[] = [];
  for (const [apiVersion, kind] of kinds) {
    try {
      await client.discovery.resource(apiVersion, kind, request);
    } catch (error) {
      if (!(error instanceof UnknownKindError)) throw error;
      missing.push(`${kind} (${apiVersion})`);
    }
  }
  if (missing.length === 0)
    return { check: "engine", state: "ok", message: `${title}'s kinds are served in the versions that are used` };
  return {
    check: "engine",
    state: "problem",
    message: `not served: ${missing.join(", ")}`,
    remedy: `Use --context of the hub's API server, or install ${since} or later.`,
  };
}

async function checkDefinitions({ client, request }: Hub): Promise<Finding[]> {
  const findings: Finding[] = [];
  for (const wanted of customResourceDefinitions()) {
    const name = String(isJsonObject(wanted.metadata) ? wanted.metadata.name : "");
    const check = `CRD ${name}`;
    const found = await client.find(DEFINITIONS, { name }, request);
    if (!found) {
      findings.push({ check, state: "problem", message: "is not installed", remedy: "lockstep install --apply" });
    } else if (!includesJson(found.spec, wanted.spec)) {
      findings.push({
        check,
        state: "problem",
        message: "is of another version than this program",
        remedy: "lockstep install --apply",
      });
    } else findings.push({ check, state: "ok", message: "is installed and current" });
  }
  return findings;
}

async function checkController(hub: Hub, engine: EngineDefinition, namespace: string): Promise<Finding[]> {
  const check = "controller";
  const remedy = `Run 'lockstep controller' (docs/guides/${engine.name}.md).`;
  const where = `Lease ${namespace}/${LEASE_NAME}`;
  const { holder, ageMs } = await readLeader(hub, namespace);
  if (holder !== undefined) return [{ check, state: "ok", message: `${holder} leads (${where})` }];
  const message =
    ageMs === undefined
      ? `has never run here: there is no ${where}`
      : `no controller leads (${where}${Number.isFinite(ageMs) ? `, renewed ${duration(ageMs)} ago` : ""})`;
  return [{ check, state: "warning", message, remedy }];
}

async function checkMember(
  hub: Hub,
  cluster: KubeObject,
  rules: readonly Rule[],
  distributed: readonly DistributedKind[],
): Promise<Finding[]> {
  const { name } = cluster.metadata;
  const check = `member ${name}`;
  const status = isJsonObject(cluster.status) ? cluster.status : {};
  const conditions = Array.isArray(status.conditions) ? status.conditions.filter(isJsonObject) : [];
  const ready = conditions.find(({ type }) => type === "Ready");
  if (ready?.status !== "True") {
    const message = `is not Ready: ${String(ready?.message ?? "no condition Ready")}`;
    return [{ check, state: "problem", message, remedy: `kubectl describe cluster ${name}` }];
  }
  const member = hub.client.below("apis", "cluster.karmada.io", "v1alpha1", "clusters", name, "proxy");
  try {
    const version = await member.getJson("/version", { ...hub.request, timeoutMs: MEMBER_TIMEOUT_MS, maxAttempts: 1 });
    const message = `is Ready, and answers through the proxy (Kubernetes ${String(version.gitVersion ?? "of unknown version")})`;
    return [
      { check, state: "ok", message },
      ...(await checkRights(hub, check, member.basePath, rules)),
      ...(await checkDistributed(name, distributed, (right) =>
        mayI(hub, member.basePath, { ...right, namespace: "" }),
      )),
    ];
  } catch (error) {
    return [
      {
        check,
        state: "problem",
        message: `cannot be reached through the cluster proxy: ${error instanceof Error ? error.message : String(error)}`,
        remedy:
          "Lockstep observes members through it: check clusters/proxy rights, and for pull-mode clusters the tunnel.",
      },
    ];
  }
}

/** Checks the user of this context: run it with the controller's own kubeconfig to check the controller. */
async function checkRights(
  hub: Hub,
  where: string,
  basePath: string,
  rules: readonly Rule[],
  namespace = "",
): Promise<Finding[]> {
  const check = `rights: ${where}`;
  const denied: string[] = [];
  for (const { apiGroups, resources, verbs } of rules) {
    for (const name of resources) {
      for (const verb of verbs) {
        const allowed = await mayI(hub, basePath, { group: apiGroups[0] ?? "", named: name, verb, namespace });
        if (allowed === undefined) {
          return [
            {
              check,
              state: "warning",
              message:
                "cannot be checked: SelfSubjectAccessReview is not answered here, or this identity may not create through clusters/proxy",
            },
          ];
        }
        if (!allowed) denied.push(`${verb} ${name}${apiGroups[0] ? `.${apiGroups[0]}` : ""}`);
      }
    }
  }
  if (denied.length === 0)
    return [{ check, state: "ok", message: "everything the controller needs is allowed to this identity" }];
  return [
    {
      check,
      state: "problem",
      message: `not allowed to this identity: ${denied.join(", ")}`,
      remedy: "Apply the roles of 'lockstep install', and use the controller's own kubeconfig here.",
    },
  ];
}

async function mayI(
  { transport, clock }: Hub,
  basePath: string,
  { group, named, verb, namespace }: { group: string; named: string; verb: string; namespace: string },
): Promise<boolean | undefined> {
  const [plural, subresource] = named.split("/");
  const body: JsonObject = {
    apiVersion: "authorization.k8s.io/v1",
    kind: "SelfSubjectAccessReview",
    spec: { resourceAttributes: { group, resource: plural, verb, namespace, ...(subresource && { subresource }) } },
  };
  const deadline = new AbortController();
  const timer = clock.sleep(MEMBER_TIMEOUT_MS, deadline.signal).then(
    () => deadline.abort(),
    () => {},
  );
  try {
    const answer = await transport.request({
      method: "POST",
      path: `${basePath}/apis/authorization.k8s.io/v1/selfsubjectaccessreviews`,
      headers: { "content-type": "application/json", accept: "application/json" },
      body: JSON.stringify(body),
      signal: deadline.signal,
    });
    if (answer.status >= 300) return undefined;
    const parsed: unknown = JSON.parse(answer.body);
    const status = isJsonObject(parsed) && isJsonObject(parsed.status) ? parsed.status : {};
    return status.allowed === true;
  } catch {
    return undefined;
  } finally {
    deadline.abort();
    await timer;
  }
}

/** A hold whose application is gone prevents the engine from ever rendering its template. */
async function checkHolds({ client, request }: Hub): Promise<Finding[]> {
  const check = "holds";
  const holds = (await client.listAll(HOLDS, { ...request, labelSelector: HOLD_LABEL })).items;
  const findings: Finding[] = [];
  for (const { metadata } of holds) {
    const namespace = metadata.annotations?.[HOLD_NAMESPACE];
    const app = metadata.annotations?.[HOLD_APP];
    if (namespace === undefined || app === undefined) continue;
    if (await findApp(client, namespace, app, request)) continue;
    findings.push({
      check,
      state: "warning",
      message: `OverridePolicy ${metadata.namespace}/${metadata.name} holds a template for CrossClusterStatefulset ${namespace}/${app}, which is gone`,
      remedy: `As an administrator of the hub, to let Karmada render it: kubectl label overridepolicy ${metadata.name} -n ${metadata.namespace} resourcetemplate.karmada.io/deletion-protected- && kubectl delete overridepolicy ${metadata.name} -n ${metadata.namespace}`,
    });
  }
  if (findings.length > 0) return findings;
  return [{ check, state: "ok", message: `${holds.length} holds, each for an existing application` }];
}

async function findApp(
  client: Hub["client"],
  namespace: string,
  name: string,
  request: Hub["request"],
): Promise<boolean> {
  try {
    return (await client.find(STATEFULSETS, { namespace, name }, request)) !== undefined;
  } catch (error) {
    if (error instanceof StatusError) return true;
    throw error;
  }
}
