/** Whether a status shows that a goal is reached, and whether it refers to the current objects on the hub. Pure. */
import type { CrossClusterStatefulsetStatus } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { metadataDigest } from "../../../render/index.ts";
import { isJsonObject } from "../../../runtime/index.ts";

export const GOALS = ["settled", "revision", "ready"] as const;
export type Goal = (typeof GOALS)[number];

type Status = CrossClusterStatefulsetStatus;
type Dependency = NonNullable<NonNullable<Status["observedTemplate"]>["dependencies"]>[number];

/** The objects on the hub, read after the edit. */
export interface Sources {
  readonly template: KubeObject;
  /** By `dependencyKey`. Undefined: it does not exist. Objects that may not be read are missing. */
  readonly dependencies: ReadonlyMap<string, string | undefined>;
  readonly unreadable: ReadonlySet<string>;
  /** Undefined: the engine's schedule is not used, or cannot be read. */
  readonly schedule: EngineSchedule | undefined;
}

export interface EngineSchedule {
  /** The number of instances requested from the scheduler. */
  readonly asked: number | undefined;
  /** The total number that it placed; undefined: it is not done. */
  readonly placed: number | undefined;
}

export const dependencyKey = ({ kind, namespace, name }: Pick<Dependency, "kind" | "namespace" | "name">) =>
  `${kind}/${namespace ?? ""}/${name}`;

/** Reached, according to the status. */
export function isReached(goal: Goal, status: Status): boolean {
  const { desiredReplicas, readyReplicas, updatedReplicas, currentRevision, updateRevision } = status;
  switch (goal) {
    case "settled":
      return status.conditions?.some(({ type, status: is }) => type === "Settled" && is === "True") === true;
    case "ready":
      return desiredReplicas !== undefined && readyReplicas === desiredReplicas;
    case "revision":
      return (
        updateRevision !== undefined &&
        updateRevision === status.observedTemplate?.revision &&
        updateRevision === currentRevision &&
        updatedReplicas === desiredReplicas
      );
  }
}

/**
 * The template's revision will not be reached: it was undone or failed, and that stays in force until the template is
 * edited.
 */
export function isOutOfReach(goal: Goal, { conditions, observedTemplate, updateRevision }: Status): boolean {
  const atRest = conditions?.some(({ type, status }) => type === "Settled" && status === "True") === true;
  const asked = observedTemplate?.revision;
  return goal === "revision" && atRest && asked !== undefined && asked !== updateRevision;
}

/** Why the status does not refer to the current objects on the hub; undefined: it does. */
export function staleness(object: KubeObject, status: Status, sources: Sources): string | undefined {
  const { generation } = object.metadata;
  const seen = status.observedTemplate;
  if (status.observedGeneration !== generation) {
    return `the controller has seen generation ${status.observedGeneration ?? "none"} of its spec, and the current one is ${generation}`;
  }
  const { template, unreadable, schedule } = sources;
  const { kind, metadata } = template;
  const what = `${kind} ${metadata.namespace}/${metadata.name}`;
  if (!seen) return `the controller has not seen ${what} yet`;
  if (seen.uid !== metadata.uid) return `the controller has seen an earlier ${what} of the same name`;
  if (seen.generation !== metadata.generation) {
    return `the controller has seen generation ${seen.generation ?? "none"} of ${what}, and the current one is ${metadata.generation}`;
  }
  if (seen.metadata !== metadataDigest(template)) return `the controller has not seen the labels of ${what} yet`;
  for (const dependency of seen.dependencies ?? []) {
    const key = dependencyKey(dependency);
    if (unreadable.has(key)) continue;
    if (!sources.dependencies.has(key) || sources.dependencies.get(key) !== dependency.resourceVersion) {
      return `the controller has not seen ${dependency.kind} ${dependency.name} in its current version yet`;
    }
  }
  return schedule && scheduleLag(template, status, schedule);
}

function scheduleLag({ spec }: KubeObject, status: Status, { asked, placed }: EngineSchedule): string | undefined {
  const wanted = isJsonObject(spec) ? spec.replicas : undefined;
  if (typeof wanted === "number" && asked !== undefined && asked !== wanted) {
    return `the engine has been asked to place ${asked} instances, and the template has ${wanted}`;
  }
  if (placed === undefined) return "the engine's scheduler has not placed the instances yet";
  if (placed === status.desiredReplicas) return undefined;
  return `the controller has seen ${status.desiredReplicas ?? "no"} placed instances, and the engine has placed ${placed}`;
}
