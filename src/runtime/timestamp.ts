/** RFC 3339 in whole seconds and UTC, as Kubernetes writes times. */
export function timestamp(ms: number): string {
  // Always ends with milliseconds and Z, also beyond the year 9999.
  return `${new Date(ms).toISOString().slice(0, -".000Z".length)}Z`;
}
