import type { CompiledSchema } from "../api/index.ts";
import type { Clock, Log, Random } from "../runtime/index.ts";
import type { Registry } from "./registry.ts";
import type { Store } from "./store.ts";
import type { KubeObject, ResourceDefinition, ServerLimits, User } from "./types.ts";

/** What every operation works on. */
export interface Core {
  readonly store: Store;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly limits: ServerLimits;
  readonly trackUpdates: boolean;
  /** Stored objects, each with the schema that it went through: what a later write takes over from it need not again. */
  readonly checkedBy: WeakMap<KubeObject, CompiledSchema>;
  /** Refuses an object after its own validation; throws StatusError. */
  readonly admit: (write: WriteContext, object: KubeObject, old: KubeObject | undefined) => void;
}

/** One write, as its URL and query describe it. */
export interface WriteContext {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  /** Empty when an object is created in a collection. */
  readonly name: string;
  readonly subresource: "" | "status" | "scale";
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  readonly user: User;
  /** Sentences for the client beside the answer. */
  readonly warnings: string[];
}
