/** A stack of one's own for a suite, with clients for all of its clusters; gone at the end. */
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { ContractFleet } from "../../src/engine/testing/contract/index.ts";
import { KubeClient } from "../../src/kube/index.ts";
import {
  type HttpTransport,
  type Log,
  lineLog,
  openHttpTransport,
  silentLog,
  systemClock,
  systemRandom,
} from "../../src/runtime/index.ts";
import { cacheFolder } from "../tools/programs.ts";
import type { Api } from "./api.ts";
import { MEMBERS } from "./commands.ts";
import { agentOf, relayOf, type Say, type Stack, type StackOptions } from "./ground.ts";
import { startTicks, stopRecorded } from "./processes.ts";

/** Real programs on a machine with two cores: generous, so that only a real failure is one. */
const UNTIL_TIMEOUT_MS = 60_000;
const POLL_MS = 50;

export interface RealFleet<S extends Stack = Stack> extends Omit<ContractFleet, "engine"> {
  readonly stack: S;
  /** Cuts the member off from the hub; inside, it continues. Its stack must have been started with relays. */
  isolate(member: string): void;
  rejoin(member: string): void;
  /** Silent unless LOCKSTEP_TEST_LOG is set. */
  readonly log: Log;
}

export async function startFleet<S extends Stack>(
  name: string,
  startStack: (folder: string, members: string[], say: Say, options?: StackOptions) => Promise<S>,
  options: StackOptions = {},
): Promise<RealFleet<S>> {
  const folder = await runFolder(name);
  const boot = () => startStack(folder, MEMBERS, () => {}, options);
  // Rarely one of some fifteen programs does not come up, and starting it again does not help. The reason is printed.
  const stack = await boot().catch((error: unknown) => {
    console.warn(`${name} is booted a second time: ${error}`);
    return boot();
  });
  const transports: HttpTransport[] = [];
  const client = async (api: Api) => {
    const transport = await openHttpTransport({ server: api.server, tls: api.tls });
    transports.push(transport);
    return new KubeClient({ transport, clock: systemClock, random: systemRandom });
  };
  const hub = await client(stack.hub);
  const members = new Map<string, KubeClient>();
  for (const [member, api] of stack.members) members.set(member, await client(api));
  const waysOf = (member: string) => [relayOf(member), agentOf(member)].filter((way) => stack.processes.knows(way));
  const log = process.env.LOCKSTEP_TEST_LOG
    ? lineLog((level, message, fields) => console.error(level, message, JSON.stringify(fields)))
    : silentLog;
  return {
    stack,
    hub,
    members,
    clock: systemClock,
    log,
    async cut(member) {
      stack.processes.kill(`${member}-apiserver`);
    },
    async mend(member) {
      stack.processes.restart(`${member}-apiserver`);
      await until(`${member}'s API server is back`, () => stack.members.get(member)?.ok("/readyz") ?? false);
    },
    isolate(member) {
      for (const way of waysOf(member)) stack.processes.kill(way);
    },
    rejoin(member) {
      for (const way of waysOf(member)) stack.processes.restart(way);
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
async function runFolder(name: string): Promise<string> {
  const runs = join(cacheFolder(), `${name}-runs`);
  mkdirSync(runs, { recursive: true });
  for (const run of readdirSync(runs)) {
    const [pid, ticks] = run.split("-");
    if (startTicks(Number(pid)) === ticks) continue;
    await stopRecorded(join(runs, run));
    rmSync(join(runs, run), { recursive: true, force: true });
  }
  return mkdtempSync(join(runs, `${process.pid}-${startTicks(process.pid)}-`));
}

/** The condition may say, as text, what is still missing: it goes into the message of a failure. */
export async function until(
  what: string,
  condition: () => boolean | string | Promise<boolean | string>,
  timeoutMs = UNTIL_TIMEOUT_MS,
): Promise<void> {
  const deadline = performance.now() + timeoutMs;
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
  throw new Error(`after ${timeoutMs / 1000} s still not: ${what} ${last}`);
}
