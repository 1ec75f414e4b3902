/** Thrown when a dispatch object is no longer the version the writer had seen. Observe again, then decide anew. */
export class DispatchConflictError extends Error {
  override readonly name = "DispatchConflictError";
  readonly cluster: string;

  constructor(cluster: string, what: string, options?: ErrorOptions) {
    super(`${cluster}: ${what} changed since it was read; it is read again before anything is decided`, options);
    this.cluster = cluster;
  }
}

/** Thrown when a dispatch object carries the term of a later leader: this process must not act any more. */
export class SupersededError extends Error {
  override readonly name = "SupersededError";
  readonly ownTerm: number;
  readonly foundTerm: number;

  constructor(what: string, ownTerm: number, foundTerm: number) {
    super(`${what} carries term ${foundTerm}, later than this leader's term ${ownTerm}: another leader has taken over`);
    this.ownTerm = ownTerm;
    this.foundTerm = foundTerm;
  }
}
