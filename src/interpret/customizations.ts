/** All customizations together: which script reads which kind, and the errors of each object. */
import type { JsonObject } from "../runtime/index.ts";
import {
  CUSTOMIZATION_KIND,
  type Customization,
  type CustomizationScript,
  parseCustomization,
} from "./customization.ts";
import { kindKey, presentAt } from "./fields.ts";
import type { Operation } from "./operations.ts";
import { hasErrors, type ObjectReport, type Problem } from "./problem.ts";

interface Held {
  /** resourceVersion of the object that was parsed, to parse each version once. */
  readonly read: string | undefined;
  /** The version in force. */
  readonly customization: Customization | undefined;
  /** The errors of the newest version alone. */
  readonly report: ObjectReport;
}

export class Customizations {
  #held = new Map<string, Held>();
  #reports: ObjectReport[] = [];
  #byTarget = new Map<string, Map<Operation, CustomizationScript[]>>();

  /** Sets the current list. Customizations that are not in it are no longer in force. */
  set(objects: readonly JsonObject[]): void {
    const held = new Map<string, Held>();
    for (const object of objects) {
      const name = String(presentAt(object, "metadata", "name") ?? "");
      held.set(name, readNewest(name, object, this.#held.get(name)));
    }
    this.#held = held;
    this.#merge();
  }

  /**
   * Karmada's rule for several customizations of one kind: by ascending name, the first one with a script for an
   * operation is used; dependencies are collected from all.
   */
  #merge(): void {
    this.#byTarget = new Map();
    this.#reports = [];
    const byName = [...this.#held].sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
    for (const [, { customization, report }] of byName) {
      const shadowed = customization === undefined ? [] : this.#add(customization);
      this.#reports.push({ ...report, problems: [...report.problems, ...shadowed] });
    }
  }

  /** Returns the parts that are not used because another customization has them. */
  #add({ target, scripts }: Customization): Problem[] {
    const inForce = this.#byTarget.get(target) ?? new Map<Operation, CustomizationScript[]>();
    this.#byTarget.set(target, inForce);
    return [...scripts].flatMap(([operation, script]): Problem[] => {
      const earlier = inForce.get(operation) ?? [];
      const [first] = earlier;
      if (first !== undefined && operation !== "InterpretDependency")
        return [shadowed(operation, first.source, target)];
      inForce.set(operation, [...earlier, script]);
      return [];
    });
  }

  /** The scripts in force, at most one except for dependencies. */
  scripts(target: string, operation: Operation): readonly CustomizationScript[] {
    return this.#byTarget.get(target)?.get(operation) ?? [];
  }

  /** One for every object, by name. */
  reports(): readonly ObjectReport[] {
    return this.#reports;
  }
}

/**
 * Bundled customizations, each compiled when an object of its kind is first read: a hub has few of these kinds, often
 * none.
 */
export class BundledCustomizations {
  readonly #objects = new Map<string, JsonObject[]>();
  readonly #read = new Map<string, Customizations>();

  constructor(objects: readonly JsonObject[]) {
    for (const object of objects) {
      const apiVersion = presentAt(object, "spec", "target", "apiVersion");
      const target = kindKey(String(apiVersion), String(presentAt(object, "spec", "target", "kind")));
      this.#objects.set(target, [...(this.#objects.get(target) ?? []), object]);
    }
  }

  scripts(target: string, operation: Operation): readonly CustomizationScript[] {
    const objects = this.#objects.get(target);
    if (objects === undefined) return [];
    const known = this.#read.get(target) ?? new Customizations();
    if (!this.#read.has(target)) {
      known.set(objects);
      this.#read.set(target, known);
    }
    return known.scripts(target, operation);
  }
}

/**
 * The newest version if it has no errors, otherwise the last one without errors, otherwise the usable parts of the
 * newest.
 */
function readNewest(name: string, object: JsonObject, before: Held | undefined): Held {
  const version = presentAt(object, "metadata", "resourceVersion");
  const read = typeof version === "string" ? version : undefined;
  if (before !== undefined && read !== undefined && before.read === read) return before;
  const { customization, problems } = parseCustomization(object);
  const generation = presentAt(object, "metadata", "generation");
  const report = { kind: CUSTOMIZATION_KIND, name, ...(typeof generation === "number" && { generation }), problems };
  if (!hasErrors(problems)) return { read, customization, report: { ...report, inForce: "this" } };
  if (before?.customization !== undefined && before.report.inForce !== "part") {
    return { read, customization: before.customization, report: { ...report, inForce: "old" } };
  }
  return { read, customization, report: { ...report, inForce: "part" } };
}

function shadowed(operation: Operation, by: string, target: string): Problem {
  return {
    severity: "warning",
    field: "spec.customizations",
    reason: `${operation} of ${target} is not used: customization ${by} also has it, and its name sorts first; remove one`,
  };
}
