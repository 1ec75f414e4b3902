/**
 * Starts the operator of one cluster:
 *
 *     node --import tsx examples/etcd/operator/main.ts [CONTEXT]
 *
 * Without a context it uses the current one of the kubeconfig, or the service account of its pod. It asks each member of
 * etcd at the address that Lockstep granted, so it must run where these addresses can be reached.
 */
import { connectCluster, isJsonObject, lineLog, systemClock, systemRandom } from "lockstep/sdk";
import type { Ask } from "./etcd.ts";
import { KIND, runEtcdOperator } from "./operator.ts";
import { EVERYWHERE } from "./pod.ts";

const ASK_TIMEOUT_MS = 1_000;

const ask: Ask = async (address, path, body) => {
  const answer = await fetch(`http://${address}:2379/v3/${path}`, {
    method: "POST",
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(ASK_TIMEOUT_MS),
  });
  const value: unknown = await answer.json();
  const object = isJsonObject(value) ? value : {};
  if (answer.status !== 200) throw new Error(`${path}: ${object.message ?? answer.status}`);
  return object;
};

const log = lineLog((level, message, fields) => {
  if (level !== "debug") process.stderr.write(`${level} ${message} ${JSON.stringify(fields)}\n`);
});
const context = process.argv[2];
const [clock, random] = [systemClock, systemRandom];
const connection = await connectCluster({ clock, ...(context !== undefined && { context }) });
const stop = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => stop.abort(new Error(signal)));
log.info("the operator runs", { kind: KIND.plural, context: connection.context });
await runEtcdOperator(
  {
    transport: connection.transport,
    ask,
    clock,
    random,
    log,
    // The image's own program, on all addresses of its pod.
    command: () => ["etcd"],
    listen: () => EVERYWHERE,
  },
  stop.signal,
);
await connection.close();
