import type { CompiledSchema } from "../api/index.ts";
import type { Clock, Log, Random } from "../runtime/index.ts";
import type { Registry } from "./kinds/registry.ts";
import type { Store } from "./store/store.ts";
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
  /**
   * Stored objects, each with the schema that validated it: parts that a later write shares with it need not be
   * validated again.
   */
  readonly checkedBy: WeakMap<KubeObject, CompiledSchema>;
  /** Refuses a write after the object's own validation, or a deletion (no object); throws StatusError. */
  readonly admit: (write: WriteContext, object: KubeObject | undefined, old: KubeObject | undefined) => void;
}

/** One write, as its URL and query describe it. */
export interface WriteContext {
  readonly definition: ResourceDefinition;
  readonly namespace: string;
  /** Empty if an object is created in a collection. */
  readonly name: string;
  readonly subresource: "" | "status" | "scale";
  readonly dryRun: boolean;
  readonly fieldManager: string;
  readonly fieldValidation: "Strict" | "Warn" | "Ignore";
  readonly user: User;
  /** Warnings for the client, in addition to the answer. */
  readonly warnings: string[];
}
