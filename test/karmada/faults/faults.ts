/** What can happen to a real Karmada in the middle of an update, and how it is mended. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CONTROLLER_ACCOUNT } from "../../../src/api/index.ts";
import { HOSTS } from "../../stack/ground.ts";
import { SYSTEM_NAMESPACE } from "../../stories/world.ts";
import type { KarmadaWorld } from "../world.ts";

export interface Fault {
  readonly name: string;
  /** From the first instance that runs the new image until the fault is mended. */
  happen(world: KarmadaWorld): Promise<void>;
}

/** Longer than any request of the controller waits for an answer before it asks again. */
const STOPPED_MS = 8_000;

/** A process is stopped with its connections open, and continues later. */
function stopped(name: string, forMs = STOPPED_MS): Fault {
  return {
    name: `${name} does not answer for ${forMs / 1000} s`,
    async happen({ stack }) {
      stack.processes.pause(name);
      await sleep(forMs);
      stack.processes.resume(name);
    },
  };
}

/** A process is killed and started again at once. */
function killed(name: string): Fault {
  return {
    name: `${name} is killed and starts again`,
    async happen(world) {
      await world.stack.processes.end(name);
      world.stack.processes.restart(name);
      await world.until("the hub answers", () => world.stack.hub.ok("/readyz"));
    },
  };
}

const hasNoSpace: Fault = {
  name: "the disk of the hub's etcd is full",
  async happen(world) {
    const { hubEtcd } = world.stack;
    const asked = async (path: string, body: object) => {
      const answer = await fetch(`${hubEtcd}/v3/${path}`, { method: "POST", body: JSON.stringify(body) });
      return { ok: answer.ok, text: await answer.text() };
    };
    const key = (at: number) => Buffer.from(`/filler/${at}`).toString("base64");
    const value = Buffer.alloc(1_000_000, "x").toString("base64");
    let written = 0;
    for (; written < 1_000; written += 1) {
      const { ok, text } = await asked("kv/put", { key: key(written), value });
      if (ok) continue;
      if (!text.includes("database space exceeded")) throw new Error(text);
      break;
    }
    const probe = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "probe", namespace: "default" } };
    const { status, text } = await world.stack.hub.request("POST", "/api/v1/namespaces/default/configmaps", probe);
    if (status < 500) throw new Error(`the hub accepts writes: ${status} ${text}`);
    await sleep(STOPPED_MS);
    // What etcd's manual says: delete, compact, defragment, disarm.
    const range = { key: key(0), range_end: Buffer.from("/filler0").toString("base64") };
    const deleted = JSON.parse((await asked("kv/deleterange", range)).text) as { header: { revision: string } };
    await asked("kv/compaction", { revision: deleted.header.revision, physical: true });
    await asked("maintenance/defragment", {});
    const disarmed = await asked("maintenance/alarm", { action: "DEACTIVATE", alarm: "NOSPACE" });
    if (!disarmed.ok) throw new Error(disarmed.text);
    await world.until("the hub accepts writes", async () => {
      const answer = await world.stack.hub.request("POST", "/api/v1/namespaces/default/configmaps", probe);
      return answer.status === 201 || answer.text;
    });
  },
};

/** The hub's own priority and fairness refuses every request of the controller, again and again. */
const isThrottled: Fault = {
  name: "the hub answers all that the controller asks with 429, three times for 4 s",
  async happen(world) {
    const root = "/apis/flowcontrol.apiserver.k8s.io/v1";
    const metadata = { name: "lockstep-storm" };
    const level = {
      metadata,
      spec: {
        type: "Limited",
        limited: { nominalConcurrencyShares: 0, borrowingLimitPercent: 0, limitResponse: { type: "Reject" } },
      },
    };
    const account = { namespace: SYSTEM_NAMESPACE, name: CONTROLLER_ACCOUNT };
    const everything = {
      subjects: [{ kind: "ServiceAccount", serviceAccount: account }],
      resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
      nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
    };
    const schema = {
      metadata,
      spec: { priorityLevelConfiguration: metadata, matchingPrecedence: 2, rules: [everything] },
    };
    const send = async (path: string, body: object) => {
      const { status, text } = await world.stack.hub.request("POST", `${root}/${path}`, body);
      if (status !== 201 && status !== 409) throw new Error(`${path}: ${status} ${text}`);
    };
    await send("prioritylevelconfigurations", level);
    for (let time = 0; time < 3; time += 1) {
      await send("flowschemas", schema);
      await sleep(4_000);
      await world.stack.hub.request("DELETE", `${root}/flowschemas/${metadata.name}`);
      await sleep(1_000);
    }
    await world.until("requests were refused", async () => {
      const { text } = await world.stack.hub.request("GET", "/metrics");
      return /apiserver_flowcontrol_rejected_requests_total\{[^}]*lockstep-storm[^}]*\} [1-9]/.test(text);
    });
  },
};

const hasExpired: Fault = {
  name: "the hub's certificate has expired, until it is renewed",
  async happen(world) {
    const { stack } = world;
    const write = async (until?: Date) => {
      const { certificate, privateKey } = await stack.authority.issueServer(HOSTS, until);
      writeFileSync(join(stack.folder, "pki", "hub-server", "hub-server.crt"), certificate);
      writeFileSync(join(stack.folder, "pki", "hub-server", "hub-server.key"), privateKey);
      await stack.processes.end("hub-apiserver");
      stack.processes.restart("hub-apiserver");
    };
    await write(new Date(Date.now() - 60_000));
    await world.until("clients see that it has expired", async () => {
      const failure = await stack.hub.ok("/readyz").catch((error) => String(error.cause ?? error));
      return String(failure).toLowerCase().includes("expired") || String(failure);
    });
    await sleep(STOPPED_MS);
    await write();
    await world.until("the hub answers", () => stack.hub.ok("/readyz"));
  },
};

/** A few, of different kinds, for the form for CI. */
export const FEW: readonly Fault[] = [stopped("hub-apiserver", 5_000)];

export const MORE: readonly Fault[] = [
  // Only on a machine that is busy enough: otherwise the update is over before the first request is refused.
  isThrottled,
  stopped("karmada-aggregated-apiserver"),
  stopped("karmada-controller-manager"),
  stopped("karmada-scheduler"),
  stopped("karmada-webhook"),
  stopped("member2-apiserver"),
  stopped("hub-etcd"),
  killed("hub-apiserver"),
  killed("karmada-aggregated-apiserver"),
  killed("karmada-controller-manager"),
  killed("karmada-scheduler"),
  hasNoSpace,
  hasExpired,
];
