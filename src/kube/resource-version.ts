const DECIMAL = /^(?:0|[1-9][0-9]*)$/;

/**
 * Which of two resourceVersions is newer: negative if `a` is older than `b`, 0 if equal. Undefined if they cannot be
 * compared: Kubernetes defines an order only for decimal numbers, and some aggregated servers use other texts.
 */
export function compareVersions(a: string, b: string): number | undefined {
  if (a === b) return 0;
  if (!DECIMAL.test(a) || !DECIMAL.test(b)) return undefined;
  // Decimal texts without leading zeros: the longer is the larger. Numbers would lose digits beyond 2^53.
  if (a.length !== b.length) return a.length - b.length;
  return a < b ? -1 : 1;
}

export function isOlder(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return false;
  const order = compareVersions(a, b);
  return order !== undefined && order < 0;
}

/** The newer of the two; `b` if they cannot be compared, because it came later. */
export function newerVersion(a: string | undefined, b: string): string {
  return a !== undefined && isOlder(b, a) ? a : b;
}
