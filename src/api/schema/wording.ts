import type { Json } from "../../runtime/index.ts";
import type { FieldError } from "./types.ts";

// Enough to recognise the value; an error must not repeat megabytes of a body.
const LONGEST_SHOWN_VALUE_CHARS = 1_000;

/** How Kubernetes names the object as a whole. */
export const NO_PATH = "<nil>";

/** Kubernetes' phrases for field errors, in one place. `path` is "" for the object itself. */
export const wording = {
  required: (path: string, detail = ""): FieldError => build("Required", path, "Required value", detail),
  invalid: (path: string, value: Json, detail: string): FieldError =>
    build("Invalid", path, `Invalid value: ${show(value)}`, detail),
  /** For objects and lists, whose value would fill the screen. */
  invalidWhole: (path: string, detail: string): FieldError => build("Invalid", path, "Invalid value", detail),
  wrongType: (path: string, value: Json, detail: string): FieldError =>
    build("TypeInvalid", path, `Invalid value: ${show(value)}`, detail),
  notSupported: (path: string, value: Json, options: readonly Json[]): FieldError => {
    const supported = options.map((option) => JSON.stringify(typeof option === "string" ? option : show(option)));
    return build(
      "NotSupported",
      path,
      `Unsupported value: ${show(value)}`,
      supported.length > 0 ? `supported values: ${supported.join(", ")}` : "",
    );
  },
  tooLong: (path: string, max: number): FieldError =>
    build("TooLong", path, "Too long", `may not be more than ${max} ${max === 1 ? "byte" : "bytes"}`),
  tooMany: (path: string, actual: number, max: number): FieldError =>
    build("TooMany", path, `Too many: ${actual}`, `must have at most ${max} ${max === 1 ? "item" : "items"}`),
  forbidden: (path: string, detail: string): FieldError => build("Forbidden", path, "Forbidden", detail),
  duplicate: (path: string, value: Json): FieldError => build("Duplicate", path, `Duplicate value: ${show(value)}`, ""),
  duplicateWhole: (path: string): FieldError => build("Duplicate", path, "Duplicate value", ""),
};

function build(kind: FieldError["kind"], path: string, headline: string, detail: string): FieldError {
  return { kind, path: path || NO_PATH, message: detail === "" ? headline : `${headline}: ${detail}` };
}

function show(value: Json): string {
  const text = JSON.stringify(value);
  return text.length <= LONGEST_SHOWN_VALUE_CHARS ? text : `${text.slice(0, LONGEST_SHOWN_VALUE_CHARS)}...`;
}
