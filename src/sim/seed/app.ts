import { isJsonObject, type JsonObject } from "../../runtime/index.ts";
import { OWN_KIND } from "../lean/hub.ts";
import type { Dice } from "./dice.ts";

export type Protocol = "statefulset" | "contract" | "ignorant";

/** The simulated application: a CrossClusterStatefulset, its template, and where it runs. */
export interface App {
  readonly protocol: Protocol;
  readonly clusters: readonly string[];
  readonly workload: {
    readonly apiVersion: string;
    readonly kind: string;
    readonly plural: string;
    readonly name: string;
  };
  readonly namespace: string;
  readonly spec: JsonObject;
  readonly template: JsonObject;
  /** Explicit: written into spec.topology. Otherwise the engine schedules. */
  readonly explicit: boolean;
  readonly replicas: Readonly<Record<string, number>>;
}

/** A user's own object: the seed then decides only what happens to it. */
export interface GivenApp {
  readonly spec: JsonObject;
  readonly template: JsonObject;
  readonly name: string;
  readonly namespace: string;
  readonly clusters: readonly { readonly name: string; readonly replicas: number }[];
  readonly plural: string;
}

export const FAILOVER_AFTER_S = 30;
export const PROGRESS_DEADLINE_S = 60;
const NAME = "web";

/** What makes one application of the simulator another than the next. */
export interface AppTraits {
  readonly protocol: Protocol;
  readonly replicas: Readonly<Record<string, number>>;
  readonly explicit: boolean;
  readonly podManagementPolicy: "OrderedReady" | "Parallel";
  readonly quorum: "Majority" | "None";
  readonly minReadySeconds: number;
  readonly rollingUpdate: JsonObject;
  /** Of the StatefulSet itself, in each cluster. */
  readonly parallelPods: boolean;
  /** The template is inside the CrossClusterStatefulset. */
  readonly isInline?: boolean;
}

export function drawnApp(
  dice: Dice,
  protocolFor: (drawn: Protocol) => Protocol,
  isLarge: boolean,
  isInline: boolean,
): App {
  const drawn = dice.pick(["statefulset", "statefulset", "statefulset", "contract", "contract", "ignorant"] as const);
  const protocol = protocolFor(drawn);
  const clusters = Array.from(
    { length: dice.pick(isLarge ? [2, 3, 3, 3, 4] : [2, 3, 3, 3]) },
    (_, index) => `member${index + 1}`,
  );
  const replicas = Object.fromEntries(
    clusters.map((cluster) => [cluster, dice.pick(isLarge ? [1, 1, 1, 2, 2, 3] : [1, 1, 1, 2])]),
  );
  const explicit = dice.chance(0.6) || isInline;
  const waves = dice.chance(0.2)
    ? [{ clusters: clusters.slice(0, 1), soakSeconds: dice.pick([0, 5]), approval: dice.pick(["Automatic", "Manual"]) }]
    : undefined;
  // In the order in which they are drawn: another order would make another world of every seed.
  return appOf({
    protocol,
    replicas,
    explicit,
    podManagementPolicy: dice.pick(["OrderedReady", "OrderedReady", "Parallel"] as const),
    quorum: dice.chance(0.9) ? "Majority" : "None",
    minReadySeconds: dice.pick([0, 0, 0, 3]),
    rollingUpdate: {
      maxUnavailable: dice.pick([1, 1, 1, 2]),
      progressDeadlineSeconds: PROGRESS_DEADLINE_S,
      onFailure: dice.pick(["Pause", "Rollback"]),
      ...(waves && { waves }),
      ...(dice.chance(0.15) && { batches: [1, 2] }),
      ...(dice.chance(0.15) && { partition: 1 }),
    },
    parallelPods: dice.chance(0.2),
    ...(isInline && { isInline }),
  });
}

export function appOf({
  protocol,
  replicas,
  explicit,
  rollingUpdate,
  parallelPods,
  isInline,
  ...traits
}: AppTraits): App {
  const workload =
    protocol === "statefulset"
      ? { apiVersion: "apps/v1", kind: "StatefulSet", plural: "statefulsets", name: NAME }
      : { apiVersion: OWN_KIND.apiVersion, kind: OWN_KIND.kind, plural: OWN_KIND.plural, name: NAME };
  const total = Object.values(replicas).reduce((sum, count) => sum + count, 0);
  const template = templateOf(workload, protocol, explicit ? 1 : total, parallelPods);
  const spec: JsonObject = {
    ...(isInline
      ? { template: inlineOf(template) }
      : { resourceSelector: { apiVersion: workload.apiVersion, kind: workload.kind, name: NAME } }),
    podManagementPolicy: traits.podManagementPolicy,
    quorum: traits.quorum,
    minReadySeconds: traits.minReadySeconds,
    completion: { protocol: protocol === "contract" ? "Contract" : "Auto" },
    failover: { policy: "Wait", afterSeconds: FAILOVER_AFTER_S },
    updateStrategy: { type: "RollingUpdate", rollingUpdate },
    ...(explicit && { topology: topologyOf(replicas) }),
  };
  const clusters = Object.keys(replicas);
  return { protocol, clusters, workload, namespace: "default", spec, template, explicit, replicas };
}

export function givenApp(given: GivenApp, isInline: boolean): App {
  const { apiVersion, kind } = given.template;
  const { completion } = given.spec as { completion?: { protocol?: string } };
  const isSet = apiVersion === "apps/v1" && kind === "StatefulSet";
  const replicas = Object.fromEntries(given.clusters.map(({ name, replicas: count }) => [name, count]));
  const { resourceSelector, ...rest } = given.spec;
  const source: JsonObject = isInline
    ? { template: inlineOf(given.template) }
    : { ...(resourceSelector !== undefined && { resourceSelector }) };
  return {
    protocol: isSet ? "statefulset" : completion?.protocol === "Contract" ? "contract" : "ignorant",
    clusters: given.clusters.map(({ name }) => name),
    workload: { apiVersion: String(apiVersion), kind: String(kind), plural: given.plural, name: given.name },
    namespace: given.namespace,
    spec: { ...rest, ...source, topology: topologyOf(replicas) },
    template: given.template,
    explicit: true,
    replicas,
  };
}

export function topologyOf(replicas: Readonly<Record<string, number>>): JsonObject {
  return { clusters: Object.entries(replicas).map(([name, count]) => ({ name, replicas: count })) };
}

function templateOf(
  { apiVersion, kind, name }: App["workload"],
  protocol: Protocol,
  replicas: number,
  parallelPods: boolean,
): JsonObject {
  const metadata = { name, namespace: "default" };
  if (protocol !== "statefulset") return { apiVersion, kind, metadata, spec: { replicas, image: "app:1" } };
  return {
    apiVersion,
    kind,
    metadata,
    spec: {
      replicas,
      serviceName: name,
      ...(parallelPods && { podManagementPolicy: "Parallel" }),
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { containers: [{ name: "app", image: "app:1" }] },
      },
    },
  };
}

/** As `spec.template`: its name is that of the CrossClusterStatefulset, if it is not given. */
function inlineOf({ apiVersion = "", kind = "", metadata, spec = {} }: JsonObject): JsonObject {
  const name = isJsonObject(metadata) ? metadata.name : undefined;
  return { apiVersion, kind, ...(name !== undefined && { metadata: { name } }), spec };
}

/** The template's image; empty if it names none. */
export function imageIn(template: JsonObject): string {
  return /"image":"([^"]*)"/.exec(JSON.stringify(template))?.[1] ?? "";
}

/** The template with another image. */
export function withImage(template: JsonObject, image: string): JsonObject {
  const text = JSON.stringify(template.spec);
  return JSON.parse(text.replace(/"image":"[^"]*"/, `"image":${JSON.stringify(image)}`));
}
