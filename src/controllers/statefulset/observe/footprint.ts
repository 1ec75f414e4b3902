/** What one instance takes of a namespace's quota: its pod, as the member's API server would count it. Pure. */
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";
import { amount } from "./quantities.ts";

type Amounts = Readonly<Record<string, number>>;

interface Container {
  readonly name: string;
  readonly requests: Amounts;
  readonly limits: Amounts;
  /** `init`: it has ended before the others start. */
  readonly role: "main" | "sidecar" | "init";
}

export interface Footprint {
  /** By the names that quotas use: pods, requests.cpu, limits.memory ... */
  readonly amounts: Amounts;
  /** Of cpu and memory in these names: a container that states none. The API server refuses such a pod under a quota. */
  readonly unstated: Readonly<Record<string, string>>;
  /** Why a LimitRange refuses every such pod. */
  readonly refused?: string;
}

const STATED = ["requests.cpu", "requests.memory", "limits.cpu", "limits.memory"] as const;

/**
 * `request`: what the interpreter reads, for a kind whose pods are not described by `spec.template`. Then only that is
 * judged: nothing is known of limits and of single containers.
 */
export function footprintOf(
  template: KubeObject,
  request: Readonly<Record<string, string>>,
  limitRanges: readonly KubeObject[],
): Footprint {
  const pod = podSpecOf(template);
  if (!pod) return { amounts: named("requests", parsed(request), { pods: 1 }), unstated: {} };
  const rules = limitRanges.flatMap(limitsOf);
  const containers = containersOf(pod).map((each) => withDefaults(each, rules));
  const [requests, limits] = [podTotal(containers, "requests"), podTotal(containers, "limits")];
  const amounts = named("requests", requests, named("limits", limits, { pods: 1 }));
  const refused = refusal(containers, limits, rules);
  // Resources of the whole pod count for every container that states none.
  const unstated = pod.resources === undefined ? unstatedIn(containers) : {};
  return { amounts, unstated, ...(refused !== undefined && { refused }) };
}

function podSpecOf({ spec }: KubeObject): JsonObject | undefined {
  const template = isJsonObject(spec) && isJsonObject(spec.template) ? spec.template : {};
  return isJsonObject(template.spec) && Array.isArray(template.spec.containers) ? template.spec : undefined;
}

function containersOf(pod: JsonObject): Container[] {
  const read = (list: Json | undefined, isInit: boolean) =>
    (Array.isArray(list) ? list.filter(isJsonObject) : []).map(({ name, resources, restartPolicy }): Container => {
      const stated = isJsonObject(resources) ? resources : {};
      const role = !isInit ? "main" : restartPolicy === "Always" ? "sidecar" : "init";
      return { name: String(name), requests: parsed(stated.requests), limits: parsed(stated.limits), role };
    });
  return [...read(pod.containers, false), ...read(pod.initContainers, true)];
}

interface LimitRule {
  readonly name: string;
  readonly type: Json | undefined;
  readonly byDefault: Amounts;
  readonly byDefaultRequested: Amounts;
  readonly most: Amounts;
}

function limitsOf({ metadata, spec }: KubeObject): LimitRule[] {
  const limits = isJsonObject(spec) && Array.isArray(spec.limits) ? spec.limits.filter(isJsonObject) : [];
  return limits.map((limit) => ({
    name: metadata.name,
    type: limit.type,
    byDefault: parsed(limit.default),
    byDefaultRequested: parsed(limit.defaultRequest),
    most: parsed(limit.max),
  }));
}

/** As the API server fills them in: limits by LimitRanges, and requests by limits. */
function withDefaults(container: Container, rules: readonly LimitRule[]): Container {
  const ofContainers = rules.filter(({ type }) => type === "Container");
  const limits = Object.assign({}, ...ofContainers.map(({ byDefault }) => byDefault), container.limits);
  const byDefault = Object.assign({}, ...ofContainers.map(({ byDefaultRequested }) => byDefaultRequested));
  const requests = { ...limits, ...byDefault, ...container.limits, ...container.requests };
  return { ...container, limits, requests };
}

/** Main containers and sidecars run together; each init container runs alone, beside the sidecars. */
function podTotal(containers: readonly Container[], of: "requests" | "limits"): Amounts {
  const total: Record<string, number> = {};
  for (const each of containers.filter(({ role }) => role !== "init")) {
    for (const [name, value] of Object.entries(each[of])) total[name] = (total[name] ?? 0) + value;
  }
  for (const each of containers.filter(({ role }) => role === "init")) {
    for (const [name, value] of Object.entries(each[of])) total[name] = Math.max(total[name] ?? 0, value);
  }
  return total;
}

function refusal(
  containers: readonly Container[],
  podLimits: Amounts,
  rules: readonly LimitRule[],
): string | undefined {
  for (const { name, type, most } of rules) {
    for (const [resource, limit] of Object.entries(most)) {
      const over = containers.find(({ limits, requests }) => (limits[resource] ?? requests[resource] ?? 0) > limit);
      const what = type === "Container" && over ? `container ${over.name}` : undefined;
      const whole = type === "Pod" && (podLimits[resource] ?? 0) > limit ? "the whole pod" : undefined;
      if (what ?? whole) return `LimitRange ${name} allows less ${resource} than ${what ?? whole} has`;
    }
  }
  return undefined;
}

function unstatedIn(containers: readonly Container[]): Record<string, string> {
  const unstated: Record<string, string> = {};
  for (const name of STATED) {
    const [of, resource] = name.split(".") as ["requests" | "limits", string];
    const without = containers.find((each) => each[of][resource] === undefined);
    if (without) unstated[name] = without.name;
  }
  return unstated;
}

function named(prefix: string, amounts: Amounts, more: Amounts): Amounts {
  return {
    ...more,
    ...Object.fromEntries(Object.entries(amounts).map(([name, value]) => [`${prefix}.${name}`, value])),
  };
}

function parsed(quantities: Json | undefined): Record<string, number> {
  const amounts: Record<string, number> = {};
  for (const [name, value] of Object.entries(isJsonObject(quantities) ? quantities : {})) {
    const number = amount(typeof value === "number" ? String(value) : value);
    if (number !== undefined) amounts[name] = number;
  }
  return amounts;
}
