import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Random } from "../../runtime/index.ts";
import type { StandIn } from "./stand-in.ts";

/**
 * Serves the stand-in on a free port of loopback while `use` runs with its kubeconfig.
 *
 * helm reaches it only outside a network namespace of its own: there, not even loopback is up, and raising it needs a
 * program that small images do not have. That is safe because the only requests that helm then makes are lookups: the
 * chart is local, and schemas that name other documents were refused before. Proxies that do not exist remain as a
 * second guard. The path is secret, because the objects may be Secrets and other processes share this loopback.
 */
export async function withStandIn<T>(
  standIn: StandIn,
  random: Random,
  use: (kubeconfig: string) => Promise<T>,
): Promise<T> {
  const prefix = `/${random.uuid()}`;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    const isOurs = request.method === "GET" && url.pathname.startsWith(`${prefix}/`);
    // helm's discovery client accepts anything, its client for objects JSON only.
    const isDiscovery = request.headers.accept?.includes("*/*") === true || url.searchParams.has("timeout");
    const answer = isOurs ? standIn.answer(url.pathname.slice(prefix.length), isDiscovery) : { status: 404, body: {} };
    response.writeHead(answer.status, { "content-type": "application/json" }).end(JSON.stringify(answer.body));
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    server.listen(0, "127.0.0.1", resolve);
  });
  try {
    const { port } = server.address() as AddressInfo;
    return await use(kubeconfigFor(`http://127.0.0.1:${port}${prefix}`));
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

function kubeconfigFor(server: string): string {
  return JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "own", cluster: { server } }],
    contexts: [{ name: "own", context: { cluster: "own", user: "own" } }],
    users: [{ name: "own", user: {} }],
    "current-context": "own",
  });
}
