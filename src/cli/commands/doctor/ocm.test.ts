import { beforeEach, expect, it } from "vitest";
import { CLUSTERS_IN_USE } from "../../../api/index.ts";
import { ENGINES, MEMBER_ACCESS_LABEL } from "../../../engine/index.ts";
import { isKubeObject, KubeClient, type KubeObject, resource } from "../../../kube/index.ts";
import { FakeApi } from "../../../kube/testing/fake-api.ts";
import { type JsonObject, seededRandom } from "../../../runtime/index.ts";
import { VirtualClock } from "../../../runtime/testing/virtual-clock.ts";
import type { Hub } from "../../hub/hub.ts";
import { executorWork, memberRightsWork } from "../install/ocm.ts";
import { checkClustersInUse, checkFeedback, checkManagedCluster } from "./ocm.ts";

const XLINE = { group: "apps.my.io", version: "v1", kind: "XlineCluster", plural: "xlineclusters" };
const DEFINITIONS = resource({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  namespaced: false,
});
const CONFIG_MAPS = resource({ apiVersion: "v1", kind: "ConfigMap", plural: "configmaps", namespaced: true });
const { dispatches: WORKS } = ENGINES.ocm;

let api: FakeApi;
let hub: Hub;

beforeEach(() => {
  const clock = new VirtualClock();
  const random = seededRandom(1);
  api = new FakeApi({ clock });
  const client = new KubeClient({ transport: api, clock, random });
  const request = { maxAttempts: 1 };
  hub = { client, transport: api, clock, random, server: "", context: "", namespace: "default", request };
});

function putDefinition(rule: JsonObject): void {
  const { apiVersion, kind } = DEFINITIONS;
  const metadata = { name: "manifestworks.work.open-cluster-management.io" };
  api.put(DEFINITIONS, { apiVersion, kind, metadata, spec: { properties: rule } });
}

it("agents of a hub before 1.2 poll: a warning that says how long, and what to do", async () => {
  expect(await checkFeedback(hub)).toEqual([]);
  putDefinition({ feedbackRules: {} });
  expect(await checkFeedback(hub)).toMatchObject([
    { state: "warning", message: expect.stringContaining("10 to 60 s longer"), remedy: expect.stringContaining("1.2") },
  ]);
  putDefinition({ feedbackRules: {}, feedbackScrapeType: {} });
  expect(await checkFeedback(hub)).toMatchObject([{ state: "ok" }]);
});

it("without the list of clusters in use a cluster can be detached before it is drained: a problem", async () => {
  const put = (data: Record<string, string>) =>
    api.put(CONFIG_MAPS, {
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: { namespace: "lockstep-system", name: CLUSTERS_IN_USE },
      data,
    });
  const found = () => checkClustersInUse(hub, "lockstep-system");
  expect(await found()).toMatchObject([
    { state: "problem", remedy: expect.stringContaining("lockstep install --apply") },
  ]);
  put({});
  expect(await found()).toMatchObject([{ state: "ok", message: "none" }]);
  put({ west: "1", east: "1" });
  expect(await found()).toMatchObject([{ state: "ok", message: expect.stringContaining("east, west: ") }]);
});

function cluster(available: string, metadata: Partial<KubeObject["metadata"]> = {}, joined = "True"): KubeObject {
  const condition = (type: string, status: string) => ({ type, status });
  return {
    apiVersion: ENGINES.ocm.clusters.apiVersion,
    kind: ENGINES.ocm.clusters.kind,
    metadata: { name: "east", ...metadata },
    spec: { hubAcceptsClient: true },
    status: {
      conditions: [condition("ManagedClusterJoined", joined), condition("ManagedClusterConditionAvailable", available)],
    },
  };
}

const check = (of: KubeObject, workloads = [XLINE]) =>
  checkManagedCluster(hub, ENGINES.ocm, of, { workloads, distributed: [] }, 1_000);

it("a cluster that cannot be used is one problem, and nothing else is asked of it", async () => {
  const deletionTimestamp = "2025-01-01T00:00:00Z";
  expect(await check(cluster("True", { deletionTimestamp }))).toMatchObject([
    { state: "problem", remedy: expect.stringContaining("lockstep confirm-lost east") },
  ]);
  expect(await check(cluster("Unknown"))).toMatchObject([
    { state: "problem", message: "is not available: its agent does not report" },
  ]);
  expect(await check(cluster("True", {}, "False"))).toMatchObject([
    { state: "problem", message: "is not available: it has not joined, or was not accepted" },
  ]);
  expect(api.requests).toEqual([]);
});

it("a cluster without a Secret is known by reports alone: what they do not prove, and what the Secret looks like", async () => {
  expect(await check(cluster("True"), [])).toMatchObject([
    {
      check: "member east",
      state: "warning",
      message: expect.stringContaining("They do not prove: pods that Lockstep did not name"),
      remedy: expect.stringContaining(`${MEMBER_ACCESS_LABEL}=true in namespace east`),
    },
  ]);
});

/** As the agent reports it; undefined: it has not reported. */
function putWork(object: JsonObject, applied?: "True" | "False"): void {
  if (!isKubeObject(object)) throw new Error("not an object");
  const conditions = [{ type: "Applied", status: applied ?? "", message: "namespaces is forbidden" }];
  api.put(WORKS, { ...object, ...(applied && { status: { conditions } }) });
}

const named = async (name: string, workloads = [XLINE]) =>
  (await check(cluster("True"), workloads)).find((finding) => finding.check.includes(name));

it("an agent applies a custom kind only with the role that install carries to it", async () => {
  const right = () => named("rights");
  const missing = {
    state: "problem",
    message: expect.stringContaining("may not apply and watch xlineclusters.apps.my.io"),
  };
  expect(await right()).toMatchObject(missing);
  putWork(memberRightsWork("east", []), "True");
  expect(await right()).toMatchObject({
    ...missing,
    remedy: expect.stringContaining("--distribute xlineclusters.apps.my.io"),
  });
  // A kind that the agent may write but not watch would be polled, and no report would tell.
  const unwatched = JSON.stringify(memberRightsWork("east", [XLINE])).replaceAll(/,?"(list|watch)"/g, "");
  putWork(JSON.parse(unwatched), "True");
  expect(await right()).toMatchObject(missing);
  putWork(memberRightsWork("east", [XLINE]));
  expect(await right()).toMatchObject({ state: "problem", message: "are not applied yet: no report" });
  putWork(memberRightsWork("east", [XLINE]), "False");
  expect(await right()).toMatchObject({
    state: "problem",
    message: expect.stringContaining("namespaces is forbidden"),
  });
  putWork(memberRightsWork("east", [XLINE]), "True");
  expect(await right()).toMatchObject({ state: "ok" });
});

it("an executor that is installed is there only when the agent has applied it", async () => {
  const account = { namespace: "lockstep-system", name: "lockstep" };
  expect(await named("executor")).toBeUndefined();
  putWork(executorWork("east", account, []), "False");
  expect(await named("executor")).toMatchObject({
    state: "problem",
    message: "lockstep-system/lockstep is not there yet: namespaces is forbidden",
    remedy: expect.stringContaining("--executor lockstep-system/lockstep"),
  });
  putWork(executorWork("east", account, []), "True");
  expect(await named("executor")).toMatchObject({ state: "ok", message: "the agent acts as lockstep-system/lockstep" });
});

it("what a user may not read cannot be checked, and that is a warning", async () => {
  api.fault = ({ path }) => (path.includes("manifestworks") ? { kind: "answer", status: 403 } : undefined);
  const found = await check(cluster("True"));
  expect(found.filter(({ message }) => message.startsWith("cannot be checked"))).toHaveLength(2);
  expect(found.every(({ state }) => state === "warning")).toBe(true);
});
