export type WebhookFailureCode =
  | "NotCallable"
  | "Overloaded"
  | "Unreachable"
  | "Timeout"
  | "Redirect"
  | "BadStatus"
  | "TooLarge"
  | "Malformed"
  | "WrongKind"
  | "WrongUid"
  | "Unsuccessful"
  | "BadPatch"
  | "BadAnswer";

/** Thrown when a webhook did not answer, or its answer is invalid. Its failure policy then applies. */
export class WebhookFailure extends Error {
  override readonly name = "WebhookFailure";
  readonly code: WebhookFailureCode;

  constructor(code: WebhookFailureCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options);
    this.code = code;
  }
}
