/**
 * Only the watches of a controller, in a separate process: what this many tenants name on the hub, and all members.
 * Arguments: kubeconfig, `namespace` or `kind` (the scope of each watch of the hub), the number of tenants, the number
 * of members.
 */
import { setMaxListeners } from "node:events";
import { HubObjects } from "../../src/controllers/common/hub/hub-objects.ts";
import { throughProxy } from "../../src/engine/karmada/proxy.ts";
import { MemberStreams } from "../../src/engine/members/streams.ts";
import { connectCluster, KubeClient, StreamBudget } from "../../src/kube/index.ts";
import { collectQuietly, LIMITS, silentLog, systemClock, systemRandom } from "../../src/runtime/index.ts";
import { collectGarbage } from "../../src/runtime/testing/collect-garbage.ts";
import { WatchPerNamespace } from "./watch-per-namespace.ts";

const KINDS = [
  ["apps/v1", "StatefulSet"],
  ["v1", "ConfigMap"],
  ["v1", "Secret"],
  ["v1", "ServiceAccount"],
] as const;
const MEMBER_KINDS = [
  ["apps/v1", "StatefulSet"],
  ["v1", "Pod"],
] as const;

collectQuietly();
const [kubeconfig, by, tenants, members] = process.argv.slice(2);
const stop = new AbortController();
setMaxListeners(0, stop.signal);
const [clock, random, log] = [systemClock, systemRandom, silentLog];
const connection = await connectCluster({ clock, kubeconfig });
const streams = new StreamBudget({ limit: LIMITS.maxOpenStreams });
const hub = new KubeClient({ transport: connection.transport, clock, random, log, streams });

process.on("message", (message) => {
  if (message === "stop") process.exit(0);
  if (message === "collect") collectGarbage();
  if (message === "streams") process.send?.(streams.usage());
  if (message === "usage") {
    const { user, system } = process.cpuUsage();
    const { rss, heapUsed } = process.memoryUsage();
    process.send?.({ cpuMs: (user + system) / 1000, rssMb: rss / 2 ** 20, heapMb: heapUsed / 2 ** 20 });
  }
});
process.on("disconnect", () => process.exit(1));

/** By namespace or cluster, what is not known of it yet; checked again when something in it has changed. */
const missing = new Map<string, (() => boolean)[]>();
let isReady: () => void = () => {};
const ready = new Promise<void>((resolve) => {
  isReady = resolve;
});
function look(of: string): void {
  const left = (missing.get(of) ?? []).filter((isMissing) => isMissing());
  if (left.length > 0) missing.set(of, left);
  else missing.delete(of);
  if (missing.size === 0) isReady();
}

const fleet = new MemberStreams({ ...throughProxy(hub), clock, random, log, changed: (cluster) => look(cluster) });
fleet.start(stop.signal);
for (let index = 1; index <= Number(members); index++) {
  const cluster = `member${index}`;
  fleet.addCluster(cluster);
  const kinds = MEMBER_KINDS.map(
    ([apiVersion, kind]) =>
      () =>
        fleet.state(cluster, { apiVersion, kind }).kind !== "live",
  );
  missing.set(cluster, kinds);
}
for (const [apiVersion, kind] of MEMBER_KINDS) fleet.wantKind({ apiVersion, kind }, "tenant-0");

const perNamespace = new WatchPerNamespace(hub, look, stop.signal);
const perKind = new HubObjects({ client: hub, clock, random, log, changed: look }, stop.signal);
for (let index = 0; index < Number(tenants); index++) {
  const namespace = `tenant-${index}`;
  const isMissing = (apiVersion: string, kind: string) =>
    by === "namespace"
      ? !perNamespace.isKnown(apiVersion, kind, namespace)
      : perKind.get(namespace, { apiVersion, kind, namespace, name: namespace }).kind === "unknown";
  const kinds = KINDS.map(
    ([apiVersion, kind]) =>
      () =>
        isMissing(apiVersion, kind),
  );
  missing.set(namespace, kinds);
  look(namespace);
}
await ready;
process.send?.("all is known");
