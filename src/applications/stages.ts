import type { Grant, HookFailure, Mode, ObjectKey, Stage } from "./types.ts";

/** An object of a revision, as far as its place in the order is concerned. */
export interface Placed {
  readonly key: ObjectKey;
  readonly kind: string;
  readonly name: string;
  readonly hook?: { readonly events: readonly string[]; readonly weight: number };
}

/** What must be there first, everything else, and what must come last because it stands in the way of others. */
export const TIERS = ["definitions", "objects", "webhooks"] as const;
const DEFINITIONS = new Set(["CustomResourceDefinition", "Namespace"]);
const WEBHOOKS = new Set(["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService"]);

export function tierOf(kind: string): number {
  return DEFINITIONS.has(kind) ? 0 : WEBHOOKS.has(kind) ? 2 : 1;
}

/** What others refer to comes before them. */
const ORDER = [
  "Namespace",
  "CustomResourceDefinition",
  "PriorityClass",
  "StorageClass",
  "NetworkPolicy",
  "ResourceQuota",
  "LimitRange",
  "PodDisruptionBudget",
  "ServiceAccount",
  "Secret",
  "ConfigMap",
  "PersistentVolume",
  "PersistentVolumeClaim",
  "ClusterRole",
  "ClusterRoleBinding",
  "Role",
  "RoleBinding",
  "Service",
  "DaemonSet",
  "Pod",
  "ReplicaSet",
  "Deployment",
  "StatefulSet",
  "HorizontalPodAutoscaler",
  "Job",
  "CronJob",
  "IngressClass",
  "Ingress",
];
const RANKS = new Map(ORDER.map((kind, index) => [kind, index]));

/** [A5] In this order objects are written, and in the reverse order they are deleted. */
export function kindOrder(a: Pick<Placed, "kind" | "name">, b: Pick<Placed, "kind" | "name">): number {
  const rank = (kind: string) => RANKS.get(kind) ?? ORDER.length;
  return rank(a.kind) - rank(b.kind) || compare(a.kind, b.kind) || compare(a.name, b.name);
}

const RUNNING_KINDS = new Set(["Job", "Pod"]);

/** Whether an object of this kind has an end that a hook waits for. */
export function isRunning(kind: string): boolean {
  return RUNNING_KINDS.has(kind);
}

const EVENTS: Record<Mode, { readonly before: string; readonly after: string }> = {
  Install: { before: "pre-install", after: "post-install" },
  Upgrade: { before: "pre-upgrade", after: "post-upgrade" },
  Rollback: { before: "pre-rollback", after: "post-rollback" },
  Delete: { before: "pre-delete", after: "post-delete" },
};
const TESTS = ["test", "test-success"];

export function isHookEvent(event: string): boolean {
  const known = Object.values(EVENTS).flatMap(({ before, after }) => [before, after]);
  return known.includes(event) || TESTS.includes(event);
}

/** [A5] A cluster's way through a revision, or out of it. */
export function stagesOf(objects: readonly Placed[], mode: Mode, hasTests: boolean): Stage[] {
  const runs = new Map<ObjectKey, number>();
  return orderedStages(objects, mode, hasTests).map((stage) => {
    if (stage.kind !== "hook") return stage;
    const earlier = runs.get(stage.object) ?? 0;
    runs.set(stage.object, earlier + 1);
    return earlier === 0 ? stage : { ...stage, earlier };
  });
}

/** The same stages, in the same places, without the hooks: a cluster may be on its way through them already. */
export function withoutHooks(stages: readonly Stage[]): Stage[] {
  const nothing = TIERS.length;
  return stages.map((stage) => (stage.kind === "hook" ? { kind: "remove", title: stage.title, tier: nothing } : stage));
}

/** More hooks than any step has. */
const EARLIER_FACTOR = 1_000_000;

/** [A7] What the object of a hook carries in this very run, so that neither an earlier step nor an earlier event counts. */
export function hookEpoch({ earlier = 0 }: Extract<Stage, { kind: "hook" }>, { step }: Pick<Grant, "step">): number {
  return earlier === 0 ? step : step * EARLIER_FACTOR + earlier;
}

/** The hooks of the same event around one of them, from the first to after the last; for other stages itself. */
export function eventAround(stages: readonly Stage[], at: number): readonly [number, number] {
  const own = stages[at];
  const isSame = (index: number) =>
    own?.kind === "hook" && stages[index]?.kind === "hook" && stages[index]?.title === own.title;
  let [from, to] = [at, at + 1];
  while (isSame(from - 1)) from--;
  while (isSame(to)) to++;
  return [from, to];
}

/** How a hook ended. Helm deletes by policy only when all hooks of the event are over: later ones may need earlier ones. */
export type HookEnd = "succeeded" | "failed";

/** [A7] The hooks of this step that are over, by object. One that runs again in a later event counts again there. */
export function hooksOver(
  stages: readonly Stage[],
  grant: Grant,
  failure: HookFailure | undefined,
): Map<ObjectKey, HookEnd> {
  const over = new Map<ObjectKey, HookEnd>();
  const failedAt = failure?.step === grant.step ? failure.stage : undefined;
  for (const [index, stage] of stages.entries()) {
    if (stage.kind !== "hook") continue;
    const [from, to] = eventAround(stages, index);
    if (to <= grant.stage) over.set(stage.object, "succeeded");
    else if (from <= grant.stage) {
      if (failedAt === undefined || index > failedAt) over.delete(stage.object);
      else over.set(stage.object, index === failedAt ? "failed" : "succeeded");
    }
  }
  return over;
}

function orderedStages(objects: readonly Placed[], mode: Mode, hasTests: boolean): Stage[] {
  const hooks = (...events: string[]) =>
    objects
      .filter(({ hook }) => hook?.events.some((event) => events.includes(event)))
      .sort((a, b) => weight(a) - weight(b) || compare(a.name, b.name) || compare(a.kind, b.kind))
      .map(
        ({ key, kind }): Stage => ({
          kind: "hook",
          title: `hook ${events[0]}`,
          object: key,
          runs: isRunning(kind),
        }),
      );
  const { before, after } = EVENTS[mode];
  if (mode === "Delete") {
    return [
      ...hooks(before),
      { kind: "remove", title: "removing webhooks", tier: 2 },
      { kind: "remove", title: "removing objects", tier: 1 },
      ...hooks(after),
      { kind: "remove", title: "removing hooks", tier: 1 },
      { kind: "remove", title: "removing definitions", tier: 0 },
    ];
  }
  const own = objects.filter(({ hook }) => hook === undefined).sort(kindOrder);
  const applied = TIERS.map(
    (title, tier): Stage => ({
      kind: "apply",
      title,
      objects: own.filter(({ kind }) => tierOf(kind) === tier).map(({ key }) => key),
    }),
  ).filter((stage) => stage.kind === "apply" && stage.objects.length > 0);
  const [definitions, rest] = applied[0]?.title === TIERS[0] ? [applied.slice(0, 1), applied.slice(1)] : [[], applied];
  return [
    ...definitions,
    ...hooks(before),
    ...rest,
    ...hooks(after),
    ...(hasTests ? hooks(...TESTS) : []),
    { kind: "prune", title: "pruning" },
  ];
}

function weight({ hook }: Placed): number {
  return hook?.weight ?? 0;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
