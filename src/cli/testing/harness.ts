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
import type { Io } from "../io.ts";
import { runCli } from "../program.ts";
// Loaded beforehand: a module that is read from disk while virtual time passes would make the story depend on the disk.
import "../changes.ts";
import "../completion-run.ts";
import "../controller-run.ts";
import "../doctor-run.ts";
import "../history-run.ts";
import "../install-run.ts";
import "../plan-run.ts";
import "../status-run.ts";
import "../why-run.ts";

export interface Ran {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

export interface TestIoOptions {
  readonly files?: Readonly<Record<string, string>>;
  readonly env?: Readonly<Record<string, string>>;
  readonly terminal?: boolean;
  /** What a person answers; undefined: nobody can be asked. */
  readonly answer?: string;
  readonly interrupted?: AbortSignal;
  readonly program?: string;
  /** Answers a request in the hub's place. */
  readonly intercept?: (request: HttpRequest) => HttpResponse | undefined;
}

/** An Io that keeps what is written. Without a transport every connection fails. */
export function testIo(
  clock: Clock,
  transport: Transport | undefined,
  options: TestIoOptions = {},
): Io & { out: string[]; err: string[] } {
  const out: string[] = [];
  const err: string[] = [];
  const output = (lines: string[]) => ({
    isTerminal: options.terminal ?? false,
    columns: 120,
    rows: 40,
    write: (text: string) => void lines.push(text),
  });
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
    interrupted: () => options.interrupted ?? new AbortController().signal,
    clock: async () => clock,
    random: async () => seededRandom(1),
    connect: async ({ context }): Promise<ClusterConnection> => ({
      transport: transport ?? { request: unreachable, stream: unreachable },
      context: context ?? "hub",
      server: "https://hub.test",
      namespace: "default",
      close: async () => {},
    }),
  };
}

/** Where nothing but the command itself waits: every sleep is over at once. */
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

  constructor(seed = 1) {
    this.world = new World(seed);
  }

  async run(args: readonly string[], options: TestIoOptions = {}): Promise<Ran> {
    const { clock } = this.world;
    const hub = this.world.fleet.hub.transport();
    const transport: Transport = {
      request: async (request) => options.intercept?.(request) ?? hub.request(request),
      stream: (request) => hub.stream(request),
    };
    const io = testIo(clock, transport, options);
    const code = await clock.run(runCli(args, io));
    return { code, out: io.out.join(""), err: io.err.join("") };
  }

  /** The example of the documentation, deployed and at rest. */
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
