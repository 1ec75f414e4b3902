/** Settings of Karmada, and objects of other controllers, that would work against a rollout: each with its exact remedy. */
import { selectedWorkload } from "../../../api/index.ts";
import {
  bindingOf,
  fightingControllers,
  fightingSettings,
  listAutoscalers,
  listRebalancers,
  type ObjectRef,
  type OtherControllers,
} from "../../../engine/index.ts";
import { KubeError, type KubeObject, resource } from "../../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../../runtime/index.ts";
import { type Hub, listStatefulsets } from "../../hub/hub.ts";
import type { Finding } from "./findings.ts";

const BINDINGS = resource({
  apiVersion: "work.karmada.io/v1alpha2",
  kind: "ResourceBinding",
  plural: "resourcebindings",
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

export interface Surroundings extends OtherControllers {
  readonly bindings: readonly KubeObject[];
  readonly clusters: readonly KubeObject[];
}

export async function checkSettings(hub: Hub, clusters: readonly KubeObject[], timeoutMs: number): Promise<Finding[]> {
  const managed = (await listStatefulsets(hub, undefined)).flatMap(managedOf);
  if (managed.length === 0) return [];
  const bindings = await readable(() => hub.client.listAll(BINDINGS, hub.request));
  const rebalancers = (await listRebalancers(hub.client, hub.request)) ?? [];
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
      ...fightingControllers(around, each.template),
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
  const request = { ...hub.request, timeoutMs, maxAttempts: 1 };
  const found: KubeObject[] = [];
  for (const namespace of new Set(managed.map(({ template }) => template.namespace))) {
    found.push(...((await listAutoscalers(member, namespace, request)) ?? []));
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
