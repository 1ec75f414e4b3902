/** Thrown when a dispatch object is no longer the version that the writer read. Observe again, then decide again. */
export class DispatchConflictError extends Error {
  override readonly name = "DispatchConflictError";
  readonly cluster: string;

  constructor(cluster: string, what: string, options?: ErrorOptions) {
    super(`${cluster}: ${what} changed since it was read; the controller reads it again before it decides`, options);
    this.cluster = cluster;
  }
}

/**
 * Thrown when a ledger or a dispatch object has the term of a later leader. This process's view of that application is
 * outdated. Only the lease tells whether the process still leads.
 */
export class SupersededError extends Error {
  override readonly name = "SupersededError";
  readonly ownTerm: number;
  readonly foundTerm: number;

  constructor(what: string, ownTerm: number, foundTerm: number) {
    super(
      `${what} carries term ${foundTerm}, which is later than this leader's term ${ownTerm}: another leader has taken over`,
    );
    this.ownTerm = ownTerm;
    this.foundTerm = foundTerm;
  }
}

/** Thrown when a dispatch object has a term that no leader can have written: a user must look at it. */
export class TermOutOfRangeError extends Error {
  override readonly name = "TermOutOfRangeError";

  constructor({ kind, namespace, name }: Termed) {
    super(
      `${kind} ${namespace}/${name} has a term in ${TERM_ANNOTATION} that no leader wrote; Lockstep writes nothing for this ` +
        `application. Find out who wrote it, then: kubectl annotate ${kind.toLowerCase()} ${name} -n ${namespace} ` +
        `${TERM_ANNOTATION}=0 --overwrite`,
    );
  }
}

/** On ledgers and on Works. */
export const TERM_ANNOTATION = "lockstep.karmada.io/term";

interface Termed {
  readonly kind: string;
  readonly namespace: string;
  readonly name: string;
}

/** The error for an object with a later term than this leader's. */
export function laterTerm(what: Termed, ownTerm: number, foundTerm: number): Error {
  if (!Number.isFinite(foundTerm)) return new TermOutOfRangeError(what);
  return new SupersededError(`${what.kind} ${what.namespace}/${what.name}`, ownTerm, foundTerm);
}
