/**
 * When steps may start: recurring windows, opened by a cron expression in a time zone. Pure: the time is an argument.
 */

export interface MaintenanceWindow {
  readonly cron: string;
  readonly durationSeconds: number;
  readonly timeZone: string;
}

export interface WindowState {
  readonly open: boolean;
  /** When `open` changes. Absent: never, as far as known. */
  readonly changesAtMs?: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
// 29 February can be eight years away (1896 to 1904, 2096 to 2104).
const HORIZON_DAYS = 8 * 366 + 1;
// Consecutive windows are merged up to this time; a later end makes no difference to a planner.
const MAX_MERGED_WINDOWS = 200;

/** No windows: always open. Throws CronError for a window that `cronProblem` or `isTimeZone` would refuse. */
export function windowState(windows: readonly MaintenanceWindow[] | undefined, nowMs: number): WindowState {
  if (windows === undefined || windows.length === 0) return { open: true };
  const openings = windows.map((window) => ({
    schedule: new Schedule(parseCron(window.cron), new Zone(window.timeZone)),
    durationMs: window.durationSeconds * 1000,
  }));
  /** The end of the latest window that has opened by `atMs`. */
  const endOf = (atMs: number) =>
    Math.max(...openings.map(({ schedule, durationMs }) => schedule.previous(atMs, durationMs) + durationMs));

  let closesAtMs = endOf(nowMs);
  if (closesAtMs <= nowMs) {
    const opensAtMs = Math.min(...openings.map(({ schedule }) => schedule.next(nowMs)));
    return Number.isFinite(opensAtMs) ? { open: false, changesAtMs: opensAtMs } : { open: false };
  }
  for (let merged = 0; merged < MAX_MERGED_WINDOWS; merged++) {
    const later = endOf(closesAtMs);
    if (later <= closesAtMs) return { open: true, changesAtMs: closesAtMs };
    closesAtMs = later;
  }
  return { open: true };
}

/** Thrown for text that is not a cron expression, or one that never matches. */
export class CronError extends Error {
  override readonly name = "CronError";
}

/** The error in the expression; undefined if it is valid. */
export function cronProblem(text: string): string | undefined {
  try {
    parseCron(text);
    return undefined;
  } catch (error) {
    if (error instanceof CronError) return error.message;
    throw error;
  }
}

export function isTimeZone(name: string): boolean {
  try {
    new Intl.DateTimeFormat("en-US", { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

interface Cron {
  readonly minutes: number[];
  readonly hours: number[];
  matchesDay(day: CalendarDay): boolean;
}

interface CalendarDay {
  readonly month: number;
  readonly dayOfMonth: number;
  readonly dayOfWeek: number;
}

const MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];
const DAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

function parseCron(text: string): Cron {
  const fields = text.trim().split(/\s+/);
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields;
  if (fields.length !== 5 || !minute || !hour || !dayOfMonth || !month || !dayOfWeek) {
    const found = text.trim() === "" ? 0 : fields.length;
    throw new CronError(`must have five fields (minute, hour, day of month, month, day of week), but has ${found}`);
  }
  const days = new Set(parseField(dayOfMonth, "day of month", 1, 31));
  const months = new Set(parseField(month, "month", 1, 12, MONTHS, 1));
  const weekdays = new Set(parseField(dayOfWeek, "day of week", 0, 7, DAYS, 0).map((day) => day % 7));
  // Cron's old rule: if both kinds of day are restricted, either one is enough.
  const either = !dayOfMonth.startsWith("*") && !dayOfWeek.startsWith("*");
  const cron: Cron = {
    minutes: parseField(minute, "minute", 0, 59),
    hours: parseField(hour, "hour", 0, 23),
    matchesDay: (day) => {
      if (!months.has(day.month)) return false;
      const byDate = days.has(day.dayOfMonth);
      const byWeekday = weekdays.has(day.dayOfWeek);
      return either ? byDate || byWeekday : byDate && byWeekday;
    },
  };
  // Any eight years contain every possible date; these contain a 29 February.
  for (let day = 0; day < HORIZON_DAYS; day++) if (cron.matchesDay(calendarDay(day * DAY_MS))) return cron;
  throw new CronError("names a day that does not exist, so the window would never open");
}

function parseField(
  text: string,
  name: string,
  min: number,
  max: number,
  words: string[] = [],
  firstWord = 0,
): number[] {
  const values = new Set<number>();
  for (const part of text.split(",")) {
    const match = /^(?:(\*)|([0-9]{1,2}|[A-Za-z]{3})(?:-([0-9]{1,2}|[A-Za-z]{3}))?)(?:\/([0-9]{1,2}))?$/.exec(part);
    if (!match) throw new CronError(`has ${JSON.stringify(part)} as ${name}, which is not a value, range or step`);
    const number = (value: string) =>
      /^\d/.test(value) ? Number(value) : words.indexOf(value.toUpperCase()) + firstWord;
    const [, star, from, to, step] = match;
    const start = star ? min : number(from ?? "");
    // `5/10` means from 5 to the end; `5` alone means 5.
    const end = star || (step && !to) ? max : number(to ?? from ?? "");
    const stride = step === undefined ? 1 : Number(step);
    if (start < min || end > max || start > end || stride < 1 || (words.length > 0 && start < firstWord)) {
      throw new CronError(`has ${JSON.stringify(part)} as ${name}, which must be from ${min} to ${max}`);
    }
    for (let value = start; value <= end; value += stride) values.add(value);
  }
  return [...values].sort((left, right) => left - right);
}

function calendarDay(utcMs: number): CalendarDay {
  const date = new Date(utcMs);
  return { month: date.getUTCMonth() + 1, dayOfMonth: date.getUTCDate(), dayOfWeek: date.getUTCDay() };
}

/** The instants of a cron expression in a time zone. */
class Schedule {
  readonly #cron: Cron;
  readonly #zone: Zone;

  constructor(cron: Cron, zone: Zone) {
    this.#cron = cron;
    this.#zone = zone;
  }

  /** The latest instant at or before `atMs`, searched back as far as `withinMs`; -Infinity if there is none. */
  previous(atMs: number, withinMs: number): number {
    const today = this.#localDay(atMs);
    // One more day at each end: local midnight is up to a day away from UTC's, and clocks are set back.
    const days = Math.ceil(withinMs / DAY_MS) + 2;
    for (let back = -1; back <= days; back++) {
      const found = this.#instantsOf(today - back * DAY_MS).filter((instant) => instant <= atMs);
      if (found.length > 0) return Math.max(...found);
    }
    return Number.NEGATIVE_INFINITY;
  }

  /** The first instant after `atMs`; Infinity if there is none in range. */
  next(atMs: number): number {
    const today = this.#localDay(atMs);
    for (let ahead = -1; ahead <= HORIZON_DAYS; ahead++) {
      const found = this.#instantsOf(today + ahead * DAY_MS).filter((instant) => instant > atMs);
      if (found.length > 0) return Math.min(...found);
    }
    return Number.POSITIVE_INFINITY;
  }

  #localDay(atMs: number): number {
    return Math.floor((atMs + this.#zone.offsetMs(atMs)) / DAY_MS) * DAY_MS;
  }

  /** `day` is the local day's midnight, written as if it were UTC. */
  #instantsOf(day: number): number[] {
    if (!this.#cron.matchesDay(calendarDay(day))) return [];
    // A schedule for every hour follows the wall clock: it skips the hour that clocks skip, and matches twice in the
    // hour that clocks repeat. A schedule for certain hours matches exactly once a day.
    const isEveryHour = this.#cron.hours.length === 24;
    return this.#cron.hours.flatMap((hour) =>
      this.#cron.minutes.flatMap((minute) => {
        const local = day + (hour * 60 + minute) * MINUTE_MS;
        const instants = this.#zone.instantsOf(local);
        if (isEveryHour) return instants;
        return instants.slice(0, 1).concat(instants.length === 0 ? [this.#zone.afterGap(local)] : []);
      }),
    );
  }
}

// In the zones that Intl knows exactly, clocks have only ever changed at full quarters of an hour.
const OFFSET_GRAIN_MS = 15 * MINUTE_MS;

class Zone {
  readonly #format: Intl.DateTimeFormat;
  readonly #offsets = new Map<number, number>();

  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  /** Local time minus UTC. */
  offsetMs(instantMs: number): number {
    const grain = Math.floor(instantMs / OFFSET_GRAIN_MS);
    const known = this.#offsets.get(grain);
    if (known !== undefined) return known;
    const at = grain * OFFSET_GRAIN_MS;
    const parts = new Map(this.#format.formatToParts(at).map((part) => [part.type, Number(part.value)]));
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0;
    const local = Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"));
    this.#offsets.set(grain, local - at);
    return local - at;
  }

  /** The instants at which clocks show this local time: one; none if clocks skip it; two if they repeat it. */
  instantsOf(local: number): number[] {
    const offsets = new Set([this.offsetMs(local - DAY_MS), this.offsetMs(local + DAY_MS)]);
    return [...offsets]
      .map((offset) => local - offset)
      .filter((instant) => instant + this.offsetMs(instant) === local)
      .sort((left, right) => left - right);
  }

  /** The instant for a local time that clocks skip, as if they had not been set forward yet. */
  afterGap(local: number): number {
    return local - this.offsetMs(local - DAY_MS);
  }
}
