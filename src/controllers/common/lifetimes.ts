import type { Resource } from "../../kube/index.ts";
import {
  ConflictError,
  ForbiddenError,
  type KubeClient,
  type KubeObject,
  keyOf,
  NotFoundError,
} from "../../kube/index.ts";
import { type Clock, isJsonObject, type Json, timestamp } from "../../runtime/index.ts";
import type { Announcer } from "./announcer.ts";

export interface LifetimesOptions {
  readonly hub: KubeClient;
  readonly clock: Clock;
  readonly announcer: Announcer;
  readonly of: Resource;
}

/** Whether the object's time is over and it was deleted; otherwise when to look again. */
export type LifetimeState =
  | { readonly kind: "ended" }
  | { readonly kind: "lives"; readonly lookAgainMs: number | undefined };

/** An Event says so beforehand: a tenth of the lifetime before its end, and at most this long. */
const NOTICE_MAX_MS = 3_600_000;
/** What stands in the way of an end is looked at again after this. */
const POSTPONED_MS = 30_000;

interface Mortal {
  readonly metadata: object;
  readonly spec?: object | Json;
}

/** When the object ends by itself; undefined: never. */
export function endOf({ metadata, spec }: Mortal): number | undefined {
  const lifetime = isJsonObject(spec) ? spec.lifetime : undefined;
  if (!isJsonObject(lifetime)) return undefined;
  const { ttlSeconds, expiresAt } = lifetime;
  const endMs =
    typeof expiresAt === "string"
      ? Date.parse(expiresAt)
      : typeof ttlSeconds === "number"
        ? bornMs(metadata) + ttlSeconds * 1000
        : Number.NaN;
  return Number.isNaN(endMs) ? undefined : endMs;
}

function bornMs(metadata: Mortal["metadata"]): number {
  const created = "creationTimestamp" in metadata ? metadata.creationTimestamp : undefined;
  return typeof created === "string" ? Date.parse(created) : Number.NaN;
}

/** [A23] [T7] [J18] Objects that end by themselves: an Event beforehand, then they are deleted like any other. */
export class Lifetimes {
  readonly #options: LifetimesOptions;
  /** What was announced last, by key: an edit of the lifetime is announced again. */
  readonly #said = new Map<string, string>();

  constructor(options: LifetimesOptions) {
    this.#options = options;
  }

  /** `inTheWay`: why it must not begin to end now. */
  async check(object: KubeObject, inTheWay: () => string | undefined = () => undefined): Promise<LifetimeState> {
    const endMs = endOf(object);
    if (endMs === undefined) {
      this.forget(keyOf(object.metadata));
      return { kind: "lives", lookAgainMs: undefined };
    }
    const nowMs = this.#options.clock.now();
    if (nowMs < endMs) {
      const lifeMs = endMs - bornMs(object.metadata);
      const noticeMs = Math.min(NOTICE_MAX_MS, Number.isNaN(lifeMs) ? NOTICE_MAX_MS : lifeMs / 10);
      const isDue = nowMs >= endMs - noticeMs;
      if (isDue) {
        const message = `it ends by itself at ${timestamp(endMs)}, and is then torn down in order; edit spec.lifetime to keep it longer`;
        this.#say(object, "Normal", "Expiring", message);
      }
      return { kind: "lives", lookAgainMs: (isDue ? endMs : endMs - noticeMs) - nowMs };
    }
    const why = inTheWay();
    if (why !== undefined) {
      const message = `its lifetime ended at ${timestamp(endMs)}, and it is not torn down yet: ${why}`;
      this.#say(object, "Warning", "ExpiryPostponed", message);
      return { kind: "lives", lookAgainMs: POSTPONED_MS };
    }
    return this.#end(object, endMs);
  }

  forget(key: string): void {
    this.#said.delete(key);
  }

  /** Only this life of it, and only as it was seen: an edit that extends the lifetime wins. */
  async #end(object: KubeObject, endMs: number): Promise<LifetimeState> {
    const { hub, of } = this.#options;
    const { uid, resourceVersion } = object.metadata;
    try {
      await hub.delete(of, object.metadata, {
        preconditions: { ...(uid !== undefined && { uid }), ...(resourceVersion !== undefined && { resourceVersion }) },
      });
    } catch (error) {
      if (error instanceof NotFoundError) return { kind: "ended" };
      if (error instanceof ConflictError) return { kind: "lives", lookAgainMs: 0 };
      if (!(error instanceof ForbiddenError)) throw error;
      const message = `its lifetime ended at ${timestamp(endMs)}, and the hub refuses to delete it: ${error.message}`;
      this.#say(object, "Warning", "ExpiryRefused", message);
      return { kind: "lives", lookAgainMs: POSTPONED_MS };
    }
    this.#say(object, "Normal", "Expired", `its lifetime ended at ${timestamp(endMs)}; it is torn down in order`);
    return { kind: "ended" };
  }

  #say(object: KubeObject, type: "Normal" | "Warning", reason: string, message: string): void {
    const key = keyOf(object.metadata);
    if (this.#said.get(key) === message) return;
    this.#said.set(key, message);
    this.#options.announcer.event(object, type, reason, message);
  }
}
