/**
 * What an example of `lockstep up` needs in the members in addition to its objects: operators, and for etcd real
 * processes.
 */
import {
  accessSync,
  constants,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import {
  type EmbeddedFleet,
  type EmbeddedFleetOptions,
  ETCD,
  startDatabase,
  startXline,
} from "../../../embedded/index.ts";
import { systemClock as clock, type Log, systemRandom as random } from "../../../runtime/index.ts";
import { CommandError } from "../../errors.ts";
import { type Example, etcdExample, STATEFULSET_EXAMPLE, XLINE_EXAMPLE } from "./example.ts";

export interface Workload {
  readonly example: Example | undefined;
  /** What the fleet has to be built with. */
  readonly fleet: Pick<EmbeddedFleetOptions, "runtime">;
  /** Starts what runs in the members; undefined: nothing runs there. */
  readonly start?: (fleet: EmbeddedFleet) => Promise<{ stop(): Promise<void> }>;
  /** A line on how to reach it. */
  readonly hint?: string;
  /** A note for the user about the start. */
  readonly note?: string;
  /** When the fleet has stopped. */
  readonly cleanUp?: () => void;
}

export interface WorkloadPlace {
  readonly log: Log;
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where volumes are kept; undefined: only while `up` runs. */
  readonly dataDir: string | undefined;
}

export async function workloadOf(example: string, place: WorkloadPlace): Promise<Workload> {
  const { log } = place;
  switch (example) {
    case "none":
      return { example: undefined, fleet: {} };
    case "statefulset":
      return { example: STATEFULSET_EXAMPLE, fleet: {} };
    case "xline":
      return { example: XLINE_EXAMPLE, fleet: {}, start: (fleet) => startXline({ fleet, clock, random, log }) };
    case "etcd":
      return etcdWorkload(place);
    default:
      throw new CommandError(`--example '${example}' is not known; use statefulset, xline, etcd or none`);
  }
}

async function etcdWorkload({ log, env, dataDir }: WorkloadPlace): Promise<Workload> {
  const program = etcdProgram(env);
  const { Children, EtcdApplication, etcdContainer, ProcessRuntime } = await import(
    "../../../embedded/process/index.ts"
  );
  const folder = dataDir === undefined ? mkdtempSync(join(tmpdir(), "lockstep-etcd-")) : join(dataDir, "etcd");
  const children = new Children({ file: join(folder, "processes"), clock });
  const left = await children.endLeftovers();
  const network = await networkOf(folder);
  const address = (instance: string) => `127.${network}.${/\d+$/.exec(instance)?.[0] ?? "0"}.1`;
  return {
    example: etcdExample(`127.${network}.{ordinal}.1`),
    fleet: {
      runtime: (member) =>
        new ProcessRuntime({
          folder: join(folder, member),
          clock,
          log,
          env: { PATH: env.PATH ?? "" },
          configMap: () => undefined,
          children,
        }),
    },
    start: (fleet) =>
      startDatabase({
        fleet,
        clock,
        random,
        log,
        kind: ETCD,
        application: () => new EtcdApplication({ clock, log, address }),
        container: (start) => etcdContainer(program, start),
      }),
    hint: `etcd is real: etcdctl --endpoints http://${address("etcd-0")}:2379 member list`,
    ...(left > 0 && { note: `Ended ${left} etcd processes that an earlier 'up' had left behind.` }),
    cleanUp() {
      children.close();
      if (dataDir === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const NETWORKS = { first: 64, last: 127 };

/** The members of an etcd know each other by address: it keeps its network as long as its data. */
async function networkOf(folder: string): Promise<number> {
  const file = join(folder, "network");
  if (existsSync(file)) return Number(readFileSync(file, "utf8"));
  const network = await freeNetwork();
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(file, String(network));
  return network;
}

/** The second byte of 127.0.0.0/8 under which no process listens yet: every instance has its own address. */
async function freeNetwork(): Promise<number> {
  for (let network = NETWORKS.first; network <= NETWORKS.last; network++) {
    if (await canListen(`127.${network}.0.1`)) return network;
  }
  throw new CommandError(
    `--example etcd needs loopback addresses 127.${NETWORKS.first}.0.1 to 127.${NETWORKS.last}.0.1, and can use none: ` +
      "they are free on Linux unless many fleets run; elsewhere use --example xline",
  );
}

function canListen(host: string): Promise<boolean> {
  const server = createServer();
  return new Promise((resolve) => {
    server.once("error", () => resolve(false));
    server.listen({ host, port: ETCD_CLIENT_PORT }, () => server.close(() => resolve(true)));
  });
}

const ETCD_CLIENT_PORT = 2379;

function etcdProgram(env: WorkloadPlace["env"]): string {
  const folders = (env.PATH ?? "").split(delimiter).filter((folder) => folder !== "");
  const candidates = env.LOCKSTEP_ETCD ? [env.LOCKSTEP_ETCD] : folders.map((folder) => join(folder, "etcd"));
  const found = candidates.find(isExecutable);
  if (found !== undefined) return found;
  throw new CommandError(
    "--example etcd runs a real etcd, and none is on PATH: install etcd 3.5 or newer, or set LOCKSTEP_ETCD to the program; " +
      "--example xline needs nothing",
  );
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
