import type { Clock, Json } from "../../runtime/index.ts";
import { RefusalError } from "../refusal.ts";
import { Slots } from "../run/slots.ts";
import { readText } from "./thread.ts";

export type YamlRead =
  | { readonly kind: "read"; readonly value: Json }
  | { readonly kind: "invalid"; readonly message: string };

/** Each is a thread. */
const CONCURRENT_READS = 2;

/** Reads values that users wrote as YAML, as Kubernetes does, where hostile text can hold nothing else up. */
export class YamlReader {
  readonly #clock: Clock;
  readonly #slots = new Slots(CONCURRENT_READS);

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The first document, which must be a map; an empty text is an empty map. Tenants take turns. */
  async read(text: string, tenant: string, signal: AbortSignal): Promise<YamlRead> {
    try {
      const result = await this.#slots.within(tenant, signal, () => readText(text, this.#clock, signal));
      return result.kind === "read" ? { kind: "read", value: result.documents[0]?.value ?? {} } : result;
    } catch (error) {
      if (error instanceof RefusalError) return { kind: "invalid", message: error.message };
      throw error;
    }
  }
}
