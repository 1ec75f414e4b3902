/**
 * The controller as it is, on a real OCM: the template is an object of the hub, which here runs no workloads itself.
 */
import { readdirSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { runManager } from "../../src/controllers/index.ts";
import { OCM_HUB, STATEFULSETS, statefulSet } from "../../src/engine/testing/contract/index.ts";
import { Observer } from "../../src/engine/testing/observer.ts";
import { seededRandom, systemClock, systemRandom } from "../../src/runtime/index.ts";
import { objectsOf } from "../stack/api.ts";
import { CCS, crossCluster, MANAGER, PodRecorder } from "../stack/application.ts";
import { type OcmFleet, startOcmFleetWithAccess } from "./fleet.ts";

const CRDS = new URL("../../deploy/crds/", import.meta.url).pathname;
const SYSTEM_NAMESPACE = "lockstep-system";

describe("a CrossClusterStatefulset on a real OCM", () => {
  const stop = new AbortController();
  const pods = new PodRecorder();
  let fleet: OcmFleet;
  let observer: Observer;
  let running: Promise<void>;

  beforeAll(async () => {
    fleet = await startOcmFleetWithAccess();
    const { stack, hub, log } = fleet;
    for (const file of readdirSync(CRDS)) for (const crd of objectsOf(`${CRDS}${file}`)) await stack.hub.apply(crd);
    await stack.hub.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: SYSTEM_NAMESPACE } });
    await fleet.until("the CRDs are served", () =>
      stack.hub.ok("/apis/apps.karmada.io/v1alpha1/crossclusterstatefulsets"),
    );
    observer = new Observer({ ...fleet, random: seededRandom(1), workload: STATEFULSETS, works: OCM_HUB.works });
    await observer.start();
    for (const [cluster, api] of stack.members) pods.follow(cluster, api, "web");
    running = runManager(
      {
        hub,
        clock: systemClock,
        random: systemRandom,
        log,
        engine: fleet.engine,
        webhookTransports: () => {
          throw new Error("no webhook is configured in this suite");
        },
        systemNamespace: SYSTEM_NAMESPACE,
        identity: "test",
      },
      stop.signal,
    );
  });
  afterAll(async () => {
    stop.abort(new Error("the suite is over"));
    await running;
    await pods.stop();
    await observer?.stop();
    await fleet?.stop();
  });

  const settled = (image: string) => async () => {
    const object = await fleet.hub.find(CCS, { namespace: "default", name: "web" });
    const status = JSON.stringify(object?.status ?? {});
    const found = await Promise.all(
      [...fleet.members.values()].map((member) => member.find(STATEFULSETS, { namespace: "default", name: "web" })),
    );
    const isThere = found.filter((each) => JSON.stringify(each?.spec ?? {}).includes(image)).length === 3;
    return (status.includes('"phase":"Settled"') && isThere) || status;
  };

  it("is deployed over three clusters, in one order", async () => {
    const clusters = ["member1", "member2", "member3"].map((name, at) => ({ name, replicas: at === 2 ? 1 : 2 }));
    await fleet.hub.apply(CCS, crossCluster("web", { topology: { clusters } }), MANAGER);
    await fleet.hub.apply(STATEFULSETS, statefulSet("web", 5, "web:1"), MANAGER);
    await fleet.until("it is settled", settled("web:1"));
  });

  it("is updated with never more than one instance down over all clusters", async () => {
    pods.expect(5);
    await fleet.hub.apply(STATEFULSETS, statefulSet("web", 5, "web:2"), MANAGER);
    await fleet.until("it is settled again", settled("web:2"));
    expect(pods.worst).toBe(1);
    expect(observer.violations()).toEqual([]);
  });
});
