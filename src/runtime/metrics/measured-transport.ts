import type { Clock } from "../clock.ts";
import type { HttpRequest, Transport } from "../transport.ts";
import type { Metrics } from "./metrics.ts";

const HUB = "hub";
/** Karmada's proxy: the request goes to the named member. */
const PROXY = /^\/apis\/cluster\.karmada\.io\/[^/]+\/clusters\/([^/]+)\/proxy\//;

/** Counts and times every request that passes, including each retry. */
export function measuredTransport(transport: Transport, metrics: Metrics, clock: Clock): Transport {
  const count = (request: HttpRequest, method: string, code: string) =>
    metrics.count("rest_client_requests_total", { cluster: clusterOf(request), method, code });
  return {
    async request(request) {
      const startedMs = clock.monotonicMs();
      let code = "<error>";
      try {
        const response = await transport.request(request);
        code = String(response.status);
        return response;
      } finally {
        const target = clusterOf(request) === HUB ? HUB : "member";
        const seconds = (clock.monotonicMs() - startedMs) / 1000;
        metrics.observe("rest_client_request_duration_seconds", { target, method: request.method }, seconds);
        count(request, request.method, code);
      }
    },
    async stream(request) {
      let code = "<error>";
      try {
        const stream = await transport.stream(request);
        code = String(stream.status);
        return stream;
      } finally {
        count(request, "WATCH", code);
      }
    },
  };
}

function clusterOf({ path }: HttpRequest): string {
  return PROXY.exec(path)?.[1] ?? HUB;
}
