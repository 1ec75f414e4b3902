/** All customizations together: which script reads which kind, and what is wrong with each object. */
import type { JsonObject } from "../runtime/index.ts";
import {
  CUSTOMIZATION_KIND,
  type Customization,
  type CustomizationScript,
  parseCustomization,
} from "./customization.ts";
import { integerAt, valueAt } from "./fields.ts";
import type { Operation } from "./operations.ts";
import { hasErrors, type ObjectReport, type Problem } from "./problem.ts";

interface Held {
  /** resourceVersion of the object that was parsed, to parse each version once. */
  read: string | undefined;
  customization: Customization | undefined;
  /** The last version without errors, while it is in force instead of the newest. */
  report: ObjectReport;
}

export class Customizations {
  #held = new Map<string, Held>();
  #byTarget = new Map<string, Map<Operation, CustomizationScript[]>>();

  /** Takes the whole list as it is now. Customizations that are gone are out of force. */
  set(objects: readonly JsonObject[]): void {
    const held = new Map<string, Held>();
    for (const object of objects) {
      const name = String(valueAt(object, "metadata", "name") ?? "");
      held.set(name, this.#read(name, object, this.#held.get(name)));
    }
    this.#held = held;
    this.#merge();
  }

  #read(name: string, object: JsonObject, before: Held | undefined): Held {
    const version = valueAt(object, "metadata", "resourceVersion");
    const read = typeof version === "string" ? version : undefined;
    if (before !== undefined && read !== undefined && before.read === read) {
      return { ...before, report: { ...before.report, problems: before.report.problems.filter(isError) } };
    }
    const { customization, problems } = parseCustomization(object);
    const generation = integerOrUndefined(object);
    const report = { kind: CUSTOMIZATION_KIND, name, ...(generation !== undefined && { generation }), problems };
    if (!hasErrors(problems)) return { read, customization, report: { ...report, inForce: "this" } };
    const hasOld = before?.customization !== undefined && before.report.inForce !== "part";
    return hasOld
      ? { read, customization: before.customization, report: { ...report, inForce: "old" } }
      : { read, customization, report: { ...report, inForce: "part" } };
  }

  /**
   * Karmada's rule for several customizations of one kind: by ascending name, the first that has a script for an
   * operation wins; dependencies are those of all.
   */
  #merge(): void {
    this.#byTarget = new Map();
    const byName = [...this.#held].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    for (const [, { customization, report }] of byName) {
      if (customization === undefined) continue;
      const scripts = this.#byTarget.get(customization.target) ?? new Map<Operation, CustomizationScript[]>();
      this.#byTarget.set(customization.target, scripts);
      for (const [operation, script] of customization.scripts) {
        const [first, ...others] = scripts.get(operation) ?? [];
        if (first === undefined) scripts.set(operation, [script]);
        else if (operation === "InterpretDependency") scripts.set(operation, [first, ...others, script]);
        else report.problems.push(overshadowed(operation, first.source, customization.target));
      }
    }
  }

  /** The scripts in force, at most one except for dependencies. */
  scripts(target: string, operation: Operation): readonly CustomizationScript[] {
    return this.#byTarget.get(target)?.get(operation) ?? [];
  }

  reports(): ObjectReport[] {
    return [...this.#held.values()].map(({ report }) => report);
  }
}

function overshadowed(operation: Operation, by: string, target: string): Problem {
  return {
    severity: "warning",
    field: "spec.customizations",
    reason: `${operation} of ${target} is not used: customization ${by} has it too and its name sorts first; remove one`,
  };
}

function isError({ severity }: Problem): boolean {
  return severity === "error";
}

function integerOrUndefined(object: JsonObject): number | undefined {
  try {
    return integerAt(object, "metadata", "generation");
  } catch {
    return undefined;
  }
}
