/** Compares a result with the expectation of a test file, by Karmada's rules. */
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { Quantity } from "../lua/quantity.ts";
import { parseComponents, parseDependencies, parseRequirements } from "../results.ts";
import { yamlDiff } from "./diff.ts";

/** As the expected value: the field may be anything, or absent. */
const EXCLUDE = "{{EXCLUDE}}";

/**
 * The differences, as a diff from expected to found; empty if there are none. Throws BadAnswer for an expectation of
 * the wrong type.
 */
export function differences(name: string, expected: Json, found: Json): string[] {
  const [wanted, got] = [normalized(name, expected), normalized(name, found)];
  const excluded = new Set<string>();
  const cleaned = withoutMarked(wanted, [], excluded);
  return yamlDiff(cleaned, withoutPaths(got, [], excluded));
}

/** Unordered lists are sorted; quantities are compared by their amount; empty values count as absent. */
function normalized(name: string, value: Json): Json {
  switch (name) {
    case "requires":
      return value === null ? null : requirements(value);
    case "dependencies":
      return toJson(parseDependencies(value, name));
    case "components": {
      const components = parseComponents(value, name).map(({ replicaRequirements, ...component }) => ({
        ...component,
        ...(replicaRequirements !== undefined && { replicaRequirements: requirements(toJson(replicaRequirements)) }),
      }));
      return toJson(components.sort((a, b) => (a.name < b.name ? -1 : 1)));
    }
    default:
      return value;
  }
}

function requirements(value: Json): Json {
  const { resourceRequest, ...others } = parseRequirements(value, "requires") ?? {};
  if (resourceRequest === undefined) return toJson(others);
  const amounts = Object.entries(resourceRequest).map(([name, quantity]) => [
    name,
    `${Quantity.parse(quantity).roundUp(-9)}n`,
  ]);
  return toJson({ ...others, resourceRequest: Object.fromEntries(amounts) });
}

function toJson(value: object): Json {
  return JSON.parse(JSON.stringify(value));
}

function withoutMarked(value: Json, path: readonly string[], excluded: Set<string>): Json {
  if (Array.isArray(value)) return value.map((item, index) => withoutMarked(item, [...path, String(index)], excluded));
  if (!isJsonObject(value)) return value;
  const kept: JsonObject = {};
  for (const [key, child] of Object.entries(value)) {
    if (child === EXCLUDE) excluded.add([...path, key].join("\0"));
    else if (child !== undefined) kept[key] = withoutMarked(child, [...path, key], excluded);
  }
  return kept;
}

function withoutPaths(value: Json, path: readonly string[], excluded: ReadonlySet<string>): Json {
  if (excluded.size === 0) return value;
  if (Array.isArray(value)) return value.map((item, index) => withoutPaths(item, [...path, String(index)], excluded));
  if (!isJsonObject(value)) return value;
  const kept: JsonObject = {};
  for (const [key, child] of Object.entries(value)) {
    const at = [...path, key];
    if (child !== undefined && !excluded.has(at.join("\0"))) kept[key] = withoutPaths(child, at, excluded);
  }
  return kept;
}
