/** Thrown for errors that a user can correct: the message names the object, the field and the remedy. */
export class CommandError extends Error {
  override readonly name = "CommandError";
  readonly exitCode: number;

  constructor(message: string, options: { exitCode?: number; cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.exitCode = options.exitCode ?? 1;
  }
}

const CONNECTION_NAMES = new Set(["UnreachableError", "RequestTimeoutError"]);

const SERVER_TROUBLE_NAMES = new Set(["ServerError", "TooManyRequestsError"]);

/** The server does not answer, or cannot at the moment: a retry may help. By name, as below. */
export function isTransient(error: unknown): boolean {
  return error instanceof Error && (CONNECTION_NAMES.has(error.name) || SERVER_TROUBLE_NAMES.has(error.name));
}

/** One line for a user. By name rather than by class: the classes would have to be loaded for every `--help`. */
export function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (CONNECTION_NAMES.has(error.name)) {
    return `the API server could not be reached: ${rootOf(error).message}. Check --kubeconfig and --context (is 'lockstep up' still running?), or raise --request-timeout`;
  }
  switch (error.name) {
    case "ForbiddenError":
      return `${error.message}. Request that right, or use another --context`;
    case "UnauthorizedError":
      return `${error.message}. The credentials of this context are not accepted; renew them, or use another --context`;
    case "UnknownKindError":
      return `${error.message}. Is this the hub (--context), and has 'lockstep install --apply' been run there?`;
    default:
      return error.message;
  }
}

/** The root cause; the errors around it repeat what was being done. */
function rootOf(error: Error): Error {
  return error.cause instanceof Error && error.cause.message !== "" ? rootOf(error.cause) : error;
}
