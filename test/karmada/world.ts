import { CONTROLLER_ACCOUNT } from "../../src/api/index.ts";
import { installManifests } from "../../src/cli/commands/install/manifests.ts";
import { runManager } from "../../src/controllers/index.ts";
import { KarmadaEngine } from "../../src/engine/index.ts";
import { STATEFULSETS, WORKS } from "../../src/engine/testing/contract/index.ts";
import { Observer } from "../../src/engine/testing/observer.ts";
import { isKubeObject, KubeClient, type KubeObject, type Resource, resource } from "../../src/kube/index.ts";
import { type Log, lineLog, seededRandom, silentLog, systemClock, systemRandom } from "../../src/runtime/index.ts";
import { CCS, crossCluster, MANAGER, PodRecorder } from "../stack/application.ts";
import { type KarmadaFleet, startKarmadaFleet } from "./fleet.ts";
import { connectAsAccount } from "./people.ts";

export const POLICIES = resource({
  apiVersion: "policy.karmada.io/v1alpha1",
  kind: "PropagationPolicy",
  plural: "propagationpolicies",
  namespaced: true,
});
interface PodList {
  readonly items: { metadata: { name: string; uid: string }; spec: { containers: { image: string }[] } }[];
}

async function podsOf(world: World, app: string): Promise<[string, PodList["items"]][]> {
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
export async function podImages(world: World, app: string): Promise<Record<string, string[]>> {
  const pods = (await podsOf(world, app)).map(([cluster, items]) => [
    cluster,
    items.map(({ metadata, spec }) => `${metadata.name} ${spec.containers[0]?.image}`).sort(),
  ]);
  return Object.fromEntries(pods);
}

const SYSTEM_NAMESPACE = "lockstep-system";

/** What `lockstep install` writes, for the kinds of this suite. */
export function installedObjects(): KubeObject[] {
  const workloads = [{ plural: "xlineclusters", group: "apps.my.io" }];
  return installManifests({ systemNamespace: SYSTEM_NAMESPACE, workloads, standingHold: true }).filter(isKubeObject);
}

/**
 * A real Karmada with everything that `lockstep install` writes, and the controller on it under its own account, with
 * the shipped roles and no other rights; and an observer over all of it.
 */
export interface World extends KarmadaFleet {
  member(name: string): KubeClient;
  watch(workload: Resource): Promise<Observer>;
  /** Stops the controller as a crash would, and starts another. */
  restartController(): Promise<void>;
  status(name: string): Promise<Record<string, unknown>>;
}

export async function startWorld(): Promise<World> {
  const fleet = await startKarmadaFleet();
  await install(fleet);
  const own = await connectAsAccount(fleet.stack, SYSTEM_NAMESPACE, CONTROLLER_ACCOUNT);
  const hub = new KubeClient({ transport: own.transport, clock: systemClock, random: systemRandom });

  let controller = startController(hub);
  const observers: Observer[] = [];
  return {
    ...fleet,
    member(name) {
      const client = fleet.members.get(name);
      if (!client) throw new Error(`no member ${name}`);
      return client;
    },
    async watch(workload) {
      const observer = new Observer({ ...fleet, random: seededRandom(1), workload, works: WORKS });
      observers.push(observer);
      await observer.start();
      return observer;
    },
    async restartController() {
      await controller.stop();
      controller = startController(hub);
    },
    async status(name) {
      const object = await fleet.hub.find(CCS, { namespace: "default", name });
      return (object?.status ?? {}) as Record<string, unknown>;
    },
    async stop() {
      await controller.stop();
      await Promise.all(observers.map((observer) => observer.stop()));
      await own.close();
      await fleet.stop();
    },
  };
}

async function install({ stack, until }: KarmadaFleet): Promise<void> {
  for (const object of installedObjects()) await stack.hub.apply(object);
  await until("the CRDs are served", () => stack.hub.ok("/apis/apps.karmada.io/v1alpha1/crossclusterstatefulsets"));
  // Karmada carries the role to the members; before, the controller may not look into them.
  const binding = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/lockstep-member";
  for (const [name, api] of stack.members) {
    await until(`${name} has the controller's role`, async () => (await api.get(binding)) !== undefined);
  }
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

function startController(hub: KubeClient) {
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
      engine: () => new KarmadaEngine({ hub, clock: systemClock, random: systemRandom, log }),
      webhookTransports: () => {
        throw new Error("no webhook is configured in this suite");
      },
      systemNamespace: SYSTEM_NAMESPACE,
      identity: "test",
      allowedClusters: { required: false },
    },
    stop.signal,
  );
  return {
    async stop() {
      stop.abort(new Error("the test stops the controller"));
      await running;
    },
  };
}

export { CCS, crossCluster, MANAGER, PodRecorder, STATEFULSETS };
