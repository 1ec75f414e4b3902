import { type Clock, type Log, type Random, retryDelayMs, type Transport } from "../runtime/index.ts";
import { apiPath, MemberClient, type MemberObject } from "./client.ts";

export interface OperateOptions {
  /** To the API server of the operator's own cluster. */
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** The kind that the operator is for. */
  readonly kind: { readonly apiVersion: string; readonly plural: string };
  /** Without any event, all objects are reconciled this often: the application does not tell what happens to it. */
  readonly resyncMs: number;
  /** Brings one object a step further. Do everything that it needs to know from new reads; keep nothing in memory. */
  readonly reconcile: (object: MemberObject, api: MemberClient) => Promise<void>;
}

const RETRY_BASE_MS = 200;
const RETRY_MAX_MS = 5_000;

/**
 * Runs an operator until the signal aborts. A watch is only a bell here: whatever rings it, every object of the kind is
 * read again and reconciled, one at a time. An object that fails is retried with the next round, and harms no other.
 */
export async function operate(options: OperateOptions, signal: AbortSignal): Promise<void> {
  const { transport, clock, log, kind, resyncMs, reconcile } = options;
  const api = new MemberClient(transport);
  const objects = apiPath(kind.apiVersion, kind.plural);
  const bell = new Bell();
  const watches = [objects, apiPath("v1", "pods")].map((path) => keepWatching(api, path, bell, options, signal));
  while (!signal.aborted) {
    const rung = bell.next();
    try {
      for (const object of await api.list(objects)) {
        if (signal.aborted) break;
        const { name, namespace } = object.metadata;
        await reconcile(object, api).catch((error: unknown) => {
          log.debug("a reconcile did not finish; it is repeated", {
            object: `${namespace}/${name}`,
            reason: String(error),
          });
        });
      }
    } catch (error) {
      log.debug("the objects could not be listed", { reason: String(error) });
    }
    const pause = new AbortController();
    await Promise.race([rung, clock.sleep(resyncMs, AbortSignal.any([signal, pause.signal])).catch(() => {})]);
    pause.abort();
  }
  await Promise.all(watches);
}

async function keepWatching(
  api: MemberClient,
  path: string,
  bell: Bell,
  { clock, random }: OperateOptions,
  signal: AbortSignal,
): Promise<void> {
  for (let failures = 0; !signal.aborted; ) {
    try {
      await api.watch(
        path,
        () => {
          failures = 0;
          bell.ring();
        },
        signal,
      );
    } catch {
      failures++;
    }
    await clock.sleep(retryDelayMs(failures, RETRY_BASE_MS, RETRY_MAX_MS, random), signal).catch(() => {});
  }
}

/** Rings that come while a round is under way start one more round, not many. */
class Bell {
  #resolve: () => void = () => {};

  next(): Promise<void> {
    return new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  ring(): void {
    this.#resolve();
  }
}
