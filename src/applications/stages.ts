import type { Mode, ObjectKey, Stage } from "./types.ts";

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
  const hooks = (...events: string[]) =>
    objects
      .filter(({ hook }) => hook?.events.some((event) => events.includes(event)))
      .sort((a, b) => weight(a) - weight(b) || compare(a.name, b.name) || compare(a.kind, b.kind))
      .map(
        ({ key, kind }): Stage => ({
          kind: "hook",
          title: `hook ${events[0]}`,
          object: key,
          runs: RUNNING_KINDS.has(kind),
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
