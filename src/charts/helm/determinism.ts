/** Compares two renders of the same inputs. Pure. */
import { isJsonObject, type Json, sameJson } from "../../runtime/index.ts";
import { identityOf, titleOf } from "../read/objects.ts";
import type { RenderedObject } from "../types.ts";

export interface Difference {
  readonly object: string;
  readonly template: string | undefined;
  /** `spec.template.metadata.annotations[checksum/config]`, or the name. */
  readonly field: string;
  /**
   * Harmless: only a Secret's content, which is rendered once and kept. Restart: the next render would restart pods or
   * make another object. Other: kept as well, but a later change of the chart's inputs changes it, too.
   */
  readonly effect: "Harmless" | "Restart" | "Other";
}

export function differencesBetween(
  one: readonly RenderedObject[],
  other: readonly RenderedObject[],
  namespace: string,
): Difference[] {
  const found: Difference[] = [];
  const second = new Map(other.map((rendered) => [identityOf(rendered.object, namespace), rendered]));
  for (const rendered of one) {
    const { object, template } = rendered;
    const match = second.get(identityOf(object, namespace));
    const base = { object: titleOf(object), template };
    if (!match) {
      found.push({ ...base, field: "metadata.name", effect: "Restart" });
      continue;
    }
    const field = firstDifference(object, match.object, "");
    if (field === undefined) continue;
    const inTemplate = podTemplatesOf(object.kind).find((path) => !sameAt(object, match.object, path));
    if (inTemplate) {
      found.push({
        ...base,
        field: firstDifference(at(object, inTemplate), at(match.object, inTemplate), inTemplate.join(".")) ?? field,
        effect: "Restart",
      });
    } else
      found.push({
        ...base,
        field,
        effect: object.kind === "Secret" && isSecretContent(object, match.object) ? "Harmless" : "Other",
      });
  }
  return found;
}

const POD_TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  Pod: ["spec"],
  CronJob: ["spec", "jobTemplate", "spec", "template"],
};
const WITH_TEMPLATE = new Set(["DaemonSet", "Deployment", "Job", "ReplicaSet", "ReplicationController", "StatefulSet"]);

function podTemplatesOf(kind: string): (readonly string[])[] {
  const path = POD_TEMPLATES[kind] ?? (WITH_TEMPLATE.has(kind) ? ["spec", "template"] : undefined);
  return path ? [path] : [];
}

function at(value: Json | undefined, path: readonly string[]): Json | undefined {
  return path.reduce<Json | undefined>((found, key) => (isJsonObject(found) ? found[key] : undefined), value);
}

function sameAt(one: Json, other: Json, path: readonly string[]): boolean {
  return sameJson(at(one, path), at(other, path));
}

function isSecretContent(one: Json, other: Json): boolean {
  if (!isJsonObject(one) || !isJsonObject(other)) return false;
  const { data: _data, stringData: _stringData, ...rest } = one;
  const { data: _otherData, stringData: _otherStringData, ...otherRest } = other;
  return sameJson(rest, otherRest);
}

function firstDifference(one: Json | undefined, other: Json | undefined, path: string): string | undefined {
  if (sameJson(one, other)) return undefined;
  if (Array.isArray(one) && Array.isArray(other) && one.length === other.length) {
    for (const [index, item] of one.entries()) {
      const found = firstDifference(item, other[index], `${path}[${index}]`);
      if (found !== undefined) return found;
    }
  }
  if (isJsonObject(one) && isJsonObject(other)) {
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      const found = firstDifference(one[key], other[key], within(path, key));
      if (found !== undefined) return found;
    }
  }
  return path;
}

function within(path: string, key: string): string {
  if (!/^\w+$/.test(key)) return `${path}[${key}]`;
  return path === "" ? key : `${path}.${key}`;
}
