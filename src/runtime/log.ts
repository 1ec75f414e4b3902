export type LogLevel = "debug" | "info" | "warn" | "error";
export type LogFields = Readonly<Record<string, unknown>>;

/** The log. Messages are constant sentences; variable parts go into fields. Never pass secrets or whole objects. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
  /** A log whose every line carries these fields too. */
  with(fields: LogFields): Log;
}

/** Builds a Log over one function that takes finished entries. */
export function lineLog(
  write: (level: LogLevel, message: string, fields: LogFields) => void,
  fixed: LogFields = {},
): Log {
  const at = (level: LogLevel) => (message: string, fields?: LogFields) =>
    write(level, message, { ...fixed, ...fields });
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    with: (fields) => lineLog(write, { ...fixed, ...fields }),
  };
}

export const silentLog: Log = lineLog(() => {});
