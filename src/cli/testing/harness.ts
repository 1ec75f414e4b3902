import { World } from "../../embedded/testing/world.ts";
import type { ClusterConnection, KubeObject } from "../../kube/index.ts";
import {
  type CancelTimer,
  type Clock,
  type HttpRequest,
  type HttpResponse,
  seededRandom,
  type Transport,
  TransportError,
} from "../../runtime/index.ts";
import { runCli } from "../program.ts";
import type { Io } from "../terminal/io.ts";
import type { Answer } from "../terminal/listen.ts";
// Loaded beforehand: a module that is read from disk while virtual time passes would make the test depend on the disk.
import "../commands/approve/run.ts";
import "../commands/undo/run.ts";
import "../commands/restart/run.ts";
import "../commands/pause/run.ts";
import "../commands/resume/run.ts";
import "../commands/scale/run.ts";
import "../commands/confirm/run.ts";
import "../commands/completion/run.ts";
import "../commands/controller/run.ts";
import "../commands/doctor/run.ts";
import "../commands/drain/run.ts";
import "../commands/fault/run.ts";
import "../commands/gc/run.ts";
import "../commands/history/run.ts";
import "../commands/install/run.ts";
import "../commands/jobs/run.ts";
import "../commands/logs/run.ts";
import "../commands/plan/run.ts";
import "../hub/pod-reports.ts";
import "../commands/promote/run.ts";
import "../commands/status/run.ts";
import "../commands/status/watch.ts";
import "../commands/transfer-leader/run.ts";
import "../commands/uninstall/run.ts";
import "../commands/wait/run.ts";
import "../commands/why/run.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface TestIoOptions {
  readonly files?: Readonly<Record<string, string>>;
  /** Receives the files that the command writes. */
  readonly written?: Map<string, string>;
  readonly env?: Readonly<Record<string, string>>;
  readonly terminal?: boolean;
  /** The user's answer; undefined: standard input is not a terminal. */
  readonly answer?: string;
  readonly interrupted?: AbortSignal;
  /** The hub's user for the caller; absent: the administrator. */
  readonly user?: string;
  readonly program?: string;
  /** Of the terminal; by default 120. */
  readonly columns?: number;
  /** Replaces the hub for a given connection, by its number. */
  readonly connected?: (times: number, kubeconfig: string | undefined) => Transport | undefined;
  /** Receives what the command serves, instead of a socket. */
  readonly served?: (answer: (path: string) => Answer) => void;
  /** The hub's address in the kubeconfig. */
  readonly server?: string;
  /** Answers a request instead of the hub. */
  readonly intercept?: (request: HttpRequest) => HttpResponse | undefined;
}

/** An Io that records the output. Without a transport every connection fails. */
export function testIo(
  clock: Clock,
  transport: Transport | undefined,
  options: TestIoOptions = {},
): Io & { out: string[]; err: string[] } {
  const out: string[] = [];
  const err: string[] = [];
  const output = (lines: string[]) => ({
    isTerminal: options.terminal ?? false,
    columns: options.columns ?? 120,
    rows: 40,
    write: (text: string) => void lines.push(text),
  });
  let connections = 0;
  const unreachable = async (): Promise<never> => {
    throw new TransportError("connection refused", { neverSent: true });
  };
  return {
    out,
    err,
    stdout: output(out),
    stderr: output(err),
    canAsk: options.answer !== undefined,
    env: options.env ?? {},
    program: options.program ?? "lockstep",
    ask: async () => options.answer ?? "",
    readFile(path) {
      const text = options.files?.[path];
      if (text === undefined) throw Object.assign(new Error("no such file"), { code: "ENOENT" });
      return text;
    },
    writeFile: (path, text) => void options.written?.set(path, text),
    interrupted: () => options.interrupted ?? new AbortController().signal,
    clock: async () => clock,
    random: async () => seededRandom(1),
    async listen(address, answer) {
      options.served?.(answer);
      return { address, close: async () => {} };
    },
    connect: async ({ context, kubeconfig }): Promise<ClusterConnection> => ({
      transport: options.connected?.(++connections, kubeconfig) ??
        transport ?? { request: unreachable, stream: unreachable },
      context: context ?? "hub",
      server: options.server ?? "https://hub.test",
      tls: { ca: "PEM of the hub's CA" },
      namespace: "default",
      close: async () => {},
    }),
  };
}

/** If only the command itself waits: every sleep ends at once. */
export class InstantClock implements Clock {
  #elapsedMs = 0;
  now = () => Date.UTC(2025, 0, 1) + this.#elapsedMs;
  monotonicMs = () => this.#elapsedMs;

  async sleep(durationMs: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise((resolve) => setImmediate(resolve));
    signal?.throwIfAborted();
    this.#elapsedMs += durationMs;
  }

  after(durationMs: number, run: () => void): CancelTimer {
    const soon = setImmediate(() => {
      this.#elapsedMs += durationMs;
      run();
    });
    return () => clearImmediate(soon);
  }
}

/** Runs a command line without any hub. */
export async function runAlone(args: readonly string[], options: TestIoOptions = {}): Promise<Ran> {
  const io = testIo(new InstantClock(), undefined, options);
  const code = await runCli(args, io);
  return { code, out: io.out.join(""), err: io.err.join("") };
}

/** Runs command lines against a fleet with the real controller on it, on virtual time. */
export class CliWorld {
  readonly world: World;

  constructor(seed = 1, options: ConstructorParameters<typeof World>[1] = {}) {
    this.world = new World(seed, options);
  }

  async run(args: readonly string[], options: TestIoOptions = {}): Promise<Ran> {
    const { clock } = this.world;
    const hub = this.world.fleet.hub.transport();
    const user = options.user === undefined ? {} : { user: { name: options.user, groups: ["system:masters"] } };
    const transport: Transport = {
      request: async (request) => options.intercept?.(request) ?? hub.request({ ...request, ...user }),
      stream: (request) => hub.stream(request),
    };
    const io = testIo(clock, transport, options);
    const code = await clock.run(runCli(args, io));
    return { code, out: io.out.join(""), err: io.err.join("") };
  }

  /** The example of the documentation, deployed and settled. */
  async deploy(): Promise<void> {
    await this.world.start();
    for (const object of exampleObjects()) await this.world.apply(object);
    await this.world.until("the example is deployed", () => this.world.isSettled("web", 5));
  }
}

const LABELS = { app: "web" };

export function exampleObjects(image = "nginx:1.27", edit: Readonly<Record<string, unknown>> = {}): KubeObject[] {
  const objects: unknown[] = [
    {
      apiVersion: "apps.karmada.io/v1alpha1",
      kind: "CrossClusterStatefulset",
      metadata: { name: "web", namespace: "default" },
      spec: {
        resourceSelector: { apiVersion: "apps/v1", kind: "StatefulSet", name: "web" },
        topology: {
          clusters: [
            { name: "member1", replicas: 2 },
            { name: "member2", replicas: 2 },
            { name: "member3", replicas: 1 },
          ],
        },
        ...edit,
      },
    },
    exampleTemplate(image),
  ];
  return JSON.parse(JSON.stringify(objects));
}

export function exampleTemplate(image: string): KubeObject {
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: { name: "web", namespace: "default" },
    spec: {
      serviceName: "web",
      selector: { matchLabels: LABELS },
      template: { metadata: { labels: LABELS }, spec: { containers: [{ name: "web", image }] } },
    },
  };
}
