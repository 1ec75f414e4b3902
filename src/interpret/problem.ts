/** What is wrong with a configuration object of the user's, said on that object. */
export interface Problem {
  /** An error keeps this version of the object, or a part of it, out of force; a warning does not. */
  severity: "error" | "warning";
  /** The field, such as `spec.customizations.healthInterpretation.luaScript`. */
  field: string;
  /** Line inside the field's text, from 1, where that is a script. */
  line?: number;
  /** What is wrong and what to do about it. */
  reason: string;
}

export interface ObjectReport {
  kind: string;
  name: string;
  /** The generation of the object that was read, where it has one. */
  generation?: number;
  problems: Problem[];
  /** `old`: the last version without errors is in force. `part`: there was none, and what can be used is. */
  inForce: "this" | "old" | "part";
}

export function hasErrors(problems: readonly Problem[]): boolean {
  return problems.some(({ severity }) => severity === "error");
}
