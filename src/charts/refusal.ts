import type { RefusalReason, Refused } from "./types.ts";

/** Thrown when a source cannot become objects: the only error that leaves this room's inner parts on purpose. */
export class RefusalError extends Error {
  override readonly name = "RefusalError";
  readonly reason: RefusalReason;
  readonly remedy: string;
  /** Whether the same inputs may succeed later: a host that did not answer, a program that was killed for its time. */
  readonly isTransient: boolean;

  constructor(reason: RefusalReason, message: string, remedy: string, options: { isTransient?: boolean } = {}) {
    super(message);
    this.reason = reason;
    this.remedy = remedy;
    this.isTransient = options.isTransient ?? false;
  }

  toResult(): Refused {
    return { kind: "refused", reason: this.reason, message: this.message, remedy: this.remedy };
  }
}
