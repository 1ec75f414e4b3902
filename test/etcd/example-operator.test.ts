/** The operator of examples/etcd runs by its documented command, on the SDK alone. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { type Front, SUPERUSERS, startFront, writeKubeconfig } from "../../src/apiserver/front/index.ts";
import { ANNOTATIONS } from "../../src/contract/index.ts";
import { EmbeddedFleet } from "../../src/embedded/index.ts";
import { isKubeObject, resource } from "../../src/kube/index.ts";
import { isJsonObject, seededRandom, systemClock } from "../../src/runtime/index.ts";

const ROOT = new URL("../../", import.meta.url).pathname;
const FOLDER = join(ROOT, "examples/etcd/operator");
const WRITE = { fieldManager: "test", force: true };

const folder = mkdtempSync(join(tmpdir(), "lockstep-example-operator-"));
const fleet = new EmbeddedFleet({ clock: systemClock, random: seededRandom(1), members: ["member1"] });
let front: Front | undefined;
let operator: ChildProcess | undefined;
afterEach(async () => {
  if (operator && operator.exitCode === null) {
    const ended = once(operator, "exit");
    operator.kill();
    await ended;
  }
  await front?.close();
  await fleet.stop();
  rmSync(folder, { recursive: true, force: true });
});

it("starts in a cluster of a kubeconfig, and reports on an object", async () => {
  await fleet.start();
  const [definition] = parseAllDocuments(readFileSync(join(FOLDER, "definition.yaml"), "utf8")).map((each) =>
    each.toJS(),
  );
  if (!isKubeObject(definition)) throw new Error("the first object of definition.yaml is the kind");
  const client = fleet.client("member1");
  await client.apply(
    resource(await client.discovery.resource(definition.apiVersion, definition.kind)),
    definition,
    WRITE,
  );
  const identity = { name: "operator", groups: [SUPERUSERS] };
  front = await startFront({
    server: fleet.member("member1").server,
    clock: systemClock,
    tokens: [{ token: "its-token", identity }],
  });
  const kubeconfig = join(folder, "kubeconfig");
  await writeKubeconfig(kubeconfig, [{ name: "member1", server: front.url, credentials: { token: "its-token" } }]);

  operator = spawn("node", ["--import", "tsx", "examples/etcd/operator/main.ts", "member1"], {
    cwd: ROOT,
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "inherit", "pipe"],
  });
  const lines = createInterface({ input: operator.stderr ?? process.stdin });
  const isRunning = new Promise<void>((resolve) => {
    lines.on("line", (line) => line.includes("the operator runs") && resolve());
  });
  await isRunning;

  const found = resource(await client.discovery.resource("example.io/v1alpha1", "EtcdCluster"));
  await client.apply(
    found,
    {
      apiVersion: "example.io/v1alpha1",
      kind: "EtcdCluster",
      metadata: { name: "etcd", namespace: "default", annotations: { [ANNOTATIONS.epoch]: "none" } },
      spec: { replicas: 1, image: "etcd:3.6" },
    },
    WRITE,
  );
  const said = () => {
    const status = fleet.member("member1").api.get("example.io/etcdclusters", "default", "etcd")?.status;
    return isJsonObject(status) ? status.message : undefined;
  };
  await expect.poll(said, { timeout: 60_000 }).toContain(ANNOTATIONS.epoch);
});

it("imports nothing of Lockstep but the package", () => {
  const files = readdirSync(FOLDER).filter((file) => file.endsWith(".ts") && !file.endsWith(".test.ts"));
  const foreign = files.flatMap((file) =>
    [...readFileSync(join(FOLDER, file), "utf8").matchAll(/from "([^"]+)"/g)]
      .map(([, from = ""]) => `${file}: ${from}`)
      .filter((each) => !/: (lockstep\/sdk|\.\/[a-z-]+\.ts)$/.test(each)),
  );
  expect(foreign).toEqual([]);
});
