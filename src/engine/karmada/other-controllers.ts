/** Objects of other controllers that move or restart instances outside the order of a rollout, each with its remedy. */
import {
  type KubeClient,
  KubeError,
  type KubeObject,
  NotFoundError,
  type RequestOptions,
  resource,
} from "../../kube/index.ts";
import { type Clock, isJsonObject, type JsonObject, type Log } from "../../runtime/index.ts";
import type { EngineSetting, ObjectRef } from "../port.ts";

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
const LOOK_TIMEOUT_MS = 10_000;
const UNTIL_KNOWN_MS = 5_000;

export interface OtherControllers {
  readonly rebalancers: readonly KubeObject[];
  /** HorizontalPodAutoscalers and VerticalPodAutoscalers, by cluster. */
  readonly autoscalers: ReadonlyMap<string, readonly KubeObject[]>;
}

export const NO_OTHERS: OtherControllers = { rebalancers: [], autoscalers: new Map() };

/** Pure. What of these works against the template's rollout. */
export function fightingControllers(others: OtherControllers, template: ObjectRef): EngineSetting[] {
  return [...rebalanced(others.rebalancers, template), ...autoscaled(others.autoscalers, template)];
}

function rebalanced(rebalancers: readonly KubeObject[], template: ObjectRef): EngineSetting[] {
  return rebalancers
    .filter(({ spec }) =>
      objects(isJsonObject(spec) ? spec.workloads : []).some((target) => isTarget(target, template)),
    )
    .map(({ metadata }) => ({
      message: `WorkloadRebalancer ${metadata.name} makes Karmada divide the replicas again, so instances move between clusters`,
      remedy: `kubectl delete workloadrebalancer ${metadata.name}`,
    }));
}

function autoscaled(autoscalers: OtherControllers["autoscalers"], template: ObjectRef): EngineSetting[] {
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

/** Undefined: they could not be read. A kind that is not served has no objects. */
export function listRebalancers(hub: KubeClient, request: RequestOptions): Promise<readonly KubeObject[] | undefined> {
  return readable(() => hub.listAll(REBALANCERS, request));
}

/** In one namespace of a member, or in all. Undefined: they could not be read. */
export async function listAutoscalers(
  member: KubeClient,
  namespace: string | undefined,
  request: RequestOptions,
): Promise<readonly KubeObject[] | undefined> {
  const found: KubeObject[] = [];
  for (const kind of [HPAS, VPAS]) {
    const items = await readable(() => member.listAll(kind, { ...request, namespace }));
    if (items === undefined) return undefined;
    found.push(...items.map(({ metadata: { name, namespace: where }, spec }) => outline(kind.kind, name, where, spec)));
  }
  return found;
}

/** Members may have thousands of them: only what `fightingControllers` reads is kept. */
function outline(kind: string, name: string, namespace: string | undefined, spec: unknown): KubeObject {
  const { scaleTargetRef, targetRef, updatePolicy } = isJsonObject(spec) ? spec : {};
  const kept: JsonObject = {
    ...(isJsonObject(scaleTargetRef) && { scaleTargetRef }),
    ...(isJsonObject(targetRef) && { targetRef }),
    ...(isJsonObject(updatePolicy) && { updatePolicy }),
  };
  return { apiVersion: "v1", kind, metadata: { name, ...(namespace !== undefined && { namespace }) }, spec: kept };
}

async function readable(
  list: () => Promise<{ readonly items: readonly KubeObject[] }>,
): Promise<readonly KubeObject[] | undefined> {
  try {
    return (await list()).items;
  } catch (error) {
    if (error instanceof NotFoundError) return [];
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}

function objects(value: unknown): JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

export interface WatchmanOptions {
  readonly hub: KubeClient;
  readonly member: (cluster: string) => KubeClient;
  /** Those that may be asked now. */
  readonly clusters: () => readonly string[];
  readonly clock: Clock;
  readonly log: Log;
  readonly everyMs: number;
  readonly changed: () => void;
}

/**
 * Looks for such objects every few minutes. They are advice in the status, so a watch in every member would be too much; what
 * cannot be read stays as it was read last.
 */
export class Watchman {
  readonly #options: WatchmanOptions;
  #others = NO_OTHERS;

  constructor(options: WatchmanOptions) {
    this.#options = options;
  }

  get others(): OtherControllers {
    return this.#others;
  }

  /** Runs until aborted; resolves then, and never rejects: whatever a member answers, nothing else depends on it. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, log, clusters, everyMs } = this.#options;
    while (!signal.aborted) {
      // At the start the fleet is not yet known.
      const isKnown = clusters().length > 0;
      try {
        if (isKnown) await this.#look(signal);
      } catch (error) {
        if (!signal.aborted) log.warn("other controllers could not be looked for", { reason: String(error) });
      }
      await clock.sleep(isKnown ? everyMs : Math.min(everyMs, UNTIL_KNOWN_MS), signal).catch(() => undefined);
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { hub, member, clusters, changed } = this.#options;
    const request = { signal, timeoutMs: LOOK_TIMEOUT_MS, maxAttempts: 1 };
    const before = this.#others;
    const names = clusters();
    const rebalancers = (await listRebalancers(hub, request)) ?? before.rebalancers;
    const autoscalers = new Map<string, readonly KubeObject[]>();
    // One after the other: this is never urgent.
    for (const name of names) {
      const found = (await listAutoscalers(member(name), undefined, request)) ?? before.autoscalers.get(name) ?? [];
      if (found.length > 0) autoscalers.set(name, found);
    }
    if (signal.aborted) return;
    this.#others = { rebalancers, autoscalers };
    if (essenceOf(this.#others) !== essenceOf(before)) changed();
  }
}

function essenceOf({ rebalancers, autoscalers }: OtherControllers): string {
  return JSON.stringify([rebalancers.map(({ metadata, spec }) => [metadata.name, spec ?? null]), [...autoscalers]]);
}
