/**
 * A real hub with everything that `lockstep install` writes, and the controller on it under its own account, with the
 * shipped roles and no other rights; and observers over all of it. The stories of this folder run on any such world.
 */
import { CONTROLLER_ACCOUNT, type EngineName } from "../../src/api/index.ts";
import { installManifests } from "../../src/cli/commands/install/manifests.ts";
import { type ManagerOptions, runManager } from "../../src/controllers/index.ts";
import type { Engine } from "../../src/engine/index.ts";
import { STATEFULSETS } from "../../src/engine/testing/contract/index.ts";
import { Observer } from "../../src/engine/testing/observer.ts";
import { isKubeObject, KubeClient, type KubeObject, type Resource } from "../../src/kube/index.ts";
import {
  type HttpRequest,
  type Log,
  lineLog,
  seededRandom,
  silentLog,
  systemClock,
  systemRandom,
  type Transport,
} from "../../src/runtime/index.ts";
import { CCS, crossCluster, MANAGER, PodRecorder } from "../stack/application.ts";
import type { RealFleet } from "../stack/fleet.ts";
import { crashingTransport } from "./crashes.ts";
import { connectAsAccount } from "./people.ts";

export const SYSTEM_NAMESPACE = "lockstep-system";
const SECRETS = { plural: "secrets", group: "" };
/** The custom kind of the chart that the stories of whole applications use. */
export const TICKETS = { plural: "tickets", group: "orders.example" };
export const XLINE_WORKLOAD = { plural: "xlineclusters", group: "apps.my.io" };

/** What differs from hub to hub. */
export interface Stage {
  readonly engine: EngineName;
  readonly works: Resource;
  /** The namespace of a cluster's dispatch objects. */
  readonly namespaceOf: (cluster: string) => string;
  start(): Promise<RealFleet>;
  /** The controller's engine, with the controller's own client. */
  open(hub: KubeClient, log: Log): Engine;
  /** After the hub's manifests have been applied: until the controller's rights are everywhere. */
  prepare(fleet: RealFleet): Promise<void>;
  /**
   * Declares the application, or changes it: what it runs, and its CrossClusterStatefulset with this spec in addition.
   */
  declare(world: World, name: string, workload: KubeObject, spec?: object): Promise<void>;
  /** Runs the StatefulSet in all clusters with the engine's own means, two, two and one instance. */
  runWithoutLockstep(world: World, workload: KubeObject): Promise<void>;
  /** After a custom kind is served in every cluster: until the engine may deliver it. */
  prepareKind(world: World): Promise<void>;
}

export interface WorldOptions extends Pick<ManagerOptions, "renderer"> {
  /** What the controller's requests to the hub pass through, so that they can be counted. */
  readonly through?: (transport: Transport) => Transport;
}

export interface World extends RealFleet {
  readonly stage: Stage;
  member(name: string): KubeClient;
  watch(workload: Resource): Promise<Observer>;
  /** Stops the controller as a SIGTERM would, and starts another. */
  restartController(): Promise<void>;
  stopController(): Promise<void>;
  /** `through`: changes or cuts off what the controller sends. The returned function gives it up without waiting. */
  startController(through?: (transport: Transport) => Transport): () => void;
  /**
   * Starts another controller, whose process ends right after this many writes; resolves with the last one. Call
   * `restartController` afterwards.
   */
  controllerThatCrashes(afterWrites: number): Promise<{ readonly crashed: Promise<string> }>;
  status(name: string): Promise<Record<string, unknown>>;
  /** What the hub refused to the controller's account for want of a right: it has only those that `install` gives. */
  readonly denied: readonly string[];
  /** Whether the application is settled as it was declared last; otherwise what its status says. */
  settled(name: string, replicas?: number): Promise<true | string>;
}

/** What `lockstep install` writes, for the kinds of these stories. */
export function installedObjects(engine: EngineName): KubeObject[] {
  const settings = {
    systemNamespace: SYSTEM_NAMESPACE,
    engine,
    workloads: [XLINE_WORKLOAD],
    standingHold: true,
    distributed: [TICKETS, SECRETS],
    divided: [{ plural: "deployments", group: "apps" }],
  };
  return installManifests(settings).filter(isKubeObject);
}

export async function startWorldOn(stage: Stage, options: WorldOptions = {}): Promise<World> {
  const { through = (transport: Transport) => transport, ...more } = options;
  const fleet = await stage.start();
  await install(stage, fleet);
  const own = await connectAsAccount(fleet.stack, SYSTEM_NAMESPACE, CONTROLLER_ACCOUNT);
  const denied: string[] = [];
  const audited = notingDenials(own.transport, denied);
  const start = (passing = through) =>
    startController(
      stage,
      new KubeClient({ transport: passing(audited), clock: systemClock, random: systemRandom }),
      more,
    );
  let controller = start();
  /** A process that is gone releases nothing: here the time is not waited for after which another may take the lease. */
  const freeLease = async () => {
    const path = `/apis/coordination.k8s.io/v1/namespaces/${SYSTEM_NAMESPACE}/leases`;
    const leases = await fleet.stack.hub.get<{ items: { metadata: { name: string } }[] }>(path);
    for (const { metadata } of leases?.items ?? []) {
      const patch = { spec: { holderIdentity: "" } };
      await fleet.stack.hub.request("PATCH", `${path}/${metadata.name}`, patch, "application/merge-patch+json");
    }
  };
  const observers: Observer[] = [];
  const find = (name: string) => fleet.hub.find(CCS, { namespace: "default", name });
  return {
    ...fleet,
    stage,
    denied,
    member(name) {
      const client = fleet.members.get(name);
      if (!client) throw new Error(`no member ${name}`);
      return client;
    },
    async watch(workload) {
      const observer = new Observer({ ...fleet, random: seededRandom(1), workload, works: stage.works });
      observers.push(observer);
      await observer.start();
      return observer;
    },
    async restartController() {
      await controller.stop();
      await freeLease();
      controller = start();
    },
    stopController: () => controller.stop(),
    startController(through) {
      controller = start(through);
      return controller.abandon;
    },
    async controllerThatCrashes(afterWrites) {
      await controller.stop();
      await freeLease();
      const transport = crashingTransport(own.transport, afterWrites);
      const running = start(() => transport);
      controller = {
        ...running,
        stop: () => {
          transport.end();
          return running.stop();
        },
      };
      return { crashed: transport.crashed };
    },
    async status(name) {
      return ((await find(name))?.status ?? {}) as Record<string, unknown>;
    },
    async settled(name, replicas) {
      const object = await find(name);
      const status = (object?.status ?? {}) as Record<string, unknown>;
      const isSettled =
        status.phase === "Settled" &&
        (replicas === undefined || status.readyReplicas === replicas) &&
        status.observedGeneration === object?.metadata.generation;
      return isSettled || JSON.stringify({ ...status, ledger: undefined });
    },
    async stop() {
      await controller.stop();
      await Promise.all(observers.map((observer) => observer.stop()));
      await own.close();
      await fleet.stop();
    },
  };
}

/** Of the hub itself: a member refuses until the engine has carried the rights there. */
function notingDenials(transport: Transport, denied: string[]): Transport {
  const noted = async <Answer extends { readonly status: number }>(
    { method, path }: HttpRequest,
    sent: Promise<Answer>,
  ) => {
    const answer = await sent;
    if (answer.status === 403 && !path.includes("/proxy/")) denied.push(`${method} ${path}`);
    return answer;
  };
  return {
    request: (request) => noted(request, transport.request(request)),
    stream: (request) => noted(request, transport.stream(request)),
  };
}

async function install(stage: Stage, fleet: RealFleet): Promise<void> {
  const { stack, until } = fleet;
  for (const object of installedObjects(stage.engine)) await stack.hub.apply(object);
  await until("the CRDs are served", () => stack.hub.ok("/apis/apps.karmada.io/v1alpha1/crossclusterstatefulsets"));
  await stage.prepare(fleet);
  // A policy counts once the API server has seen it.
  const forbidden = { apiVersion: "apps.karmada.io/v1alpha1", kind: "CrossClusterStatefulset" };
  const selector = { apiVersion: "v1", kind: "Secret", name: "probe" };
  const spec = { resourceSelector: selector, updateStrategy: { type: "RollingUpdate" } };
  const path = "/apis/apps.karmada.io/v1alpha1/namespaces/default/crossclusterstatefulsets?dryRun=All";
  await until("the policies are in force", async () => {
    const { status, text } = await stack.hub.request("POST", path, { ...forbidden, metadata: { name: "probe" }, spec });
    return status === 422 || text;
  });
}

function startController(stage: Stage, hub: KubeClient, more: Omit<WorldOptions, "through">) {
  const stop = new AbortController();
  const log: Log = process.env.LOCKSTEP_TEST_LOG
    ? lineLog((level, message, fields) => console.error(level, message, JSON.stringify(fields)))
    : silentLog;
  const running = runManager(
    {
      hub,
      clock: systemClock,
      random: systemRandom,
      log,
      engine: () => stage.open(hub, log),
      webhookTransports: () => {
        throw new Error("no webhook is configured in this suite");
      },
      systemNamespace: SYSTEM_NAMESPACE,
      identity: "test",
      allowedClusters: { required: false },
      ...more,
    },
    stop.signal,
  );
  const abandon = () => {
    stop.abort(new Error("the test ends the controller"));
    // What it still tries is cut off by the test, and may fail.
    running.catch(() => {});
  };
  return {
    abandon,
    async stop() {
      stop.abort(new Error("the test stops the controller"));
      await running;
    },
  };
}

interface PodList {
  readonly items: { metadata: { name: string; uid: string }; spec: { containers: { image: string }[] } }[];
}

async function podsOf(world: Pick<World, "stack">, app: string): Promise<[string, PodList["items"]][]> {
  const path = `/api/v1/namespaces/default/pods?labelSelector=app%3D${app}`;
  const found: [string, PodList["items"]][] = [];
  for (const [cluster, api] of world.stack.members) found.push([cluster, (await api.get<PodList>(path))?.items ?? []]);
  return found;
}

/** Every pod's uid, by cluster and name: what must not change when nothing may move. */
export async function podUids(world: World, app: string): Promise<Record<string, string>> {
  const pods = (await podsOf(world, app)).flatMap(([cluster, items]) =>
    items.map(({ metadata }) => [`${cluster}/${metadata.name}`, metadata.uid]),
  );
  return Object.fromEntries(pods);
}

/** What each cluster's pods run, such as `web-0 web:1`. */
export async function podImages(world: Pick<World, "stack">, app: string): Promise<Record<string, string[]>> {
  const pods = (await podsOf(world, app)).map(([cluster, items]) => [
    cluster,
    items.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`).sort(),
  ]);
  return Object.fromEntries(pods);
}

export { CCS, crossCluster, MANAGER, PodRecorder, STATEFULSETS };
