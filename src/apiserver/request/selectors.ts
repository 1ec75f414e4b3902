import type { KubeObject, ResourceDefinition } from "../types.ts";
import { badRequest } from "./status.ts";

export type Matcher = (object: KubeObject) => boolean;

/** Longer selectors, or more requirements, are refused: matching runs once for every object of a list. */
const SELECTOR_CHARACTERS = 16 * 1024;
const SELECTOR_REQUIREMENTS = 256;

const KEY = /^([A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9])?)$/;
const VALUE = /^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$/;
const SET_REQUIREMENT = /^(\S+)\s+(in|notin)\s*\(([^()]*)\)$/;
const COMPARISON = /^([^=!<>\s]+)\s*(==|!=|=|>|<)\s*(\S*)$/;

/** Undefined if every object matches. */
export function labelMatcher(selector: string): Matcher | undefined {
  if (selector.trim() === "") return undefined;
  const requirements = split(selector).map(labelRequirement);
  return (object) => {
    const labels = object.metadata.labels;
    return requirements.every(({ key, test }) =>
      test(labels !== undefined && Object.hasOwn(labels, key) ? labels[key] : undefined),
    );
  };
}

interface LabelRequirement {
  readonly key: string;
  readonly test: (value: string | undefined) => boolean;
}

function labelRequirement(text: string): LabelRequirement {
  const set = SET_REQUIREMENT.exec(text);
  if (set) {
    const key = labelKey(set[1] ?? "", text);
    const values = new Set((set[3] ?? "").split(",").map((value) => labelValue(value.trim(), text)));
    const wanted = set[2] === "in";
    return { key, test: (value) => (value === undefined ? !wanted : values.has(value) === wanted) };
  }
  const comparison = COMPARISON.exec(text);
  if (comparison) {
    const [, rawKey = "", operator, rawValue = ""] = comparison;
    const key = labelKey(rawKey, text);
    if (operator === ">" || operator === "<") {
      if (!/^-?\d+$/.test(rawValue)) throw unparsable(text, "for 'Gt', 'Lt' operators, the value must be an integer");
      const bound = Number(rawValue);
      const within = (number: number) => (operator === ">" ? number > bound : number < bound);
      return { key, test: (value) => value !== undefined && /^-?\d+$/.test(value) && within(Number(value)) };
    }
    const expected = labelValue(rawValue, text);
    return { key, test: operator === "!=" ? (value) => value !== expected : (value) => value === expected };
  }
  if (text.startsWith("!")) return { key: labelKey(text.slice(1).trim(), text), test: (value) => value === undefined };
  return { key: labelKey(text, text), test: (value) => value !== undefined };
}

/** Splits at commas outside parentheses. */
function split(selector: string): string[] {
  if (selector.length > SELECTOR_CHARACTERS) {
    throw badRequest(
      `unable to parse requirement: a selector may not be longer than ${SELECTOR_CHARACTERS} characters`,
    );
  }
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < selector.length; index++) {
    const character = selector[index];
    if (character === "(") depth += 1;
    else if (character === ")") depth -= 1;
    else if (character === "," && depth === 0) {
      parts.push(selector.slice(start, index));
      start = index + 1;
    }
  }
  parts.push(selector.slice(start));
  if (parts.length > SELECTOR_REQUIREMENTS) {
    throw badRequest(
      `unable to parse requirement: a selector may not have more than ${SELECTOR_REQUIREMENTS} requirements`,
    );
  }
  return parts.map((part) => part.trim());
}

function labelKey(key: string, whole: string): string {
  if (!KEY.test(key)) throw unparsable(whole, `<nil>: Invalid value: ${JSON.stringify(key)}: not a label key`);
  return key;
}

function labelValue(value: string, whole: string): string {
  if (value.length > 63 || !VALUE.test(value)) {
    throw unparsable(whole, `<nil>: Invalid value: ${JSON.stringify(value)}: not a label value`);
  }
  return value;
}

function unparsable(requirement: string, why: string): Error {
  return badRequest(`unable to parse requirement ${JSON.stringify(requirement)}: ${why}`);
}

/** Undefined if every object matches. */
export function fieldMatcher(selector: string, definition: ResourceDefinition): Matcher | undefined {
  if (selector.trim() === "") return undefined;
  const tests = split(selector).map((text) => {
    const match = /^([^=!]+)(==|!=|=)(.*)$/.exec(text);
    if (!match) throw badRequest(`invalid selector: '${text}'; can't understand '${text}'`);
    const [, field = "", operator, escaped = ""] = match;
    const read = fieldReader(field, definition);
    const expected = escaped.replace(/\\([\\,=])/g, "$1");
    return (object: KubeObject) => (read(object) === expected) === (operator !== "!=");
  });
  return (object) => tests.every((test) => test(object));
}

function fieldReader(field: string, definition: ResourceDefinition): (object: KubeObject) => string {
  if (field === "metadata.name") return (object) => object.metadata.name;
  if (field === "metadata.namespace") return (object) => object.metadata.namespace ?? "";
  const known = definition.strategy.fieldSelectors;
  const read = known !== undefined && Object.hasOwn(known, field) ? known[field] : undefined;
  if (!read) throw badRequest(`field label not supported: ${field}`);
  return read;
}

/** The one name that a field selector allows, so that watches and lists of one object need not visit the others. */
export function selectedName(selector: string): string | undefined {
  return /(?:^|,)metadata\.name==?([^,=\\]+)(?:,|$)/.exec(selector)?.[1];
}
