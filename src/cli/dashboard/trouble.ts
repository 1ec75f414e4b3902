/** What the live pages share when the hub does not do its part. */
import type { EngineDefinition } from "../../engine/index.ts";
import type { KubeClient } from "../../kube/index.ts";
import type { Clock } from "../../runtime/index.ts";
import type { LiveEvent } from "../../web/index.ts";
import { explain, isTransient } from "../errors.ts";
import { engineOf } from "../hub/engine.ts";

export const EXPIRED_WORDS = "The hub no longer accepts your credentials: they have expired. Sign in again.";
export const EXPIRED: LiveEvent = { event: "signed-out", data: { message: EXPIRED_WORDS } };

const RETRY_MS = 3_000;

/** Which engine the hub has, found once. A hub that does not answer now is asked again. */
export class FoundEngine {
  readonly #client: KubeClient;
  readonly #clock: Clock;
  #found: { readonly engine?: EngineDefinition; readonly problem?: string } | undefined;

  constructor(client: KubeClient, clock: Clock) {
    this.#client = client;
    this.#clock = clock;
  }

  /** `waits`: called before it is asked again. */
  async find(signal: AbortSignal, waits: (problem: string) => void = () => {}) {
    while (!this.#found && !signal.aborted) {
      try {
        this.#found = { engine: await engineOf({ client: this.#client }) };
      } catch (error) {
        if (!isTransient(error)) this.#found = { problem: `Which engine this hub has is not known: ${explain(error)}` };
        else {
          waits(`The hub cannot be read: ${explain(error)}`);
          await this.#clock.sleep(RETRY_MS, signal).catch(() => {});
        }
      }
    }
    return this.#found ?? {};
  }
}
