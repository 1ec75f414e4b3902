import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import type { EngineApp, EngineCluster, EngineSchedule, ObjectRef } from "../port.ts";
import { MARKS, PROTECTION } from "./resources.ts";
import { appMark } from "./works.ts";

/** Taints that Karmada derives from the Ready condition, which `state` already tells. */
const DERIVED_TAINTS = new Set(["cluster.karmada.io/not-ready", "cluster.karmada.io/unreachable"]);

/** Nothing has a field of this name, so removing it fails on every object. */
const HOLD_PATH = "/lockstep-holds-this";

export function readCluster(cluster: KubeObject): EngineCluster {
  const spec = isJsonObject(cluster.spec) ? cluster.spec : {};
  const ready = conditionOf(cluster, "Ready");
  const sinceMs = Date.parse(String(ready?.lastTransitionTime ?? ""));
  const taint = objects(spec.taints).find(
    ({ key, effect }) => (effect === "NoSchedule" || effect === "NoExecute") && !DERIVED_TAINTS.has(String(key)),
  );
  return {
    name: cluster.metadata.name,
    state: ready?.status === "True" ? "Ready" : ready?.status === "False" ? "NotReady" : "Unknown",
    ...(Number.isFinite(sinceMs) && { sinceMs }),
    ...(taint && { cordoned: `${taint.key}:${taint.effect}` }),
    labels: cluster.metadata.labels ?? {},
    ...(typeof spec.provider === "string" && { provider: spec.provider }),
    ...(typeof spec.region === "string" && { region: spec.region }),
    zones: Array.isArray(spec.zones) ? spec.zones.filter((zone) => typeof zone === "string") : [],
  };
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
  if (status.schedulerObservedGeneration !== binding.metadata.generation) {
    return { kind: "unknown", message: `${name}: the scheduler has not seen its latest version yet` };
  }
  if (scheduled?.status !== "True") {
    return { kind: "unknown", message: `${name} is not scheduled: ${scheduled?.message ?? "no condition Scheduled"}` };
  }
  const clusters = objects(spec.clusters).map(({ name: cluster, replicas }) => ({
    cluster: String(cluster),
    replicas: typeof replicas === "number" ? replicas : 0,
  }));
  return { kind: "known", clusters };
}

/** What in the binding or its policies defeats a hold. */
export function unsafeSetting(binding: KubeObject | undefined): { message: string; remedy: string } | undefined {
  const spec = isJsonObject(binding?.spec) ? binding.spec : {};
  if (spec.propagateDeps !== true) return undefined;
  return {
    message:
      "the PropagationPolicy sets propagateDeps: Karmada would push edited ConfigMaps and Secrets to every cluster at once, past every grant",
    remedy: "set propagateDeps: false on the policy; Lockstep sends dependencies along with each grant",
  };
}

export function templateOfBinding(binding: KubeObject): ObjectRef | undefined {
  const spec = isJsonObject(binding.spec) ? binding.spec : {};
  const { resource } = spec;
  if (!isJsonObject(resource)) return undefined;
  const { apiVersion, kind, namespace, name } = resource;
  if (typeof apiVersion !== "string" || typeof kind !== "string" || typeof name !== "string") return undefined;
  return { apiVersion, kind, namespace: typeof namespace === "string" ? namespace : "", name };
}

export function holdName({ template }: EngineApp, mark: string): { name: string; namespace: string } {
  return { name: `lockstep-hold-${mark}`, namespace: template.namespace };
}

/** The policy whose patch fails on every object: Karmada schedules the template and renders nothing. */
export function holdPolicy(app: EngineApp): KubeObject {
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

/** Whether a policy on the hub still does what `holdPolicy` says. Read by meaning: Karmada's webhooks may add defaults. */
export function isHolding(policy: KubeObject | undefined, app: EngineApp): boolean {
  if (!policy || !isHold(policy)) return false;
  if (Object.entries(PROTECTION).some(([key, value]) => policy.metadata.labels?.[key] !== value)) return false;
  const spec = isJsonObject(policy.spec) ? policy.spec : {};
  const { apiVersion, kind, name } = app.template;
  const selects = objects(spec.resourceSelectors).some(
    (selector) => selector.apiVersion === apiVersion && selector.kind === kind && selector.name === name,
  );
  const fails = objects(spec.overrideRules).some((rule) => {
    const overriders = isJsonObject(rule.overriders) ? rule.overriders : {};
    const patches = objects(overriders.plaintext);
    return (
      rule.targetCluster === undefined &&
      patches.some(({ path, operator }) => path === HOLD_PATH && operator === "remove")
    );
  });
  return selects && fails;
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
