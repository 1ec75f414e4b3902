/** Times and names for people. Pure. */

/** Such as 45 s, 12 min, 3 h 20 min, 5 d. */
export function duration(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 90) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return minutes < 10 && seconds % 60 > 0 ? `${minutes} min ${seconds % 60} s` : `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 === 0 ? `${hours} h` : `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d`;
}

/** Of something that is over. */
export function took(ms: number): string {
  return ms < 1_000 ? "less than 1 s" : duration(ms);
}

export function ago(time: string | undefined, now: number): string {
  const ms = Date.parse(time ?? "");
  return Number.isFinite(ms) ? duration(now - ms) : "";
}

export function clockTime(ms: number): string {
  return new Date(ms).toLocaleTimeString("en-GB");
}

export function dateTime(time: string | undefined): string {
  const ms = Date.parse(time ?? "");
  if (!Number.isFinite(ms)) return "";
  return new Date(ms).toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
}

/** The part of a revision's name that tells it from others. */
export function short(revision: string | undefined): string {
  if (revision === undefined) return "none";
  return revision.slice(revision.lastIndexOf("-") + 1).slice(-10);
}

/** WaitingForReady becomes Waiting for ready. */
export function words(code: string): string {
  const spaced = code.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
  return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

/** Names of clusters differ most at their ends: the middle is left out. */
export function fitted(name: string, letters: number): string {
  if (name.length <= letters) return name;
  const half = Math.max(1, Math.floor((letters - 1) / 2));
  return `${name.slice(0, half)}…${name.slice(-half)}`;
}

export function count(number: number, one: string, many = `${one}s`): string {
  return `${number} ${number === 1 ? one : many}`;
}

export type Tone = "good" | "busy" | "bad" | "calm";

export function toneOf(phase: string): Tone {
  switch (phase) {
    case "Settled":
    case "Healthy":
    case "Ready":
    case "Open":
    case "Complete":
    case "Succeeded":
      return "good";
    case "Halted":
    case "Invalid":
    case "Lost":
    case "Unhealthy":
    case "NotReady":
    case "Failed":
      return "bad";
    case "Pending":
    case "Unknown":
    case "Suspended":
    case "Moved":
    case "Unused":
      return "calm";
    default:
      return "busy";
  }
}
