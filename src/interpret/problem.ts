/** An error in a user's configuration object, reported on that object. */
export interface Problem {
  /** An error keeps this version of the object, or a part of it, out of force; a warning does not. */
  readonly severity: "error" | "warning";
  /** The field, such as `spec.customizations.healthInterpretation.luaScript`. */
  readonly field: string;
  /** The line inside the field's text, from 1, if that is a script. */
  readonly line?: number;
  /** The error and the remedy. */
  readonly reason: string;
}

export interface ObjectReport {
  readonly kind: string;
  readonly name: string;
  /** The generation of the object, if it has one. */
  readonly generation?: number;
  readonly problems: Problem[];
  /** `old`: the last version without errors is in force. `part`: there was none, and the usable parts are in force. */
  readonly inForce: "this" | "old" | "part";
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}
