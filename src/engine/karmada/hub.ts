import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { appMark } from "../dispatch-objects.ts";
import { DRAIN_TAINT } from "../drain.ts";
import { quantities } from "../headroom.ts";
import { MARKS } from "../marks.ts";
import type { EngineCluster, EngineOwner, EngineSchedule, ObjectRef } from "../port.ts";
import { PROTECTION } from "./resources.ts";

/** Taints that Karmada derives from the Ready condition, which `state` already reports. */
const DERIVED_TAINTS = new Set(["cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"]);
/** Taints that Karmada itself sets: whether work is lost there is Lockstep's decision. */
const OWN_TAINTS = "cluster.karmada.io/";

/** No object has a field of this name, so removing it fails on every object. */
const HOLD_PATH = "/lockstep-holds-this";

export function readCluster(cluster: KubeObject): EngineCluster {
  const spec = isJsonObject(cluster.spec) ? cluster.spec : {};
  const ready = conditionOf(cluster, "Ready");
  const sinceMs = Date.parse(String(ready?.lastTransitionTime ?? ""));
  const taints = objects(spec.taints).filter(
    ({ key, effect }) => (effect === "NoSchedule" || effect === "NoExecute") && !DERIVED_TAINTS.has(String(key)),
  );
  // Any of them repels new instances; a user's drain requests more.
  const taint = taints.find(({ key }) => key === DRAIN_TAINT) ?? taints[0];
  const evicts = taints.some(({ key, effect }) => effect === "NoExecute" && !String(key).startsWith(OWN_TAINTS));
  return {
    name: cluster.metadata.name,
    state: ready?.status === "True" ? "Ready" : ready?.status === "False" ? "NotReady" : "Unknown",
    ...(Number.isFinite(sinceMs) && { sinceMs }),
    ...(taint && { cordoned: `${taint.key}:${taint.effect}` }),
    ...(evicts && { evicts }),
    ...capacityOf(cluster),
    labels: cluster.metadata.labels ?? {},
    ...(typeof spec.provider === "string" && { provider: spec.provider }),
    ...(typeof spec.region === "string" && { region: spec.region }),
    zones: Array.isArray(spec.zones) ? spec.zones.filter((zone) => typeof zone === "string") : [],
  };
}

/** Karmada sums up the nodes and pods of a cluster every few seconds; not every cluster has that switched on. */
function capacityOf({ status }: KubeObject): Pick<EngineCluster, "capacity"> {
  const summary = isJsonObject(status) && isJsonObject(status.resourceSummary) ? status.resourceSummary : {};
  const allocatable = quantities(summary.allocatable);
  if (Object.keys(allocatable).length === 0) return {};
  return { capacity: { allocatable, taken: [quantities(summary.allocated), quantities(summary.allocating)] } };
}

/** The schedule result, if the scheduler has seen this version of the binding; anything else is unknown. */
export function readSchedule(binding: KubeObject | undefined, template: ObjectRef): EngineSchedule {
  const what = `${template.kind} ${template.namespace}/${template.name}`;
  if (binding === undefined) {
    return {
      kind: "unknown",
      message: `no ResourceBinding for ${what}: no PropagationPolicy selects it, or the engine has not seen it yet`,
    };
  }
  const name = `ResourceBinding ${binding.metadata.namespace}/${binding.metadata.name}`;
  const status = isJsonObject(binding.status) ? binding.status : {};
  const spec = isJsonObject(binding.spec) ? binding.spec : {};
  const scheduled = conditionOf(binding, "Scheduled");
  const isCurrent = status.schedulerObservedGeneration === binding.metadata.generation;
  // Karmada counts a version as seen only if it could schedule it: what it could not do is in the condition alone.
  if (scheduled?.status === "False" || (isCurrent && scheduled?.status !== "True")) {
    const message = `${name} is not scheduled: ${scheduled?.message ?? "no condition Scheduled"}`;
    return { kind: "unknown", message, ...remedyFor(scheduled?.reason) };
  }
  if (!isCurrent) return { kind: "unknown", message: `${name}: the scheduler has not seen its latest version yet` };
  const clusters = objects(spec.clusters).map(({ name: cluster, replicas }) => ({
    cluster: String(cluster),
    replicas: typeof replicas === "number" ? replicas : 0,
  }));
  return { kind: "known", clusters };
}

function remedyFor(reason: Json | undefined): { remedy?: string } {
  if (reason !== "QuotaExceeded") return {};
  return { remedy: "Raise the FederatedResourceQuota, or let the template request less." };
}

export function templateOfBinding(binding: KubeObject): ObjectRef | undefined {
  const spec = isJsonObject(binding.spec) ? binding.spec : {};
  const { resource } = spec;
  if (!isJsonObject(resource)) return undefined;
  const { apiVersion, kind, namespace, name } = resource;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string") return undefined;
  return { apiVersion, kind, namespace: typeof namespace === "string" ? namespace : "", name };
}

/** A template that is held, and whose it is. Other kinds than a CrossClusterStatefulset may have more than one. */
export interface Held {
  readonly kind?: EngineOwner["kind"];
  readonly namespace: string;
  readonly name: string;
  readonly template: ObjectRef;
}

export function holdName({ kind, template }: Held, mark: string): { name: string; namespace: string } {
  return { name: `lockstep-hold-${kind === undefined ? mark : template.name}`, namespace: template.namespace };
}

/** The policy whose patch fails on every object: Karmada schedules the template and renders nothing. */
export function holdPolicy(app: Held): KubeObject {
  const { apiVersion, kind, namespace, name } = app.template;
  const mark = appMark(app);
  return {
    apiVersion: "policy.karmada.io/v1alpha1",
    kind: "OverridePolicy",
    metadata: {
      ...holdName(app, mark),
      labels: { ...PROTECTION, [MARKS.hold]: "true", [MARKS.app]: mark },
      annotations: {
        [MARKS.appNamespace]: app.namespace,
        [MARKS.appName]: app.name,
        ...(app.kind !== undefined && { [MARKS.appKind]: app.kind }),
        "lockstep.karmada.io/why":
          "Lockstep dispatches this template itself, in order. This policy's patch always fails, so that Karmada renders nothing.",
      },
    },
    spec: {
      resourceSelectors: [{ apiVersion, kind, namespace, name }],
      overrideRules: [{ overriders: { plaintext: [{ path: HOLD_PATH, operator: "remove" }] } }],
    },
  };
}

/**
 * Whether a policy on the hub still has everything that makes it a hold, and nothing else. Compared by meaning, because
 * an API server may omit empty fields or write them out.
 */
export function isHolding(policy: KubeObject, app: Held): boolean {
  const wanted = holdPolicy(app);
  const { labels, annotations } = policy.metadata;
  return (
    says(labels, wanted.metadata.labels) && says(annotations, wanted.metadata.annotations) && isPlainHold(policy, app)
  );
}

/** Whether its content is a hold's, and nothing else, whatever its labels and annotations say. */
export function isPlainHold({ spec }: KubeObject, app: Held): boolean {
  return meaning(spec) === meaning(holdPolicy(app).spec);
}

function says(found: Readonly<Record<string, string>> = {}, wanted: Readonly<Record<string, string>> = {}): boolean {
  return Object.entries(wanted).every(([key, value]) => found[key] === value);
}

/** A canonical text: equal for values with the same meaning, without empty fields. */
function meaning(value: Json | undefined): string {
  if (Array.isArray(value)) {
    const items = value.map(meaning).filter((item) => item !== "");
    return items.length === 0 ? "" : `[${items.join(",")}]`;
  }
  if (!isJsonObject(value)) return value === undefined || value === null || value === "" ? "" : JSON.stringify(value);
  const fields = Object.entries(value).flatMap(([key, field]) => {
    const text = meaning(field);
    return text === "" ? [] : [`${JSON.stringify(key)}:${text}`];
  });
  return fields.length === 0 ? "" : `{${fields.sort().join(",")}}`;
}

/** The templates that a hold keeps from being rendered; for any other policy: none. */
export function heldTemplates(policy: KubeObject): ObjectRef[] {
  if (!isHold(policy)) return [];
  const spec = isJsonObject(policy.spec) ? policy.spec : {};
  return objects(spec.resourceSelectors).map(({ apiVersion, kind, name }) => ({
    apiVersion: String(apiVersion),
    kind: String(kind),
    namespace: policy.metadata.namespace ?? "",
    name: String(name),
  }));
}

export function isHold(policy: KubeObject): boolean {
  return policy.metadata.labels?.[MARKS.hold] === "true";
}

function conditionOf(object: KubeObject, type: string): JsonObject | undefined {
  const status = isJsonObject(object.status) ? object.status : {};
  return objects(status.conditions).find((condition) => condition.type === type);
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}
