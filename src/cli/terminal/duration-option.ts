import { CommandError } from "../errors.ts";

const DURATION = /^(\d+(?:\.\d+)?)(ms|s|m|h)?$/;
const UNIT_MS: Record<string, number> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** Milliseconds of a duration as users write it; seconds if there is no unit. */
export function durationOption(option: string, text: string): number {
  const [, number, unit = "s"] = DURATION.exec(text) ?? [];
  if (number === undefined) {
    throw new CommandError(`${option} '${text}' is not a duration; give one such as 10s, 500ms or 1m`);
  }
  return Number(number) * (UNIT_MS[unit] ?? 1);
}
