/** What can happen to a real Karmada in the middle of an update, and how it is mended. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { agentOf, HOSTS } from "../../stack/ground.ts";
import type { KarmadaWorld } from "../world.ts";
import { Storm } from "./storm.ts";

export interface Fault {
  readonly name: string;
  /** Makes it happen; resolves when it is seen to be in force. One instance is down at that moment, in mid-update. */
  begin(world: KarmadaWorld): Promise<void>;
  /** How long it stays, while the instance that was down comes back. */
  readonly lastsMs: number;
  end(world: KarmadaWorld): Promise<void>;
}

/** Longer than any request of the controller waits for an answer before it asks again. */
const LASTS_MS = 8_000;

/** The controller cannot renew its lease meanwhile, and must win it again. */
const LONGER_THAN_THE_LEASE_MS = 25_000;

/** A process is stopped with its connections open, and continues later. */
function stopped(name: string, lastsMs = LASTS_MS): Fault {
  return {
    name: `${name} does not answer for ${lastsMs / 1000} s`,
    lastsMs,
    begin: async ({ stack }) => stack.processes.pause(name),
    end: async ({ stack }) => stack.processes.resume(name),
  };
}

/** A process is killed, and started again later. */
function killed(name: string): Fault {
  return {
    name: `${name} is killed, and starts again after some seconds`,
    lastsMs: 4_000,
    begin: ({ stack }) => stack.processes.end(name),
    async end(world) {
      world.stack.processes.restart(name);
      const [, member] = /^(member\d)-apiserver$/.exec(name) ?? [];
      const api = member === undefined ? world.stack.hub : world.stack.members.get(member);
      await world.until("its API server answers", () => api?.ok("/readyz") ?? false);
    },
  };
}

const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
const PROBE = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "probe", namespace: "default" } };

/** A request to the hub's etcd, past the API server. */
async function etcd(world: KarmadaWorld, path: string, body: object): Promise<{ ok: boolean; text: string }> {
  const answer = await fetch(`${world.stack.hubEtcd}/v3/${path}`, { method: "POST", body: JSON.stringify(body) });
  return { ok: answer.ok, text: await answer.text() };
}

const FILLER_BYTES = 1_000_000;
const fillerKey = (at: number) => Buffer.from(`/filler/${at}`).toString("base64");

const hasNoSpace: Fault = {
  name: "the disk of the hub's etcd is full (NOSPACE)",
  lastsMs: LASTS_MS,
  async begin(world) {
    const value = Buffer.alloc(FILLER_BYTES, "x").toString("base64");
    for (let written = 0; ; written += 1) {
      const { ok, text } = await etcd(world, "kv/put", { key: fillerKey(written), value });
      if (ok && written < 1_000) continue;
      if (!text.includes("database space exceeded")) throw new Error(text);
      break;
    }
    const { status, text } = await world.stack.hub.request("POST", CONFIG_MAPS, PROBE);
    if (status < 500) throw new Error(`the hub accepts writes: ${status} ${text}`);
  },
  /** What etcd's manual says: delete, compact, defragment, disarm. */
  async end(world) {
    const range = { key: fillerKey(0), range_end: Buffer.from("/filler0").toString("base64") };
    const { text } = await etcd(world, "kv/deleterange", range);
    const deleted = JSON.parse(text) as { header: { revision: string } };
    await etcd(world, "kv/compaction", { revision: deleted.header.revision, physical: true });
    await etcd(world, "maintenance/defragment", {});
    // An alarm belongs to a member of etcd; one without a member's id disarms none.
    const alarm = "NOSPACE";
    const found = await etcd(world, "maintenance/alarm", { action: "GET", alarm });
    const { alarms = [] } = JSON.parse(found.text) as { alarms?: { memberID: string }[] };
    for (const { memberID } of alarms) {
      const disarmed = await etcd(world, "maintenance/alarm", { action: "DEACTIVATE", alarm, memberID });
      if (!disarmed.ok) throw new Error(disarmed.text);
    }
    await world.until("the hub accepts writes", async () => {
      const answer = await world.stack.hub.request("POST", CONFIG_MAPS, PROBE);
      return answer.status === 201 || answer.text;
    });
    await world.stack.hub.request("DELETE", `${CONFIG_MAPS}/${PROBE.metadata.name}`);
  },
};

const storm = new Storm();

function throttled(lastsMs: number): Fault {
  return {
    name: `the hub answers what the controller asks with 429 for ${lastsMs / 1000} s`,
    lastsMs,
    begin: (world) => storm.begin(world),
    end: (world) => storm.end(world),
  };
}

/** The hub's API server starts again with another certificate, which ends then. */
async function recertify({ stack }: KarmadaWorld, until?: Date): Promise<void> {
  const { certificate, privateKey } = await stack.authority.issueServer(HOSTS, until);
  writeFileSync(join(stack.folder, "pki", "hub-server", "hub-server.crt"), certificate);
  writeFileSync(join(stack.folder, "pki", "hub-server", "hub-server.key"), privateKey);
  await stack.processes.end("hub-apiserver");
  stack.processes.restart("hub-apiserver");
}

const hasExpired: Fault = {
  name: "the hub's certificate has expired, until it is renewed",
  lastsMs: LASTS_MS,
  async begin(world) {
    await recertify(world, new Date(Date.now() - 60_000));
    await world.until("clients see that it has expired", async () => {
      const failure = await world.stack.hub.ok("/readyz").catch((error) => String(error.cause ?? error));
      return String(failure).toLowerCase().includes("expired") || String(failure);
    });
  },
  async end(world) {
    await recertify(world);
    await world.until("the hub answers", () => world.stack.hub.ok("/readyz"));
  },
};

/** A few, of different kinds, for the form for CI. */
export const FEW: readonly Fault[] = [stopped("hub-apiserver", 5_000)];

export const MORE: readonly Fault[] = [
  throttled(3_000),
  throttled(LONGER_THAN_THE_LEASE_MS),
  stopped("hub-apiserver", LONGER_THAN_THE_LEASE_MS),
  stopped("karmada-aggregated-apiserver"),
  stopped("karmada-controller-manager"),
  stopped("karmada-scheduler"),
  stopped("karmada-webhook"),
  stopped("member2-apiserver"),
  stopped("member3-apiserver"),
  stopped(agentOf("member2")),
  stopped("hub-etcd"),
  killed("hub-apiserver"),
  killed("hub-etcd"),
  killed("karmada-aggregated-apiserver"),
  killed("karmada-controller-manager"),
  killed("karmada-scheduler"),
  killed("karmada-webhook"),
  killed("member2-apiserver"),
  killed("member3-apiserver"),
  killed(agentOf("member2")),
  hasExpired,
  hasNoSpace,
];
