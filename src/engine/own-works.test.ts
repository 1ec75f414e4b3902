import { afterEach, beforeEach, expect, it } from "vitest";
import { KubeClient, type KubeObject, Reflector } from "../kube/index.ts";
import { FakeApi } from "../kube/testing/fake-api.ts";
import { seededRandom } from "../runtime/index.ts";
import { VirtualClock } from "../runtime/testing/virtual-clock.ts";
import { appMark } from "./dispatch-objects.ts";
import { executionNamespace, WORKS } from "./karmada/resources.ts";
import { reservationFor } from "./karmada/works.ts";
import { MARKS } from "./marks.ts";
import { OwnWorks } from "./own-works.ts";
import type { EngineOwner } from "./port.ts";

const APP: EngineOwner = {
  namespace: "default",
  name: "db",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "db" },
};
let stop: AbortController;
let clock: VirtualClock;
let api: FakeApi;
let hub: KubeClient;
let own: OwnWorks;
let told: number;

beforeEach(async () => {
  stop = new AbortController();
  clock = new VirtualClock();
  api = new FakeApi({ clock });
  hub = new KubeClient({ transport: api, clock, random: seededRandom(1) });
  const indexes = { app: (work: KubeObject) => [work.metadata.labels?.[MARKS.app] ?? ""] };
  const random = seededRandom(2);
  const reflector = new Reflector<KubeObject>({ client: hub, resource: WORKS, clock, random, indexes });
  void reflector.run(stop.signal);
  await clock.run(reflector.cache.synced());
  told = 0;
  own = new OwnWorks({
    hub,
    works: WORKS,
    namespaceOf: executionNamespace,
    reservationFor,
    cache: reflector.cache,
    changed: () => told++,
  });
  const tell = (work: KubeObject) => own.tell(work);
  reflector.cache.subscribe({ added: tell, updated: tell, deleted: tell });
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
});

/** A Work on the hub, as the cache sees it. */
async function work(finalizers: string[]): Promise<KubeObject> {
  const metadata = { namespace: "karmada-es-a", name: "db", labels: { [MARKS.app]: appMark(APP) }, finalizers };
  const stored = api.put(WORKS, { apiVersion: WORKS.apiVersion, kind: WORKS.kind, metadata });
  await clock.advance(1_000);
  told = 0;
  return stored;
}

it("a writer continues from the answer to its write or delete, and is not notified of it", async () => {
  const found = await work(["karmada.io/execution-controller"]);
  const patch = { type: "merge", body: { metadata: { annotations: { free: "yes" } } } } as const;
  const written = await clock.run(own.write(APP, found, () => hub.patch(WORKS, found.metadata, patch)));
  expect(await clock.run(own.delete(APP, written))).toBe(false);
  await clock.advance(1_000);
  expect(told).toBe(0);
  expect(own.of(APP)[0]?.metadata.deletionTimestamp).toBeDefined();
});

it("the end of a Work is news, regardless of which process deleted it", async () => {
  expect(await clock.run(own.delete(APP, await work([])))).toBe(true);
  expect(told).toBe(1);
  const kept = await work(["karmada.io/execution-controller"]);
  await clock.run(own.delete(APP, kept));
  api.remove(WORKS, { namespace: "karmada-es-a", name: "db" });
  await clock.advance(1_000);
  expect(told).toBe(1);
});

it("another writer's change to a Work during a write is reported when the write has ended", async () => {
  const found = await work([]);
  const patch = { type: "merge", body: { metadata: { annotations: { free: "yes" } } } } as const;
  await clock.run(
    own.write(APP, found, async () => {
      const theirs = { ...found, metadata: { ...found.metadata, annotations: { theirs: "yes" } } };
      api.put(WORKS, theirs);
      await clock.sleep(1_000);
      return hub.patch(WORKS, found.metadata, patch);
    }),
  );
  expect(told).toBe(1);
});

it("what others have in a namespace counts, also what only has its place yet, and one's own does not", async () => {
  const found = await work([]);
  const manifest = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "a", namespace: "shared" } };
  api.put(WORKS, { ...found, spec: { workload: { manifests: [manifest] } } });
  await clock.advance(1_000);
  const ask = (mark: string, cluster = "a", namespace = "shared") => own.hasOthersIn(mark, cluster, namespace);
  expect([ask("another"), ask(appMark(APP))]).toEqual([true, false]);
  expect([ask("another", "b"), ask("another", "a", "default")]).toEqual([false, false]);
  const annotations = { [MARKS.reserved]: "v1 Secret default keys" };
  api.put(WORKS, { ...found, metadata: { ...found.metadata, annotations } });
  await clock.advance(1_000);
  expect([ask("another"), ask("another", "a", "default")]).toEqual([false, true]);
});
