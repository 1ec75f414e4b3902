/** Settings of Karmada, and objects of other controllers, that would work against a rollout: each with its exact remedy. */
import { selectedWorkload } from "../../../api/index.ts";
import { bindingOf, fightingSettings, type ObjectRef } from "../../../engine/index.ts";
import { KubeError, type KubeObject, type Resource, resource } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { type Hub, listStatefulsets } from "../../hub/hub.ts";
import type { Finding } from "./findings.ts";

const BINDINGS = resource({
  apiVersion: "work.karmada.io/v1alpha2",
  kind: "ResourceBinding",
  plural: "resourcebindings",
  namespaced: true,
});
const REBALANCERS = resource({
  apiVersion: "apps.karmada.io/v1alpha1",
  kind: "WorkloadRebalancer",
  plural: "workloadrebalancers",
  namespaced: false,
});
const HPAS = resource({
  apiVersion: "autoscaling/v2",
  kind: "HorizontalPodAutoscaler",
  plural: "horizontalpodautoscalers",
  namespaced: true,
});
const VPAS = resource({
  apiVersion: "autoscaling.k8s.io/v1",
  kind: "VerticalPodAutoscaler",
  plural: "verticalpodautoscalers",
  namespaced: true,
});
const CHECK = "settings";

/** What a managed template is, and what the controller said of it last. */
export interface Managed {
  /** `namespace/name` of its CrossClusterStatefulset. */
  readonly owner: string;
  readonly template: ObjectRef;
  readonly status: JsonObject;
}

export interface Surroundings {
  readonly bindings: readonly KubeObject[];
  readonly clusters: readonly KubeObject[];
  readonly rebalancers: readonly KubeObject[];
  /** HorizontalPodAutoscalers and VerticalPodAutoscalers, by cluster. */
  readonly autoscalers: ReadonlyMap<string, readonly KubeObject[]>;
}

export async function checkSettings(hub: Hub, clusters: readonly KubeObject[], timeoutMs: number): Promise<Finding[]> {
  const managed = (await listStatefulsets(hub, undefined)).flatMap(managedOf);
  if (managed.length === 0) return [];
  const bindings = await readable(() => hub.client.listAll(BINDINGS, hub.request));
  const rebalancers = await readable(() => hub.client.listAll(REBALANCERS, hub.request));
  const autoscalers = new Map<string, KubeObject[]>();
  for (const { metadata } of clusters) {
    autoscalers.set(metadata.name, await autoscalersIn(hub, metadata.name, managed, timeoutMs));
  }
  const findings = judge(managed, { bindings, clusters, rebalancers, autoscalers });
  if (findings.length > 0) return findings;
  return [{ check: CHECK, state: "ok", message: `nothing works against the rollouts of ${managed.length} templates` }];
}

/** Pure: everything was read before. */
export function judge(managed: readonly Managed[], around: Surroundings): Finding[] {
  return managed.flatMap((each) =>
    [
      ...fightingSettings(bindingOf(around.bindings, each.template), each.template, around.clusters),
      ...rivals(each),
      ...rebalanced(each, around.rebalancers),
      ...autoscaled(each, around.autoscalers),
    ].map(
      ({ message, remedy }): Finding => ({
        check: CHECK,
        state: "warning",
        message: `${each.owner}: ${message}`,
        remedy,
      }),
    ),
  );
}

type Advice = { readonly message: string; readonly remedy: string };

/** The controller watches all Works; what it found is in the status. */
function rivals({ status, owner }: Managed): Advice[] {
  if (status.reason !== "HoldDefeated") return [];
  const [namespace = "", name = ""] = owner.split("/");
  return [
    { message: String(status.message ?? "the hold is defeated"), remedy: `lockstep why ${name} -n ${namespace}` },
  ];
}

function rebalanced({ template }: Managed, rebalancers: readonly KubeObject[]): Advice[] {
  return rebalancers
    .filter(({ spec }) =>
      objects(isJsonObject(spec) ? spec.workloads : []).some((target) => isTarget(target, template)),
    )
    .map(({ metadata }) => ({
      message: `WorkloadRebalancer ${metadata.name} makes Karmada divide the replicas again, so instances move between clusters`,
      remedy: `kubectl delete workloadrebalancer ${metadata.name}`,
    }));
}

function autoscaled({ template }: Managed, autoscalers: Surroundings["autoscalers"]): Advice[] {
  return [...autoscalers].flatMap(([cluster, found]) =>
    found
      .filter(({ metadata, spec }) => metadata.namespace === template.namespace && isTarget(targetOf(spec), template))
      .map(({ kind, metadata: { name, namespace } }) => {
        const where = `${kind} ${namespace}/${name} in cluster ${cluster}`;
        const command = `kubectl --context ${cluster} -n ${namespace}`;
        return kind === HPAS.kind
          ? {
              message: `${where} sets the replicas of the member's object, and Lockstep sets them back; scale on the hub instead (a FederatedHPA may target the template)`,
              remedy: `${command} delete hpa ${name}`,
            }
          : {
              message: `${where} restarts pods when it likes, outside the order of a rollout`,
              remedy: `${command} patch vpa ${name} --type=merge -p '{"spec":{"updatePolicy":{"updateMode":"Off"}}}'`,
            };
      }),
  );
}

function targetOf(spec: unknown): JsonObject {
  const { scaleTargetRef, targetRef, updatePolicy } = isJsonObject(spec) ? spec : {};
  // A VerticalPodAutoscaler that only recommends restarts nothing.
  if (isJsonObject(updatePolicy) && updatePolicy.updateMode === "Off") return {};
  return isJsonObject(scaleTargetRef) ? scaleTargetRef : isJsonObject(targetRef) ? targetRef : {};
}

function isTarget({ kind, name, namespace }: JsonObject, template: ObjectRef): boolean {
  return kind === template.kind && name === template.name && (namespace ?? template.namespace) === template.namespace;
}

function managedOf(object: KubeObject): Managed[] {
  const selected = selectedWorkload(object);
  const { namespace = "", name } = object.metadata;
  if (!selected || selected.isInline || selected.name === undefined) return [];
  const template = { apiVersion: selected.apiVersion, kind: selected.kind, namespace, name: selected.name };
  return [{ owner: `${namespace}/${name}`, template, status: isJsonObject(object.status) ? object.status : {} }];
}

async function autoscalersIn(
  hub: Hub,
  cluster: string,
  managed: readonly Managed[],
  timeoutMs: number,
): Promise<KubeObject[]> {
  const member = hub.client.below("apis", "cluster.karmada.io", "v1alpha1", "clusters", cluster, "proxy");
  const found: KubeObject[] = [];
  for (const namespace of new Set(managed.map(({ template }) => template.namespace))) {
    for (const kind of [HPAS, VPAS]) {
      const list = (of: Resource) => member.listAll(of, { ...hub.request, namespace, timeoutMs, maxAttempts: 1 });
      found.push(...(await readable(() => list(kind))).map((object) => ({ ...object, kind: kind.kind })));
    }
  }
  return found;
}

/** A kind that is not served, or not readable, has nothing to say; a member that does not answer has its own finding. */
async function readable(
  list: () => Promise<{ readonly items: readonly KubeObject[] }>,
): Promise<readonly KubeObject[]> {
  try {
    return (await list()).items;
  } catch (error) {
    if (error instanceof KubeError) return [];
    throw error;
  }
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
