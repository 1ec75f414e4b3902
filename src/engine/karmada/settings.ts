/** Settings of Karmada that would work against a rollout. The hold makes them harmless or not; a user should know them. */
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { refKey } from "../dispatch-objects.ts";
import type { EngineSetting, ObjectRef } from "../port.ts";
import { templateOfBinding } from "./hub.ts";

/** In the binding that Karmada made for the template, and in the clusters that its placement is for. */
export function fightingSettings(
  binding: KubeObject | undefined,
  template: ObjectRef,
  clusters: readonly KubeObject[],
): EngineSetting[] {
  if (binding === undefined) return [];
  const spec = isJsonObject(binding.spec) ? binding.spec : {};
  const policy = policyOf(binding);
  const isMeant = meantClusters(spec);
  return [
    ...ofPolicy(spec, policy),
    ...clusters
      .filter(({ metadata }) => isMeant(metadata.name))
      .filter((cluster) => lacks(cluster, template))
      .map(({ metadata }) => ({
        message: `cluster ${metadata.name} does not serve ${template.kind} of ${template.apiVersion}: its status.apiEnablements lack it, so Karmada schedules nothing there`,
        remedy: copyDefinitions(template, metadata.name),
      })),
  ];
}

/**
 * Whether the placement is for a cluster. Karmada schedules nothing to one that lacks the kind, so its schedule alone does
 * not show that. A cluster that only selectors choose counts once it is scheduled, or while none is.
 */
function meantClusters({ clusters, placement }: JsonObject): (name: string) => boolean {
  const scheduled = new Set(objects(clusters).map(({ name }) => name));
  const { clusterAffinity, clusterAffinities } = isJsonObject(placement) ? placement : {};
  const affinities = isJsonObject(clusterAffinity) ? [clusterAffinity] : objects(clusterAffinities);
  const names = (affinity: JsonObject, field: string) => {
    const { [field]: list } = affinity;
    return Array.isArray(list) ? list : [];
  };
  const isNamed = (name: string) =>
    affinities.some((each) => names(each, "clusterNames").includes(name) && !names(each, "exclude").includes(name));
  return (name) => scheduled.size === 0 || scheduled.has(name) || isNamed(name);
}

/** All of the group's, because the plural that a definition is named by is not in the template. */
function copyDefinitions({ apiVersion }: ObjectRef, cluster: string): string {
  const group = apiVersion.split("/")[0];
  const names = `$(kubectl api-resources --api-group=${group} -o name)`;
  return `kubectl get crd ${names} -o yaml | kubectl --context ${cluster} apply -f -`;
}

/** The binding that Karmada made for this template. */
export function bindingOf(bindings: readonly KubeObject[], template: ObjectRef): KubeObject | undefined {
  return bindings.find((binding) => {
    const ref = templateOfBinding(binding);
    return ref !== undefined && refKey(ref) === refKey(template);
  });
}

/** The setting that defeats a hold. */
export function unsafeSetting(binding: KubeObject | undefined): EngineSetting | undefined {
  const spec = isJsonObject(binding?.spec) ? binding.spec : {};
  if (binding === undefined || spec.propagateDeps !== true) return undefined;
  const policy = policyOf(binding);
  return {
    message: `${policy.words} sets propagateDeps: Karmada would send edited ConfigMaps and Secrets to every cluster at once, without a grant; Lockstep sends them with each grant`,
    remedy: policy.patch("propagateDeps", ...failoverOf(spec)),
  };
}

/** Karmada accepts failover of applications only with propagateDeps, so both go in one patch. */
function failoverOf({ failover }: JsonObject): string[] {
  return isJsonObject(failover) ? ["failover"] : [];
}

function ofPolicy(spec: JsonObject, policy: Policy): EngineSetting[] {
  const settings: EngineSetting[] = [];
  const suspension = isJsonObject(spec.suspension) ? spec.suspension : {};
  if (isJsonObject(spec.failover)) {
    settings.push({
      message: `${policy.words} sets failover: Karmada may evict a cluster that a rollout keeps unhealthy, and schedules its instances elsewhere`,
      remedy: policy.patch(...(spec.propagateDeps === true ? ["propagateDeps"] : []), "failover"),
    });
  }
  if (suspension.scheduling === true) {
    settings.push({
      message: `${policy.words} suspends scheduling: edited replicas and placements have no effect`,
      remedy: policy.patch("suspension"),
    });
  }
  if (suspension.dispatching === true || isJsonObject(suspension.dispatchingOnClusters)) {
    settings.push({
      message: `${policy.words} suspends dispatching, which does not stop what Lockstep dispatches; 'lockstep pause' does`,
      remedy: policy.patch("suspension"),
    });
  }
  if (spec.conflictResolution === "Overwrite") {
    settings.push({
      message: `${policy.words} sets conflictResolution: Overwrite: when the application is released, Karmada overwrites objects of other owners in the members`,
      remedy: policy.patch("conflictResolution"),
    });
  }
  return settings;
}

interface Policy {
  readonly words: string;
  /** The command that removes fields of its spec. */
  patch(...fields: string[]): string;
}

/** Karmada's marks on a binding name the policy that made it. */
export function policyOf({ metadata }: KubeObject): Policy {
  const marks = { ...metadata.labels, ...metadata.annotations };
  const name = marks["propagationpolicy.karmada.io/name"];
  const namespace = marks["propagationpolicy.karmada.io/namespace"];
  const clusterWide = marks["clusterpropagationpolicy.karmada.io/name"];
  const command =
    (what: string) =>
    (...fields: string[]) => {
      const spec = Object.fromEntries(fields.map((field) => [field, null]));
      return `kubectl patch ${what} --type=merge -p '${JSON.stringify({ spec })}'`;
    };
  if (name !== undefined && namespace !== undefined) {
    return {
      words: `PropagationPolicy ${namespace}/${name}`,
      patch: command(`propagationpolicy ${name} -n ${namespace}`),
    };
  }
  if (clusterWide !== undefined) {
    return {
      words: `ClusterPropagationPolicy ${clusterWide}`,
      patch: command(`clusterpropagationpolicy ${clusterWide}`),
    };
  }
  return {
    words: "the policy that selects the template",
    patch: (...fields) =>
      `remove ${fields.map((field) => `spec.${field}`).join(" and ")} from the policy that selects the template`,
  };
}

/** Karmada says that it knows everything the cluster serves, and the kind is not among it. */
function lacks({ status }: KubeObject, { apiVersion, kind }: ObjectRef): boolean {
  const { conditions, apiEnablements } = isJsonObject(status) ? status : {};
  const isComplete = objects(conditions).some(
    ({ type, status: holds }) => type === "CompleteAPIEnablements" && holds === "True",
  );
  if (!isComplete) return false;
  const served = objects(apiEnablements).find(({ groupVersion }) => groupVersion === apiVersion);
  return !objects(served?.resources).some((each) => each.kind === kind);
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
