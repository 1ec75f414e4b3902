import { WorkQueue, type WorkResult } from "../../kube/index.ts";
import type { Clock, Log, Random } from "../../runtime/index.ts";
import type { LocalApi } from "../local-api.ts";
import { keyOf } from "../values.ts";

export interface MemberControllerOptions {
  readonly api: LocalApi;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Whether this cluster's API server is up: its controllers stop while it is down. */
  readonly isUp: () => boolean;
  /** How long after a change the controller reconciles. */
  readonly reactionMs: number;
}

/** What a controller of a member looks after. */
interface Owners {
  /** Such as batch/jobs. */
  readonly resource: string;
  /** Their kind, as owner references name it. */
  readonly kind: string;
  /** What they own, such as /pods. */
  readonly owned: string;
}

/** The keys of a member's objects: one is queued when the object changes, or something that it owns. */
export class OwnerQueue {
  readonly #options: MemberControllerOptions;
  readonly #resource: string;
  readonly #queue: WorkQueue;

  constructor(
    options: MemberControllerOptions,
    { resource, kind, owned }: Owners,
    sync: (key: string) => Promise<WorkResult | undefined>,
  ) {
    const { api, clock, random, log } = options;
    this.#options = options;
    this.#resource = resource;
    this.#queue = new WorkQueue({ clock, random, log, concurrency: 1, work: sync });
    api.on(resource, ({ key }) => this.#add(keyOf(key.namespace, key.name)));
    api.on(owned, ({ object }) => {
      for (const owner of object.metadata.ownerReferences ?? []) {
        if (owner.kind === kind) this.#add(keyOf(object.metadata.namespace ?? "", owner.name));
      }
    });
  }

  start(): void {
    this.#queue.start();
    this.syncAll();
  }

  /** After the API server returned. */
  syncAll(): void {
    for (const { metadata } of this.#options.api.list(this.#resource)) {
      this.#add(keyOf(metadata.namespace ?? "", metadata.name));
    }
  }

  stop(): Promise<void> {
    return this.#queue.shutdown();
  }

  #add(key: string): void {
    this.#queue.addAfter(key, this.#options.reactionMs);
  }
}
