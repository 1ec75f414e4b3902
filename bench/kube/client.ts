/**
 * One client of bench/kube/server.ts, in its own process so that memory and event loop are not shared: `reflector` is
 * this project's, `client-node` the informer of @kubernetes/client-node.
 */
import { monitorEventLoopDelay, performance } from "node:perf_hooks";
import { KubeClient, type KubeObject, Reflector, resource } from "../../src/kube/index.ts";
import { type HttpTransport, openHttpTransport, systemClock, systemRandom } from "../../src/runtime/index.ts";
import { collectGarbage } from "../../src/runtime/testing/collect-garbage.ts";

export interface ClientFigures {
  readonly listMs: number;
  readonly listBlockMs: number;
  readonly listBlockCpuMs: number;
  readonly heapMb: number;
  readonly burstMs: number;
  readonly burstBlockMs: number;
  readonly latencyP50Ms: number;
  readonly latencyP99Ms: number;
}

export interface ClientTask {
  readonly kind: "reflector" | "client-node";
  readonly port: number;
  readonly pods: number;
  readonly events: number;
  readonly trickle: number;
}

const MB = 1024 * 1024;
const heapMb = () => {
  collectGarbage();
  return process.memoryUsage().heapUsed / MB;
};

type ClientNode = typeof import("@kubernetes/client-node");

/** The most CPU time used in one turn of the event loop: the blocked time without what other processes used. */
function cpuBlockProbe(): { longestMs(): number } {
  let longest = 0;
  let before = process.cpuUsage();
  const turn = () => {
    const used = process.cpuUsage(before);
    longest = Math.max(longest, (used.user + used.system) / 1000);
    before = process.cpuUsage();
    setTimeout(turn, 1);
  };
  turn();
  return {
    longestMs() {
      const result = longest;
      longest = 0;
      return result;
    },
  };
}

/** Calls `onChange` with the time the server sent the event, for every update. */
async function startReflector(transport: HttpTransport, onChange: (sent: string) => void): Promise<void> {
  const client = new KubeClient({ transport, clock: systemClock, random: systemRandom });
  const pods = resource({ apiVersion: "v1", kind: "Pod", plural: "pods", namespaced: true });
  const reflector = new Reflector<KubeObject>({ client, resource: pods, clock: systemClock, random: systemRandom });
  reflector.cache.subscribe({ updated: (object) => onChange(object.metadata.annotations?.sent ?? "0") });
  void reflector.run(new AbortController().signal);
  await reflector.cache.synced();
  keep = reflector;
}

async function startInformer(library: ClientNode, port: number, onChange: (sent: string) => void): Promise<void> {
  const { CoreV1Api, KubeConfig, makeInformer } = library;
  const config = new KubeConfig();
  config.loadFromClusterAndUser(
    { name: "bench", server: `http://127.0.0.1:${port}`, skipTLSVerify: true },
    { name: "bench" },
  );
  const api = config.makeApiClient(CoreV1Api);
  const informer = makeInformer(config, "/api/v1/pods", () => api.listPodForAllNamespaces());
  informer.on("update", (object) => onChange(object.metadata?.annotations?.sent ?? "0"));
  await informer.start();
  keep = informer;
}

let keep: unknown;

async function starter({ kind, port }: ClientTask): Promise<(onChange: (sent: string) => void) => Promise<void>> {
  if (kind === "client-node") {
    const library = await import("@kubernetes/client-node");
    return (onChange) => startInformer(library, port, onChange);
  }
  const transport = await openHttpTransport({ server: `http://127.0.0.1:${port}` });
  return (onChange) => startReflector(transport, onChange);
}

async function measure(task: ClientTask): Promise<ClientFigures> {
  // Loading the libraries is not part of the measurement.
  const start = await starter(task);
  const before = heapMb();
  const latencies: number[] = [];
  let changes = 0;
  let wanted = Number.POSITIVE_INFINITY;
  let reached: () => void = () => {};
  const onChange = (sent: string) => {
    latencies.push(Number(process.hrtime.bigint() - BigInt(sent)) / 1e6);
    if (++changes >= wanted) reached();
  };
  const delay = monitorEventLoopDelay({ resolution: 1 });
  const blocked = () => {
    const ms = delay.max / 1e6;
    delay.reset();
    return ms;
  };
  const cpu = cpuBlockProbe();
  const receive = (count: number, command: object) =>
    new Promise<void>((resolve) => {
      changes = 0;
      latencies.length = 0;
      wanted = count;
      reached = resolve;
      process.send?.(command);
    });

  delay.enable();
  await new Promise((resolve) => setTimeout(resolve, 50));
  blocked();
  cpu.longestMs();
  const listStart = performance.now();
  await start(onChange);
  const listMs = performance.now() - listStart;
  // One more turn, so that a block at the very end is seen too; and time for the watch to open.
  await new Promise((resolve) => setTimeout(resolve, 300));
  const listBlockMs = blocked();
  const listBlockCpuMs = cpu.longestMs();
  const heap = heapMb() - before;
  await new Promise((resolve) => setTimeout(resolve, 50));
  blocked();
  const burstStart = performance.now();
  await receive(task.events, { burst: task.events });
  const burstMs = performance.now() - burstStart;
  await new Promise((resolve) => setTimeout(resolve, 50));
  const burstBlockMs = blocked();
  await receive(task.trickle, { trickle: task.trickle });
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.floor(sorted.length * part)] ?? Number.NaN;
  if (!keep) throw new Error("the client has ended");
  return {
    listMs,
    listBlockMs,
    listBlockCpuMs,
    heapMb: heap,
    burstMs,
    burstBlockMs,
    latencyP50Ms: at(0.5),
    latencyP99Ms: at(0.99),
  };
}

process.on("message", (task: ClientTask) => {
  if (!("kind" in task)) return;
  measure(task).then(
    (figures) => process.send?.({ figures }),
    (error: unknown) => process.send?.({ failed: String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
