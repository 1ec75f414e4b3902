import type { JsonObject } from "../runtime/index.ts";
import { Dice } from "./dice.ts";
import { OWN_KIND } from "./lean/hub.ts";

export type Protocol = "statefulset" | "contract" | "ignorant";

/** One thing that goes wrong, or that somebody does, at a time. */
export type Happening =
  | { readonly atMs: number; readonly kind: "crash at write"; readonly write: number; readonly point: CrashPoint }
  | { readonly atMs: number; readonly kind: "flaky"; readonly forMs: number; readonly rate: number }
  | { readonly atMs: number; readonly kind: "slow"; readonly forMs: number; readonly latencyMs: number }
  | { readonly atMs: number; readonly kind: "stale"; readonly forMs: number; readonly lagMs: number }
  | { readonly atMs: number; readonly kind: "drop watches" }
  | { readonly atMs: number; readonly kind: "cut"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "pause leader"; readonly forMs: number; readonly clockStands: boolean }
  | { readonly atMs: number; readonly kind: "clock jump"; readonly byMs: number }
  | { readonly atMs: number; readonly kind: "stall"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "dishonest"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "tamper"; readonly cluster: string }
  | { readonly atMs: number; readonly kind: "fail"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "hang"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "edit"; readonly image: string }
  | { readonly atMs: number; readonly kind: "scale"; readonly cluster: string; readonly by: number }
  | { readonly atMs: number; readonly kind: "drain"; readonly cluster: string }
  | { readonly atMs: number; readonly kind: "pause" | "resume" | "undo" | "restart" };

export type CrashPoint = "crash before" | "crash after" | "crash acknowledged";

/** Everything that a seed decides beforehand. What depends on the moment is decided by the streams of its dice. */
export interface Scenario {
  readonly seed: number;
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
  readonly standby: boolean;
  readonly happenings: readonly Happening[];
  readonly calmAtMs: number;
  readonly ending: "keeps running" | "Teardown" | "Release";
  /** Deleted while things still go wrong. */
  readonly deletedAtMs: number | undefined;
}

export const FAILOVER_AFTER_S = 30;
const PROGRESS_DEADLINE_S = 60;
const NAME = "web";
/** The first seeds draw larger worlds and longer stories; the many after them smaller ones, three to the price of two. */
const LARGE_SEEDS = 600;

/** A user's own object: the seed then decides only what happens to it. */
export interface GivenApp {
  readonly spec: JsonObject;
  readonly template: JsonObject;
  readonly name: string;
  readonly namespace: string;
  readonly clusters: readonly { readonly name: string; readonly replicas: number }[];
  readonly plural: string;
}

/** `onlySets`: the tier has Kubernetes' StatefulSets and no other operator, and its pods always become ready. */
export function scenarioOf(seed: number, given: GivenApp | undefined, onlySets: boolean): Scenario {
  const dice = new Dice(seed).branch("scenario");
  const isLarge = seed <= LARGE_SEEDS;
  const app = given ? givenApp(given) : drawnApp(dice.branch("app"), onlySets, isLarge);
  const faults = dice.branch("faults");
  const calmAtMs = 1000 * (isLarge ? faults.whole(70, 150) : faults.whole(45, 110));
  const happenings = [...accidents(faults, app.clusters, calmAtMs), ...edits(faults.branch("users"), app, calmAtMs)];
  happenings.sort((a, b) => a.atMs - b.atMs);
  if (onlySets) for (const [index, each] of happenings.entries()) happenings[index] = withoutBroken(each);
  const ending = given ? "keeps running" : faults.pick(["keeps running", "Teardown", "Release"] as const);
  const early = ending !== "keeps running" && faults.chance(0.3);
  return {
    ...app,
    seed,
    spec: ending === "keeps running" ? app.spec : { ...app.spec, deletionPolicy: ending },
    standby: faults.chance(isLarge ? 0.5 : 0.2) || happenings.some(({ kind }) => kind === "pause leader"),
    happenings,
    calmAtMs,
    ending,
    deletedAtMs: early ? faults.whole(20_000, calmAtMs) : undefined,
  };
}

type App = Pick<
  Scenario,
  "protocol" | "clusters" | "workload" | "namespace" | "spec" | "template" | "explicit" | "replicas"
>;

function withoutBroken(happening: Happening): Happening {
  return happening.kind === "edit" ? { ...happening, image: happening.image.replace("-broken", "") } : happening;
}

function drawnApp(dice: Dice, onlySets: boolean, isLarge: boolean): App {
  const drawn = dice.pick(["statefulset", "statefulset", "statefulset", "contract", "contract", "ignorant"] as const);
  const protocol = onlySets ? "statefulset" : drawn;
  const clusters = Array.from(
    { length: dice.pick(isLarge ? [2, 3, 3, 3, 4] : [2, 3, 3, 3]) },
    (_, index) => `member${index + 1}`,
  );
  const replicas = Object.fromEntries(
    clusters.map((cluster) => [cluster, dice.pick(isLarge ? [1, 1, 1, 2, 2, 3] : [1, 1, 1, 2])]),
  );
  const explicit = dice.chance(0.6);
  const waves = dice.chance(0.2)
    ? [{ clusters: clusters.slice(0, 1), soakSeconds: dice.pick([0, 5]), approval: dice.pick(["Automatic", "Manual"]) }]
    : undefined;
  const workload =
    protocol === "statefulset"
      ? { apiVersion: "apps/v1", kind: "StatefulSet", plural: "statefulsets", name: NAME }
      : { apiVersion: OWN_KIND.apiVersion, kind: OWN_KIND.kind, plural: OWN_KIND.plural, name: NAME };
  const spec: JsonObject = {
    resourceSelector: { apiVersion: workload.apiVersion, kind: workload.kind, name: NAME },
    podManagementPolicy: dice.pick(["OrderedReady", "OrderedReady", "Parallel"]),
    quorum: dice.chance(0.9) ? "Majority" : "None",
    minReadySeconds: dice.pick([0, 0, 0, 3]),
    completion: { protocol: protocol === "contract" ? "Contract" : "Auto" },
    failover: { policy: "Wait", afterSeconds: FAILOVER_AFTER_S },
    updateStrategy: {
      type: "RollingUpdate",
      rollingUpdate: {
        maxUnavailable: dice.pick([1, 1, 1, 2]),
        progressDeadlineSeconds: PROGRESS_DEADLINE_S,
        onFailure: dice.pick(["Pause", "Rollback"]),
        ...(waves && { waves }),
        ...(dice.chance(0.15) && { batches: [1, 2] }),
        ...(dice.chance(0.15) && { partition: 1 }),
      },
    },
    ...(explicit && { topology: topologyOf(replicas) }),
  };
  const total = Object.values(replicas).reduce((sum, count) => sum + count, 0);
  const template = templateOf(workload, protocol, explicit ? 1 : total, dice.chance(0.2));
  return { protocol, clusters, workload, namespace: "default", spec, template, explicit, replicas };
}

function givenApp(given: GivenApp): App {
  const { apiVersion, kind } = given.template;
  const { completion } = given.spec as { completion?: { protocol?: string } };
  const isSet = apiVersion === "apps/v1" && kind === "StatefulSet";
  const replicas = Object.fromEntries(given.clusters.map(({ name, replicas: count }) => [name, count]));
  return {
    protocol: isSet ? "statefulset" : completion?.protocol === "Contract" ? "contract" : "ignorant",
    clusters: given.clusters.map(({ name }) => name),
    workload: { apiVersion: String(apiVersion), kind: String(kind), plural: given.plural, name: given.name },
    namespace: given.namespace,
    spec: { ...given.spec, topology: topologyOf(replicas) },
    template: given.template,
    explicit: true,
    replicas,
  };
}

export function topologyOf(replicas: Readonly<Record<string, number>>): JsonObject {
  return { clusters: Object.entries(replicas).map(([name, count]) => ({ name, replicas: count })) };
}

function templateOf(
  { apiVersion, kind, name }: Scenario["workload"],
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

/** The template's image; empty where it names none. */
export function imageIn(template: JsonObject): string {
  return /"image":"([^"]*)"/.exec(JSON.stringify(template))?.[1] ?? "";
}

/** The template with another image. */
export function withImage(template: JsonObject, image: string): JsonObject {
  const text = JSON.stringify(template.spec);
  return JSON.parse(text.replace(/"image":"[^"]*"/, `"image":${JSON.stringify(image)}`));
}

/** What goes wrong without anybody's will. Few things per seed, so that each has room to matter. */
function accidents(dice: Dice, clusters: readonly string[], calmAtMs: number): Happening[] {
  const found: Happening[] = [];
  const at = () => dice.whole(2_000, calmAtMs - 5_000);
  const span = (low: number, high: number) => 1000 * dice.whole(low, high);
  const cluster = () => dice.pick(clusters);
  const points: CrashPoint[] = ["crash before", "crash after", "crash acknowledged"];
  const kinds: (() => Happening)[] = [
    () => ({ atMs: 0, kind: "crash at write", write: dice.whole(1, 60), point: dice.pick(points) }),
    () => ({ atMs: 0, kind: "crash at write", write: dice.whole(1, 60), point: dice.pick(points) }),
    () => ({ atMs: at(), kind: "flaky", forMs: span(5, 40), rate: dice.pick([0.05, 0.15, 0.4]) }),
    () => ({ atMs: at(), kind: "slow", forMs: span(5, 40), latencyMs: dice.pick([200, 1_000, 4_000]) }),
    () => ({ atMs: at(), kind: "stale", forMs: span(5, 40), lagMs: dice.pick([500, 3_000, 15_000]) }),
    () => ({ atMs: at(), kind: "drop watches" }),
    () => ({ atMs: at(), kind: "cut", cluster: cluster(), forMs: span(3, 20) }),
    () => ({ atMs: at(), kind: "cut", cluster: cluster(), forMs: span(70, 100) }),
    () => ({ atMs: at(), kind: "pause leader", forMs: span(12, 45), clockStands: dice.chance(0.6) }),
    () => ({ atMs: at(), kind: "pause leader", forMs: span(16, 45), clockStands: true }),
    () => ({ atMs: at(), kind: "clock jump", byMs: dice.pick([-1, 1]) * span(60, 7_200) }),
    () => ({ atMs: at(), kind: "stall", cluster: cluster(), forMs: span(5, 80) }),
    () => ({ atMs: at(), kind: "dishonest", cluster: cluster(), forMs: span(10, 60) }),
    () => ({ atMs: at(), kind: "tamper", cluster: cluster() }),
    () => ({ atMs: at(), kind: "fail", cluster: cluster(), forMs: span(2, 20) }),
    () => ({ atMs: at(), kind: "fail", cluster: cluster(), forMs: span(90, 130) }),
    () => ({ atMs: at(), kind: "hang", cluster: cluster(), forMs: span(90, 130) }),
  ];
  const count = dice.pick([0, 1, 2, 3, 3, 4, 5]);
  for (let index = 0; index < count; index++) found.push(dice.pick(kinds)());
  return found;
}

/** What people do, most of it while something is under way. */
function edits(dice: Dice, { clusters }: App, calmAtMs: number): Happening[] {
  const found: Happening[] = [];
  const at = () => dice.whole(4_000, calmAtMs - 2_000);
  let image = 1;
  const kinds: (() => Happening)[] = [
    () => ({ atMs: at(), kind: "edit", image: `app:${++image}` }),
    () => ({ atMs: at(), kind: "edit", image: `app:${++image}` }),
    () => ({ atMs: at(), kind: "edit", image: `app:${++image}-broken` }),
    () => ({ atMs: at(), kind: "scale", cluster: dice.pick(clusters), by: dice.pick([-1, 1, 1]) }),
    () => ({ atMs: at(), kind: "drain", cluster: dice.pick(clusters) }),
    () => ({ atMs: at(), kind: "undo" }),
    () => ({ atMs: at(), kind: "restart" }),
  ];
  const count = dice.pick([1, 1, 2, 2, 3]);
  for (let index = 0; index < count; index++) found.push(dice.pick(kinds)());
  if (dice.chance(0.15)) {
    const atMs = at();
    found.push({ atMs, kind: "pause" }, { atMs: atMs + 1000 * dice.whole(5, 30), kind: "resume" });
  }
  return found;
}
