import type { ManagerProbes } from "../../../controllers/index.ts";
import type { StreamBudget } from "../../../kube/index.ts";
import type { Clock, MetricsRegistry } from "../../../runtime/index.ts";
import type { Answer } from "../../terminal/listen.ts";

/**
 * A watch shows life at least every 130 s (bookmarks, or a reopening when they are missing), and pauses at most 30 s after
 * a failure. One that is silent for twice as long will not come back by itself.
 */
const STALLED_MS = 320_000;
/** A controller that is late by this much does not renew its lease in time either. */
const MAX_LAG_MS = 10_000;

export interface ProbeParts {
  readonly clock: Clock;
  readonly registry: MetricsRegistry;
  readonly streams: StreamBudget;
  /** How late the event loop was, at worst, since the last probe. */
  readonly takeLagMs: () => number;
  /** Undefined before the process takes part in the election. */
  readonly manager: () => ManagerProbes | undefined;
}

/**
 * What the controller answers to kubelets and Prometheus. `/healthz` fails only for what a restart repairs; an
 * unreachable hub is not among that, and shows in `/readyz`.
 */
export function answerProbe(parts: ProbeParts, path: string): Answer {
  switch (path) {
    case "/metrics":
      return { status: 200, contentType: "text/plain; version=0.0.4; charset=utf-8", body: parts.registry.text() };
    case "/healthz":
      return verdict(unhealthy(parts));
    case "/readyz":
      return verdict(notReady(parts));
    default:
      return text(404, "there are /metrics, /healthz and /readyz");
  }
}

export function stalledWatches({ clock, streams }: Pick<ProbeParts, "clock" | "streams">): string[] {
  return streams.silentSince(clock.monotonicMs() - STALLED_MS);
}

function unhealthy(parts: ProbeParts): string | undefined {
  const stalled = stalledWatches(parts);
  const seconds = STALLED_MS / 1000;
  if (stalled.length > 0) return `watches without a sign of life for ${seconds} s: ${[...new Set(stalled)].join(", ")}`;
  const lagMs = parts.takeLagMs();
  return lagMs > MAX_LAG_MS ? `the event loop was late by ${Math.round(lagMs)} ms` : undefined;
}

function notReady(parts: ProbeParts): string | undefined {
  const manager = parts.manager();
  return manager ? manager.notReady() : "the controller has not started yet";
}

function verdict(problem: string | undefined): Answer {
  return problem === undefined ? text(200, "ok") : text(503, problem);
}

function text(status: number, body: string): Answer {
  return { status, contentType: "text/plain; charset=utf-8", body: `${body}\n` };
}
