import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { type KubeObject, SchemaCache } from "../../apiserver/index.ts";
import { silentLog, systemClock, systemRandom } from "../../runtime/index.ts";
import { MemberCluster } from "../member/member.ts";
import { conditionOf, objectAt, objectsAt } from "../values.ts";
import { ProcessRuntime } from "./index.ts";

let folder: string;
let member: MemberCluster;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "lockstep-process-"));
  const runtime = new ProcessRuntime({
    folder,
    clock: systemClock,
    log: silentLog,
    env: {},
    configMap: (namespace, name) =>
      objectAt(member.api.get("/configmaps", namespace, name), "data") as Record<string, string>,
  });
  member = new MemberCluster({
    name: "member1",
    clock: systemClock,
    random: systemRandom,
    log: silentLog,
    schemas: new SchemaCache(),
    podStartMs: 0,
    podStopMs: 0,
    reactionMs: 0,
    trackUpdates: false,
    runtime,
  });
  await member.start();
});
afterEach(async () => {
  await member.stop();
  rmSync(folder, { recursive: true, force: true });
});

/** A set of one pod that runs this JavaScript. */
function web(script: string): KubeObject {
  const container = {
    name: "app",
    image: "none",
    command: [process.execPath, "-e", script],
    env: [{ name: "WHO", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
  };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default" },
    spec: {
      replicas: 1,
      serviceName: "web",
      selector: { matchLabels: { app: "web" } },
      template: {
        metadata: { labels: { app: "web" } },
        spec: { containers: [container], volumes: [{ name: "conf", configMap: { name: "settings" } }] },
      },
      volumeClaimTemplates: [{ metadata: { name: "data" }, spec: { accessModes: ["ReadWriteOnce"] } }],
    },
  };
}

/** Resolves with the pod as soon as it matches. */
function podThat(is: (pod: KubeObject) => boolean): Promise<KubeObject> {
  return new Promise((resolve) => {
    member.api.on("/pods", ({ type, object }) => {
      if (type !== "DELETED" && is(object)) resolve(object);
    });
  });
}
const isReady = (pod: KubeObject) => conditionOf(pod, "Ready")?.status === "True";
const started = () => readFileSync(join(folder, "claims/default/data-web-0/started"), "utf8").trim().split("\n");

const APPEND =
  "require('fs').appendFileSync(process.env.VOLUME_DATA + '/started', process.pid + ' ' + process.env.WHO + ' ' + require('fs').readFileSync(process.env.VOLUME_CONF + '/colour') + '\\n');";

it("the process runtime runs a pod as a process with its volumes, ends it with the pod, and keeps the claim for the next one", async () => {
  await member.api.create({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace: "default" },
    data: { colour: "blue" },
  });
  // Its own file shows whether it has written; ready only means that it runs.
  const script = `${APPEND} setInterval(() => {}, 1000)`;
  const first = podThat(isReady);
  await member.api.create(web(script));
  const pod = await first;
  const second = podThat((next) => isReady(next) && next.metadata.uid !== pod.metadata.uid);
  await expect.poll(() => started().length).toBe(1);
  await member.api.delete(pod);
  await second;
  await expect.poll(() => started().length).toBe(2);
  const [before = "", after = ""] = started();
  expect(before).toMatch(/^\d+ web-0 blue$/);
  expect(() => process.kill(Number(before.split(" ")[0]), 0)).toThrow("ESRCH");
  await member.stop();
  expect(() => process.kill(Number(after.split(" ")[0]), 0)).toThrow("ESRCH");
});

it("the process runtime restarts a process that ended, and counts the restarts", async () => {
  const restarted = podThat((pod) => objectsAt(pod, "status", "containerStatuses")[0]?.restartCount === 1);
  await member.api.create(web("process.exit(3)"));
  expect(JSON.stringify((await restarted).status)).toContain('"restartCount":1');
});

it("the process runtime reports why a pod cannot run", async () => {
  const told = podThat((pod) => JSON.stringify(pod.status).includes("has no command"));
  const set = web("");
  const [container] = objectsAt(set, "spec", "template", "spec", "containers");
  const { command: _none, ...without } = container ?? {};
  const spec = objectAt(set, "spec");
  const template = { metadata: { labels: { app: "web" } }, spec: { containers: [without] } };
  await member.api.create({ ...set, spec: { ...spec, template } });
  expect(isReady(await told)).toBe(false);
});

it("the process runtime writes only below its own folder", async () => {
  const told = podThat((pod) => JSON.stringify(pod.status).includes("cannot be a file's name"));
  const set = web("");
  const spec = objectAt(set, "spec");
  const [container] = objectsAt(set, "spec", "template", "spec", "containers");
  const template = {
    metadata: { labels: { app: "web" } },
    spec: { containers: [container ?? {}], volumes: [{ name: "../../escape" }] },
  };
  await member.api.create({ ...set, spec: { ...spec, template } });
  expect(isReady(await told)).toBe(false);
});
