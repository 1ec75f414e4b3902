import { type Clock, type Log, type LogFields, type LogLevel, lineLog } from "../../runtime/index.ts";

const LEVELS: readonly LogLevel[] = ["debug", "info", "warn", "error"];
/** A longer text is cut: log stores refuse or split longer lines. */
const TEXT_CHARS = 4_096;
/** Keys whose values may never reach a log. */
const SECRET_KEY = /token|secret|password|authorization|credential|kubeconfig/i;

export function isLogLevel(text: string): text is LogLevel {
  return LEVELS.some((level) => level === text);
}

/** One JSON object per line: time, level, message, then the fields. */
export function jsonLog(write: (line: string) => void, clock: Clock, least: LogLevel): Log {
  const enabled = new Set(LEVELS.slice(LEVELS.indexOf(least)));
  return lineLog((level, message, fields) => {
    if (!enabled.has(level)) return;
    const time = new Date(clock.now()).toISOString();
    write(`${JSON.stringify({ time, level, message, ...readable(fields) })}\n`);
  });
}

function readable(fields: LogFields): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(fields)) {
    if (key === "time" || key === "level" || key === "message") continue;
    result[key] = SECRET_KEY.test(key) ? "<hidden>" : plain(value);
  }
  return result;
}

function plain(value: unknown): unknown {
  if (value instanceof Error) return cut(value.message);
  if (typeof value === "string") return cut(value);
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (value === undefined) return undefined;
  // Fields should be small; anything larger is cut.
  return cut(JSON.stringify(value) ?? String(value));
}

function cut(text: string): string {
  return text.length <= TEXT_CHARS ? text : `${text.slice(0, TEXT_CHARS - 3)}...`;
}
