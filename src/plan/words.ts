/** Counts as people say them. */
export function instancesText(count: number): string {
  return count === 1 ? "1 instance" : `${count} instances`;
}
