/**
 * The string formats that Kubernetes checks in custom resources, as far as they are used there. A format that is not in
 * the list is not checked, as in Kubernetes. None of these patterns can backtrack.
 */
const STRING_FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  datetime: isDateTime,
  date: isDate,
  duration: isDuration,
  ipv4: isIPv4,
  ipv6: isIPv6,
  cidr: isCIDR,
  mac: (text) => /^(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}$/i.test(text),
  uri: isURI,
  hostname: (text) =>
    text.length <= 255 && text.split(".").every((label) => /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i.test(label)),
  email: (text) => /^[^\s@<>]+@[^\s@<>]+$/.test(text),
  uuid: (text) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(text),
  byte: isBase64,
};

/** Undefined if Kubernetes does not check this format. */
export function stringFormat(name: string): ((text: string) => boolean) | undefined {
  const key = name.replaceAll("-", "");
  return Object.hasOwn(STRING_FORMATS, key) ? STRING_FORMATS[key] : undefined;
}

function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (!match) return false;
  const [year, month, day] = match.slice(1).map(Number);
  if (year === undefined || month === undefined || day === undefined) return false;
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  return date.getUTCFullYear() === year && date.getUTCMonth() === month - 1 && date.getUTCDate() === day;
}

function isDateTime(text: string): boolean {
  const match = /^(.{10})[Tt](\d{2}):(\d{2}):(\d{2})(?:\.\d+)?(?:[Zz]|[+-](\d{2}):(\d{2}))$/.exec(text);
  if (!match?.[1] || !isDate(match[1])) return false;
  const [hour, minute, second, offsetHour, offsetMinute] = match.slice(2).map((part) => Number(part ?? 0));
  return (
    (hour ?? 24) < 24 &&
    (minute ?? 60) < 60 &&
    (second ?? 60) < 60 &&
    (offsetHour ?? 24) < 24 &&
    (offsetMinute ?? 60) < 60
  );
}

/** Go's format ("1h30m"), or a number and a unit in words ("22 ns", "3 weeks"). */
function isDuration(text: string): boolean {
  if (
    /^[+-]?(?:0|(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h)(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|us|µs|μs|ms|s|m|h))*)$/.test(
      text,
    )
  ) {
    return true;
  }
  const units =
    /^(?:ns|nano[a-z]*|us|µs|micro[a-z]*|ms|milli[a-z]*|s|sec[a-z]*|m|min[a-z]*|h|hr|hour[a-z]*|d|day[a-z]*|w|wk|week[a-z]*)$/i;
  const match = /^(\d+)\s*([A-Za-zµ]+)$/.exec(text);
  return match?.[2] !== undefined && units.test(match[2]);
}

function isIPv4(text: string): boolean {
  const parts = text.split(".");
  // Leading zeros are accepted, as Kubernetes still does because of old objects.
  return parts.length === 4 && parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) <= 255);
}

// Long enough for an IPv6 address with an embedded IPv4 address.
const LONGEST_IP_CHARS = 45;

function isIPv6(text: string): boolean {
  if (text.length > LONGEST_IP_CHARS || !text.includes(":")) return false;
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const groups = halves.map((half) => (half === "" ? [] : half.split(":")));
  const last = groups.at(-1);
  const embedded = last?.at(-1);
  let count = groups.reduce((sum, half) => sum + half.length, 0);
  if (embedded?.includes(".")) {
    if (!isIPv4(embedded)) return false;
    last?.pop();
    count += 1;
  }
  const validGroups = groups.flat().every((group) => /^[0-9a-f]{1,4}$/i.test(group));
  return validGroups && (halves.length === 2 ? count < 8 : count === 8);
}

function isCIDR(text: string): boolean {
  const match = /^([^/]{2,45})\/(0|[1-9]\d{0,2})$/.exec(text);
  if (!match?.[1]) return false;
  const bits = Number(match[2]);
  return (isIPv4(match[1]) && bits <= 32) || (isIPv6(match[1]) && bits <= 128);
}

/** As in Go's ParseRequestURI: an absolute URI or an absolute path. */
function isURI(text: string): boolean {
  if (text.startsWith("/")) return !/[\s\p{Cc}]/u.test(text);
  return /^[a-z][a-z0-9+.-]*:/i.test(text) && URL.canParse(text);
}

function isBase64(text: string): boolean {
  return text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text);
}
