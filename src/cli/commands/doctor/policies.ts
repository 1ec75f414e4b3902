import {
  admissionPolicies,
  DEFAULT_POLICY_SETTINGS,
  type PolicySettings,
  readWorkload,
  SETTINGS_ANNOTATION,
  workloadText,
} from "../../../api/index.ts";
import { isKubeObject, type KubeObject, resource } from "../../../kube/index.ts";
import { includesJson, isJsonObject } from "../../../runtime/index.ts";
import type { Hub } from "../../hub/hub.ts";
import type { Finding } from "./findings.ts";

const POLICIES = resource({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicy",
  plural: "validatingadmissionpolicies",
  namespaced: false,
});
const BINDINGS = resource({
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingAdmissionPolicyBinding",
  plural: "validatingadmissionpolicybindings",
  namespaced: false,
});
const REMEDY = "As an administrator of the hub: lockstep install --apply, with the same options as before.";

/** The settings of `lockstep install`, from its policies; the defaults if there are none. */
export async function installedSettings({ client, request }: Hub): Promise<PolicySettings> {
  for (const policy of ownPolicies()) {
    const found = await client.find(POLICIES, { name: policy.metadata.name }, request).catch(() => undefined);
    const text = found?.metadata.annotations?.[SETTINGS_ANNOTATION];
    if (text !== undefined) return readSettings(text);
  }
  return DEFAULT_POLICY_SETTINGS;
}

/** Whether each admission policy exists, as this program would write it, and refuses what it should. */
export async function checkPolicies({ client, request }: Hub, settings: PolicySettings): Promise<Finding[]> {
  const missing = new Set<string>();
  const changed = new Set<string>();
  const warnings: string[] = [];
  for (const wanted of admissionPolicies(settings).filter(isKubeObject)) {
    const { kind, metadata } = wanted;
    const found = await client.find(kind === POLICIES.kind ? POLICIES : BINDINGS, metadata, request);
    if (!found) missing.add(shortName(wanted));
    else if (!includesJson(found.spec, wanted.spec)) changed.add(shortName(wanted));
    warnings.push(...warningsOf(found));
  }
  const check = "admission policies";
  const wrong = [
    ...(missing.size > 0 ? [`not installed, or without a binding: ${[...missing].join(", ")}`] : []),
    ...(changed.size > 0 ? [`different from what this program writes: ${[...changed].join(", ")}`] : []),
    ...warnings,
  ];
  if (wrong.length > 0) return [{ check, state: "problem", message: wrong.join("; "), remedy: REMEDY }];
  const { controller, systemNamespace, workloads, requireAllowedClusters } = settings;
  const installed = admissionPolicies(settings).length / 2;
  const kinds = ["StatefulSet", ...workloads.map(workloadText)].join(", ");
  const guarded = settings.engine === "ocm" ? "ManifestWorks" : "holds, Works";
  return [
    {
      check,
      state: "ok",
      message: `${installed} are installed and bound to deny; templates may be ${kinds}; ${guarded}, ledgers, revisions and namespace ${systemNamespace} are written by ${controller} and administrators only; a namespace without allowed clusters may use ${requireAllowedClusters ? "none" : "all"}`,
    },
  ];
}

function shortName({ metadata }: KubeObject): string {
  return metadata.name.replace(/\.lockstep\.karmada\.io$/, "");
}

/** The API server checks expressions against the kinds' schemas, and reports mismatches here. */
function warningsOf(policy: KubeObject | undefined): string[] {
  const status = isJsonObject(policy?.status) ? policy.status : {};
  const checking = isJsonObject(status.typeChecking) ? status.typeChecking : {};
  const warnings = Array.isArray(checking.expressionWarnings) ? checking.expressionWarnings.filter(isJsonObject) : [];
  return warnings.map(({ fieldRef, warning }) => `${policy?.metadata.name}: ${String(fieldRef)}: ${String(warning)}`);
}

function ownPolicies(): KubeObject[] {
  return admissionPolicies(DEFAULT_POLICY_SETTINGS)
    .filter(isKubeObject)
    .filter(({ kind }) => kind === POLICIES.kind);
}

/** A policy that a user has edited is read as far as possible. */
function readSettings(text: string): PolicySettings {
  const settings = parsed(text);
  const { systemNamespace, controller, workloads, requireAllowedClusters, engine } = settings;
  return {
    systemNamespace: typeof systemNamespace === "string" ? systemNamespace : DEFAULT_POLICY_SETTINGS.systemNamespace,
    controller: typeof controller === "string" ? controller : DEFAULT_POLICY_SETTINGS.controller,
    workloads: Array.isArray(workloads) ? workloads.flatMap((each) => readWorkload(String(each)) ?? []) : [],
    requireAllowedClusters: requireAllowedClusters === true,
    ...(engine === "ocm" && { engine }),
  };
}

function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return isJsonObject(value) ? value : {};
  } catch {
    return {};
  }
}
