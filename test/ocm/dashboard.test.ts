/** The dashboard on a real hub of Open Cluster Management: what it shows and does there is the same. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bundlePage } from "../../scripts/bundle-page.mjs";
import { writeKubeconfig } from "../../src/apiserver/front/index.ts";
import { type ServedDashboard, serveDashboard } from "../../src/cli/dashboard/serve.ts";
import { statefulSet } from "../../src/engine/testing/contract/index.ts";
import { silentLog, systemClock, systemRandom } from "../../src/runtime/index.ts";
import type { ApplicationView, OverviewView, PodReportsView } from "../../src/web/types.ts";
import type { World } from "../stories/world.ts";
import { startWorld } from "./world.ts";

const OURS = { "x-lockstep-dashboard": "1", "content-type": "application/json" };
const AT = { namespace: "default", name: "shown" };
const MEMBERS = ["member1", "member2", "member3"];

let world: World;
let dashboard: ServedDashboard;
let cookie = "";
let key = "";
const folder = mkdtempSync(join(tmpdir(), "lockstep-ocm-dashboard-"));

beforeAll(async () => {
  await bundlePage();
  world = await startWorld();
  const { server, tls } = world.stack.hub;
  const kubeconfig = join(folder, "kubeconfig");
  const credentials = { certificate: tls.cert, privateKey: tls.key };
  await writeKubeconfig(kubeconfig, [{ name: "hub", server, certificateAuthority: tls.ca, credentials }], "hub");
  dashboard = await serveDashboard({
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    program: "lockstep",
    kubeconfig,
    context: "hub",
    readOnly: false,
    address: "127.0.0.1:0",
  });
  const secret = new URL(dashboard.ownLink()).hash.slice("#link=".length);
  const answer = await post("/api/session", { link: secret });
  cookie = (answer.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
  key = JSON.parse(await answer.text()).key;
});

afterAll(async () => {
  await dashboard?.close();
  await world?.stop();
  rmSync(folder, { recursive: true, force: true });
});

function post(path: string, body: object): Promise<Response> {
  return fetch(new URL(path, dashboard.url), {
    method: "POST",
    headers: { ...OURS, cookie, "x-lockstep-key": key },
    body: JSON.stringify(body),
  });
}

const get = (path: string) => fetch(new URL(path, dashboard.url), { headers: { cookie, "x-lockstep-key": key } });

/** The first whole snapshot on the stream for which this holds. */
async function shown<T>(path: string, event: string, holds: (data: T) => boolean): Promise<T> {
  const stop = new AbortController();
  const answer = await fetch(new URL(path, dashboard.url), {
    headers: { cookie, "x-lockstep-key": key },
    signal: AbortSignal.any([stop.signal, AbortSignal.timeout(60_000)]),
  });
  expect(answer.status).toBe(200);
  const decoder = new TextDecoder();
  let text = "";
  let last = "";
  try {
    for await (const part of answer.body ?? []) {
      text += decoder.decode(part, { stream: true });
      const events = text.split("\n\n");
      text = events.pop() ?? "";
      for (const one of events) {
        const [, kind, json] = /event: (\S+)\ndata: (.*)$/s.exec(one) ?? [];
        if (kind !== event || json === undefined) continue;
        last = json;
        const data: T = JSON.parse(json);
        if (holds(data)) return data;
      }
    }
  } finally {
    stop.abort();
  }
  throw new Error(`the stream of ${path} ended; the last ${event} was ${last}`);
}

const overview = (holds: (data: OverviewView) => boolean) => shown("/api/live/overview", "overview", holds);
const application = (holds: (data: ApplicationView) => boolean) =>
  shown(`/api/live/application?${new URLSearchParams({ type: "ccs", ...AT })}`, "application", holds);

describe("the dashboard on a hub of OCM", () => {
  it("shows the clusters, and an application with its template inline, cluster by cluster", async () => {
    await world.stage.declare(world, AT.name, statefulSet(AT.name, 5, "shown:1"));
    await world.until("five instances are ready", () => world.settled(AT.name, 5));
    const { clusters, applications, problems } = await overview((data) => data.clusters.length === 3);
    expect(problems).toEqual([]);
    expect(clusters.map(({ name, health }) => `${name} ${health}`).toSorted()).toEqual(
      MEMBERS.map((name) => `${name} Ready`),
    );
    expect(applications).toMatchObject([{ ...AT, type: "ccs", ready: 5, desired: 5, phase: "Settled" }]);
    const app = await application(({ phase }) => phase === "Settled");
    expect(app.kind).toBe("StatefulSet");
    expect(app.clusters.map(({ name, instances }) => [name, instances.map((one) => one.name)])).toEqual([
      ["member1", ["shown-0", "shown-1"]],
      ["member2", ["shown-100", "shown-101"]],
      ["member3", ["shown-200"]],
    ]);
    expect(app.plan.problem).toBeUndefined();
  });

  it("explains a rollout that is stuck, with what the pods say, read through the member's own access", async () => {
    await world.stage.declare(world, AT.name, statefulSet(AT.name, 5, "shown:broken"));
    const app = await application(
      ({ why, quorum }) => why.reason === "WaitingForReady" && why.cluster === "member3" && quorum.ready === 4,
    );
    expect(app.quorum).toMatchObject({ ready: 4, needed: 3, spare: 1 });
    expect(app.plan.diffs.flatMap(({ clusters }) => clusters)).toContain("member1");
    const path = `/api/pod-reports?${new URLSearchParams(AT)}`;
    await expect
      .poll(async () => ((await (await get(path)).json()) as PodReportsView).pods, { timeout: 30_000, interval: 500 })
      .toMatchObject([{ cluster: "member3", name: "shown-200" }]);
  });

  it("aborts it, and drains a cluster and ends its maintenance", async () => {
    const { seen } = await application(({ actions }) => actions.some(({ action }) => action === "abort"));
    expect((await post("/api/act", { action: "abort", type: "ccs", ...AT, seen })).status).toBe(200);
    await world.until("it is back", () => world.settled(AT.name, 5));
    const { clusters: before } = await overview(({ clusters }) => clusters.length === 3);
    const uid = before.find(({ name }) => name === "member2")?.uid ?? "";
    const drained = await post("/api/act", { action: "drain", cluster: "member2", uid });
    expect(await drained.text()).toContain("member2 is drained for maintenance");
    await overview(({ clusters }) => clusters.some(({ name, draining }) => name === "member2" && draining));
    expect((await post("/api/act", { action: "undrain", cluster: "member2", uid })).status).toBe(200);
    await overview(({ clusters }) => clusters.length === 3 && clusters.every(({ draining }) => !draining));
  });
});
