/** Counts as people say them. */
export function instancesText(count: number): string {
  return count === 1 ? "1 instance" : `${count} instances`;
}

/** What to do about a cluster that is away only because Lockstep has no stream left to look with. */
export const RAISE_STREAMS =
  "The cluster is not at fault. Raise the controller's --max-streams, or manage fewer kinds.";
