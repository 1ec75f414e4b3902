import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { KarmadaEngine } from "../../src/engine/index.ts";
import type { ContractFleet } from "../../src/engine/testing/contract.ts";
import { KubeClient } from "../../src/kube/index.ts";
import {
  type HttpTransport,
  lineLog,
  openHttpTransport,
  silentLog,
  systemClock,
  systemRandom,
} from "../../src/runtime/index.ts";
import { cacheFolder } from "../tools/programs.ts";
import { startTicks, stopRecorded } from "./stack/processes.ts";
import { type Stack, startStack } from "./stack/stack.ts";

export const MEMBERS = ["member1", "member2", "member3"];

/** Real programs on a machine with two cores: generous, so that only a real failure is one. */
const UNTIL_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

export interface KarmadaFleet extends ContractFleet {
  readonly stack: Stack;
  readonly engine: () => KarmadaEngine;
}

/** A real Karmada of one's own, in a temporary folder, gone at the end. */
export async function startKarmadaFleet(): Promise<KarmadaFleet> {
  const folder = await runFolder();
  const stack = await startStack(folder, MEMBERS, () => {});
  const transports: HttpTransport[] = [];
  const client = async (api: Stack["hub"]) => {
    const transport = await openHttpTransport({ server: api.server, tls: api.tls });
    transports.push(transport);
    return new KubeClient({ transport, clock: systemClock, random: systemRandom });
  };
  const hub = await client(stack.hub);
  const members = new Map<string, KubeClient>();
  for (const [name, api] of stack.members) members.set(name, await client(api));
  const log = process.env.LOCKSTEP_TEST_LOG
    ? lineLog((level, message, fields) => console.error(level, message, JSON.stringify(fields)))
    : silentLog;
  return {
    stack,
    hub,
    members,
    clock: systemClock,
    engine: () => new KarmadaEngine({ hub, clock: systemClock, random: systemRandom, log }),
    async cut(member) {
      stack.processes.kill(`${member}-apiserver`);
    },
    async mend(member) {
      stack.processes.restart(`${member}-apiserver`);
      await until(`${member}'s API server is back`, () => stack.members.get(member)?.ok("/readyz") ?? false);
    },
    until,
    async stop() {
      await stack.stop();
      await Promise.all(transports.map((transport) => transport.close()));
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/**
 * A folder of this run's own. Its name tells whose it is, so that what a killed run left behind, processes included, is
 * found and ended by the next one.
 */
async function runFolder(): Promise<string> {
  const runs = join(cacheFolder(), "karmada-runs");
  mkdirSync(runs, { recursive: true });
  for (const name of readdirSync(runs)) {
    const [pid, ticks] = name.split("-");
    if (startTicks(Number(pid)) === ticks) continue;
    await stopRecorded(join(runs, name));
    rmSync(join(runs, name), { recursive: true, force: true });
  }
  return mkdtempSync(join(runs, `${process.pid}-${startTicks(process.pid)}-`));
}

/** The condition may say, as text, what is still missing: it goes into the message of a failure. */
export async function until(
  what: string,
  condition: () => boolean | string | Promise<boolean | string>,
): Promise<void> {
  const deadline = performance.now() + UNTIL_TIMEOUT_MS;
  let last: unknown = "";
  while (performance.now() < deadline) {
    try {
      const state = await condition();
      if (state === true) return;
      last = state === false ? "" : state;
    } catch (error) {
      last = error;
    }
    await sleep(POLL_MS);
  }
  throw new Error(`after ${UNTIL_TIMEOUT_MS / 1000} s still not: ${what} ${last}`);
}
