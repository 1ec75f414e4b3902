import type { Meter } from "../meter.ts";
import { toInt } from "../numbers.ts";
import { LuaTable } from "../table.ts";
import type { LuaValue } from "../values.ts";
import type { Vm } from "../vm.ts";
import type { Arguments, Builtin } from "./arguments.ts";

/** The cost of computing a date, and of printing one part of it. */
const TIME_FUEL = 100;
const DIRECTIVE_FUEL = 60;
/** The longest output of a directive, including temporary memory. */
const DIRECTIVE_BYTES = 320;

/** Karmada allows these two. The time zone is always UTC, as in its images. */
export function osLibrary(vm: Vm): Record<string, Builtin> {
  return {
    time: (args, check) => {
      vm.meter.burn(TIME_FUEL);
      if (args.length === 0) return Math.floor(now(vm, check) / 1000);
      return timeOf(check.table(args, 1));
    },
    date: (args, check) => date(vm, args, check),
  };
}

function now(vm: Vm, check: Arguments): number {
  return vm.clock === undefined ? check.raise("the time is not available to this script") : vm.clock.now();
}

function timeOf(table: LuaTable): number {
  const field = (name: string, otherwise: number): number => {
    const value = table.getString(name);
    return typeof value === "number" ? toInt(value) : otherwise;
  };
  const moment = new Date(0);
  moment.setUTCFullYear(field("year", -1), field("month", -1) - 1, field("day", -1));
  moment.setUTCHours(field("hour", 12), field("min", 0), field("sec", 0));
  return moment.getTime() / 1000;
}

function date(vm: Vm, args: LuaValue[], check: Arguments): LuaValue {
  const { meter } = vm;
  const given = args.length === 0 ? "%c" : check.string(args, 1);
  meter.burn(TIME_FUEL + given.length);
  meter.text(given.length);
  const format = given.startsWith("!") ? given.replace(/^!+/, "") : given;
  const moment = new Date(args.length >= 2 ? check.integer(args, 2) * 1000 : now(vm, check));
  if (Number.isNaN(moment.getTime())) check.raise("time out of range");
  if (!format.startsWith("*t")) return printed(meter, moment, format);
  const table = new LuaTable(vm.meter);
  table.set("year", moment.getUTCFullYear());
  table.set("month", moment.getUTCMonth() + 1);
  table.set("day", moment.getUTCDate());
  table.set("hour", moment.getUTCHours());
  table.set("min", moment.getUTCMinutes());
  table.set("sec", moment.getUTCSeconds());
  table.set("wday", moment.getUTCDay() + 1);
  // gopher-lua supports neither of these.
  table.set("yday", 0);
  table.set("isdst", false);
  return table;
}

const MONTHS = "January February March April May June July August September October November December".split(" ");
const DAYS = "Sunday Monday Tuesday Wednesday Thursday Friday Saturday".split(" ");

/** Every directive is charged before the first one is printed: V8 finds all of them first. */
function printed(meter: Meter, moment: Date, format: string): string {
  for (let at = format.indexOf("%"); at >= 0; at = format.indexOf("%", at + 1)) {
    meter.burn(format.charAt(at + 1) === "c" ? PARTS_OF_C * DIRECTIVE_FUEL : DIRECTIVE_FUEL);
    meter.allocate(DIRECTIVE_BYTES);
  }
  return formatTime(moment, format);
}

/** %c prints this many others. */
const PARTS_OF_C = 6;

function formatTime(moment: Date, format: string): string {
  return format.replace(/%(.)/gs, (directive, letter: string) => {
    if (letter === "%") return "%";
    return DIRECTIVES[letter]?.(moment) ?? directive;
  });
}

const two = (value: number): string => String(value).padStart(2, "0");
const twelve = (moment: Date): number => moment.getUTCHours() % 12 || 12;
const month = (moment: Date): string => MONTHS[moment.getUTCMonth()] ?? "";

const DIRECTIVES: Record<string, (moment: Date) => string> = {
  // gopher-lua prints the word itself for %a.
  a: () => "mon",
  A: (moment) => DAYS[moment.getUTCDay()] ?? "",
  b: (moment) => month(moment).slice(0, 3),
  B: month,
  c: (moment) => formatTime(moment, "%d %b %y %H:%M %Z"),
  d: (moment) => two(moment.getUTCDate()),
  F: (moment) => formatTime(moment, "%Y-%m-%d"),
  H: (moment) => two(moment.getUTCHours()),
  I: (moment) => two(twelve(moment)),
  m: (moment) => two(moment.getUTCMonth() + 1),
  M: (moment) => two(moment.getUTCMinutes()),
  p: (moment) => (moment.getUTCHours() < 12 ? "AM" : "PM"),
  P: (moment) => (moment.getUTCHours() < 12 ? "am" : "pm"),
  S: (moment) => two(moment.getUTCSeconds()),
  w: (moment) => String(moment.getUTCDay()),
  x: (moment) => formatTime(moment, "%H/%M/%S"),
  X: (moment) => formatTime(moment, "%H:%M:%S"),
  y: (moment) => two(moment.getUTCFullYear() % 100),
  Y: (moment) => String(moment.getUTCFullYear()).padStart(4, "0"),
  z: () => "+0000",
  Z: () => "UTC",
};
