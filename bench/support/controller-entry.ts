/** The controller as `lockstep controller` runs it, in its own process that reports its resource use to its parent. */
import { tmpdir } from "node:os";
import { createRenderer } from "../../src/charts/index.ts";
import { runManager } from "../../src/controllers/index.ts";
import { KarmadaEngine } from "../../src/engine/index.ts";
import { connectCluster, KubeClient } from "../../src/kube/index.ts";
import { collectQuietly, lineLog, silentLog, systemClock, systemRandom } from "../../src/runtime/index.ts";
import { collectGarbage } from "../../src/runtime/testing/collect-garbage.ts";
import { PauseMeter } from "./pauses.ts";

collectQuietly();
const [kubeconfig, helm] = process.argv.slice(2);
const stop = new AbortController();
const clock = systemClock;
const random = systemRandom;
const log = process.env.LOCKSTEP_BENCH_LOG
  ? lineLog((level, message, fields) => process.stderr.write(`${level} ${message} ${JSON.stringify(fields)}\n`))
  : silentLog;
const connection = await connectCluster({ clock, kubeconfig });
const hub = new KubeClient({ transport: connection.transport, clock, random, log });

const meter = new PauseMeter();
process.on("message", (message) => {
  if (message === "watch pauses") meter.start();
  if (message === "pauses") process.send?.(meter.report());
  if (message === "stop") stop.abort(new Error("asked to stop"));
  if (message === "collect") collectGarbage();
  if (message === "streams") process.send?.(hub.streams.usage());
  if (message === "usage") {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    const peakMb = process.resourceUsage().maxRSS / 2 ** 10;
    process.send?.({ cpuMs: (user + system) / 1000, rssMb: rss / 2 ** 20, peakMb, heapMb: heapUsed / 2 ** 20 });
  }
});
process.on("disconnect", () => process.exit(1));

await runManager(
  {
    hub,
    clock,
    random,
    log,
    engine: () => new KarmadaEngine({ hub, clock, random, log }),
    webhookTransports: () => {
      throw new Error("no webhook is configured here");
    },
    systemNamespace: "lockstep-system",
    identity: "bench",
    ...(helm && { renderer: createRenderer({ helm, searchPath: "", workFolder: tmpdir(), clock, random, log }) }),
    onLeading: () => process.send?.("leading"),
  },
  stop.signal,
);
await hub.settled();
await connection.close();
process.exit(0);
