import { afterEach, beforeEach, expect, it } from "vitest";
import { CLUSTERS_IN_USE } from "../../api/index.ts";
import { KubeClient, type KubeObject, Reflector, resource } from "../../kube/index.ts";
import { FakeApi } from "../../kube/testing/fake-api.ts";
import { seededRandom, silentLog } from "../../runtime/index.ts";
import { VirtualClock } from "../../runtime/testing/virtual-clock.ts";
import { MARKS } from "../marks.ts";
import { ClustersInUse } from "./clusters-in-use.ts";
import { MANIFEST_WORKS } from "./resources.ts";

const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const NAME = { namespace: "lockstep-system", name: CLUSTERS_IN_USE };
const MINUTE_MS = 60_000;
let stop: AbortController;
let clock: VirtualClock;
let api: FakeApi;
let hub: KubeClient;
let warnings: string[];
/** Called before a request is answered. */
let before: (method: string, path: string) => void;

beforeEach(() => {
  stop = new AbortController();
  clock = new VirtualClock();
  before = () => {};
  warnings = [];
  api = new FakeApi({
    clock,
    fault: ({ method, path }) => {
      before(method, path);
      return undefined;
    },
  });
  hub = new KubeClient({ transport: api, clock, random: seededRandom(1) });
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
});

async function started(): Promise<ClustersInUse> {
  const random = seededRandom(2);
  const selection = { labelSelector: MARKS.app };
  const reflector = new Reflector<KubeObject>({ client: hub, resource: MANIFEST_WORKS, clock, random, selection });
  void reflector.run(stop.signal);
  await clock.run(reflector.cache.synced());
  const log = { ...silentLog, warn: (message: string) => void warnings.push(message) };
  const inUse = new ClustersInUse({
    ...{ hub, clock, log, works: reflector.cache },
    isCluster: (name) => name !== "tenant",
    systemNamespace: NAME.namespace,
  });
  reflector.cache.subscribe({ deleted: ({ metadata }) => inUse.workEnded(metadata.namespace ?? "") });
  void inUse.run(stop.signal);
  return inUse;
}

const install = () => api.put(CONFIG_MAPS, { apiVersion: "v1", kind: "ConfigMap", metadata: NAME });

function dispatch(namespace: string): KubeObject {
  const metadata = { namespace, name: "web", labels: { [MARKS.app]: "web" } };
  return api.put(MANIFEST_WORKS, { apiVersion: MANIFEST_WORKS.apiVersion, kind: MANIFEST_WORKS.kind, metadata });
}

async function listed(): Promise<string[]> {
  return Object.keys((await clock.run(hub.get(CONFIG_MAPS, NAME))).data ?? {});
}

it("a cluster is listed before anything is dispatched there, and removed after the last ManifestWork is gone", async () => {
  install();
  const inUse = await started();
  await clock.run(inUse.list("east"));
  expect(await listed()).toEqual(["east"]);
  const work = dispatch("east");
  await clock.advance(10 * MINUTE_MS);
  expect(await listed()).toEqual(["east"]);
  await clock.run(hub.delete(MANIFEST_WORKS, work.metadata));
  await clock.advance(1_000);
  expect(await listed()).toEqual([]);
});

it("an entry stays while its first ManifestWork may still be on its way", async () => {
  install();
  const inUse = await started();
  await clock.run(inUse.list("east"));
  await clock.advance(MINUTE_MS / 3);
  await clock.run(inUse.compare());
  expect(await listed()).toEqual(["east"]);
  await clock.advance(MINUTE_MS);
  expect(await listed()).toEqual([]);
});

it("an idle cluster stays listed if another process lists it while this one removes it", async () => {
  install();
  const inUse = await started();
  await clock.run(inUse.list("east"));
  await clock.advance(MINUTE_MS / 3);
  await clock.run(inUse.list("west"));
  before = (method, path) => {
    if (method !== "GET" || !path.includes("manifestworks") || path.includes("watch=")) return;
    before = () => {};
    const [list] = api.list(CONFIG_MAPS);
    if (list) api.put(CONFIG_MAPS, { ...list, data: { east: "listed again", west: "listed again" } });
  };
  await clock.advance(MINUTE_MS / 4);
  expect(await listed()).toEqual(["east", "west"]);
});

it("a process that never led writes nothing", async () => {
  install();
  dispatch("east");
  await started();
  await clock.advance(10 * MINUTE_MS);
  expect(await listed()).toEqual([]);
});

it("what is dispatched is listed again after the list was lost, and a tenant's imitation is not", async () => {
  dispatch("east");
  dispatch("tenant");
  const inUse = await started();
  await clock.run(inUse.list("east"));
  expect(warnings).toEqual([expect.stringContaining("lockstep install --apply")]);
  install();
  await clock.advance(2 * MINUTE_MS);
  expect(await listed()).toEqual(["east"]);
});
