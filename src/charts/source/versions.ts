/** Versions and ranges as Helm reads them: `1.2.3`, `^25`, `~1.4`, `1.x`, `>=1.2 <2`, `1.2 - 1.4`, `a || b`. Pure. */

interface Version {
  readonly numbers: readonly [number, number, number];
  readonly pre: readonly string[];
}

type Test = (version: Version) => boolean;

const VERSION = /^v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/;

/** The highest of the versions that the range allows; undefined if there is none. */
export function bestVersion(range: string, candidates: readonly string[]): string | undefined {
  const exact = candidates.find((candidate) => candidate === range);
  if (exact !== undefined) return exact;
  const allows = rangeOf(range);
  if (!allows) return undefined;
  const parsed = candidates.flatMap((text) => {
    const version = parse(text);
    return version && allows(version) ? [{ text, version }] : [];
  });
  return parsed.sort((a, b) => compare(b.version, a.version))[0]?.text;
}

/** Whether it is a range or a version at all. */
export function isRange(text: string): boolean {
  return rangeOf(text) !== undefined;
}

/** Whether it names one version, so that no list of versions is needed. */
export function isExact(text: string): boolean {
  return /^v?\d+\.\d+\.\d+(?:[-+]|$)/.test(text) && VERSION.test(text);
}

function rangeOf(text: string): Test | undefined {
  const tests = (text.trim() === "" ? "*" : text).split("||").map(alternative);
  return tests.every((test) => test !== undefined) ? (version) => tests.some((test) => test(version)) : undefined;
}

function alternative(text: string): Test | undefined {
  const spaced = text
    .trim()
    .replace(/(\S+)\s+-\s+(\S+)/g, ">=$1 <=$2")
    .replaceAll(/([<>=!~^]+)\s+/g, "$1");
  const parts = spaced.split(/[\s,]+/).filter((part) => part !== "");
  const tests = parts.map(comparison);
  if (tests.length === 0 || !tests.every((test) => test !== undefined)) return undefined;
  // A version like 2.0.0-rc.1 is meant only if the range names such a version itself.
  const allowsPre = parts.some((part) => /\d-[0-9A-Za-z]/.test(part));
  return (version) => (allowsPre || version.pre.length === 0) && tests.every((test) => test(version));
}

function comparison(text: string): Test | undefined {
  const [, operator = "", rest = ""] = /^(=|!=|>=|=>|<=|=<|>|<|~>?|\^)?(.*)$/.exec(text) ?? [];
  const wild = /^v?(?:[xX*]|(\d+)(?:\.(?:[xX*]|(\d+)(?:\.[xX*])?)(?:\.[xX*])?)?)$/.exec(rest);
  const version = wild ? parse([wild[1] ?? "0", wild[2] ?? "0", "0"].join(".")) : parse(rest);
  if (!version) return undefined;
  const given = wild ? (wild[1] === undefined ? 0 : wild[2] === undefined ? 1 : 2) : 3;
  const next = given === 3 ? undefined : bumped(version, given);
  const below =
    (limit: Version | undefined): Test =>
    (found) =>
      limit === undefined || compare(found, limit) < 0;
  const from: Test = (found) => compare(found, version) >= 0;
  const within: Test =
    given === 3 ? (found) => compare(found, version) === 0 : (found) => from(found) && below(next)(found);
  switch (operator) {
    case "":
    case "=":
      return within;
    case "!=":
      return (found) => !within(found);
    case ">=":
    case "=>":
      return from;
    case "<":
      return (found) => compare(found, version) < 0;
    case ">":
      return given === 0 ? () => false : (found) => (next ? compare(found, next) >= 0 : compare(found, version) > 0);
    case "<=":
    case "=<":
      return given === 3 ? (found) => compare(found, version) <= 0 : below(next);
    case "~":
    case "~>":
      return (found) => from(found) && below(given === 0 ? undefined : bumped(version, Math.min(given, 2)))(found);
    default:
      return (found) => from(found) && below(caretLimit(version, given))(found);
  }
}

/** `^` keeps the first number that is not 0: below 1.0.0 any other change may break. */
function caretLimit(version: Version, given: number): Version | undefined {
  if (given === 0) return undefined;
  const [major, minor] = version.numbers;
  if (major > 0 || given === 1) return bumped(version, 1);
  if (minor > 0 || given === 2) return bumped(version, 2);
  return bumped(version, 3);
}

/** The first version after all that share so many numbers; undefined if all versions do. */
function bumped({ numbers: [major, minor, patch] }: Version, shared: number): Version | undefined {
  if (shared === 0) return undefined;
  if (shared === 1) return { numbers: [major + 1, 0, 0], pre: [] };
  if (shared === 2) return { numbers: [major, minor + 1, 0], pre: [] };
  return { numbers: [major, minor, patch + 1], pre: [] };
}

function parse(text: string): Version | undefined {
  const found = VERSION.exec(text);
  if (!found || text.length > 256) return undefined;
  const [, major, minor = "0", patch = "0", pre] = found;
  return { numbers: [Number(major), Number(minor), Number(patch)], pre: pre?.split(".") ?? [] };
}

function compare(a: Version, b: Version): number {
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0;
    if (number !== other) return number < other ? -1 : 1;
  }
  if (a.pre.length === 0 || b.pre.length === 0) return b.pre.length - a.pre.length;
  for (let index = 0; index < Math.max(a.pre.length, b.pre.length); index++) {
    const order = comparePart(a.pre[index], b.pre[index]);
    if (order !== 0) return order;
  }
  return 0;
}

function comparePart(a: string | undefined, b: string | undefined): number {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? -1 : 1;
  const [isNumber, isOtherNumber] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber && isOtherNumber) return Number(a) - Number(b);
  if (isNumber !== isOtherNumber) return isNumber ? -1 : 1;
  return a < b ? -1 : 1;
}
