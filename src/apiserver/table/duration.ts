const SECONDS_PER_MINUTE = 60;
const MINUTES_PER_HOUR = 60;
const HOURS_PER_DAY = 24;
const DAYS_PER_YEAR = 365;

/** A duration as kubectl's AGE column shows it: two units while the value is small, one when it is large. */
export function humanDuration(durationMs: number): string {
  const seconds = Math.trunc(durationMs / 1000);
  // Clocks of client and server differ a little; a larger difference is an error that users should see.
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 2 * SECONDS_PER_MINUTE) return `${seconds}s`;
  const minutes = Math.trunc(seconds / SECONDS_PER_MINUTE);
  if (minutes < 10) return both(minutes, "m", seconds % SECONDS_PER_MINUTE, "s");
  if (minutes < 3 * MINUTES_PER_HOUR) return `${minutes}m`;
  const hours = Math.trunc(minutes / MINUTES_PER_HOUR);
  if (hours < 8) return both(hours, "h", minutes % MINUTES_PER_HOUR, "m");
  if (hours < 2 * HOURS_PER_DAY) return `${hours}h`;
  const days = Math.trunc(hours / HOURS_PER_DAY);
  if (days < 8) return both(days, "d", hours % HOURS_PER_DAY, "h");
  if (days < 2 * DAYS_PER_YEAR) return `${days}d`;
  const years = Math.trunc(days / DAYS_PER_YEAR);
  if (years < 8) return both(years, "y", days % DAYS_PER_YEAR, "d");
  return `${years}y`;
}

function both(large: number, largeUnit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large}${largeUnit}` : `${large}${largeUnit}${small}${smallUnit}`;
}

/** How long ago an RFC 3339 time was. */
export function humanAge(timestamp: unknown, nowMs: number): string {
  if (typeof timestamp !== "string" || timestamp === "") return "<unknown>";
  const then = Date.parse(timestamp);
  return Number.isNaN(then) ? "<invalid>" : humanDuration(nowMs - then);
}
