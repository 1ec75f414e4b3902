/** YAML files as Kubernetes reads them, with the line numbers of their fields. */
import {
  type Document,
  isNode,
  isScalar,
  LineCounter,
  parseAllDocuments,
  Scalar,
  type Tags,
  type YAMLError,
} from "yaml";
import { isJsonObject, type Json, type JsonObject, LIMITS } from "../../runtime/index.ts";

/** Thrown when a file has an error. `line` is the line in the file, from 1. */
export class FileProblem extends Error {
  override readonly name = "FileProblem";
  readonly file: string;
  readonly line: number | undefined;
  /** The message without the place. */
  readonly reason: string;

  constructor(file: string, line: number | undefined, reason: string) {
    super(`${file}${line === undefined ? "" : `:${line}`}: ${reason}`);
    this.file = file;
    this.line = line;
    this.reason = reason;
  }
}

export type FieldPath = readonly (string | number)[];

export interface YamlObject {
  readonly file: string;
  readonly value: JsonObject;
  /** The line of the field, or of the nearest existing field above it. */
  lineOf(path: FieldPath): number;
  /** The file's line of a line inside a text field; undefined if the file folds or quotes the text. */
  lineInText(path: FieldPath, line: number): number | undefined;
}

/** Every object of the file; those of a List one by one, without empty documents. */
export function readYamlObjects(file: string, text: string): YamlObject[] {
  const { documents, lines } = parseFile(file, text);
  return documents.flatMap((document): YamlObject[] => {
    const value: Json = document.toJS();
    if (value === null || value === undefined) return [];
    const at = (path: FieldPath) => lineOf(document, lines, path);
    if (!isJsonObject(value)) throw new FileProblem(file, at([]), "must be an object");
    if (value.kind !== "List") return [yamlObject(file, value, document, lines, [])];
    if (!Array.isArray(value.items)) throw new FileProblem(file, at([]), "a List must have items");
    return value.items.map((item, index) => {
      if (!isJsonObject(item)) throw new FileProblem(file, at(["items", index]), "must be an object");
      return yamlObject(file, item, document, lines, ["items", index]);
    });
  });
}

/** The first document, of any type; null for an empty file. */
export function readYamlValue(file: string, text: string, maxReindentedLines = MAX_REINDENTED_LINES): Json {
  const value: Json | undefined = parseFile(file, text, maxReindentedLines).documents[0]?.toJS();
  return value ?? null;
}

function parseFile(file: string, text: string, maxReindentedLines = MAX_REINDENTED_LINES): Parsed {
  const parsed = parseLeniently(text, maxReindentedLines);
  const [error] = parsed.documents.flatMap((document) => document.errors);
  if (error === undefined) return parsed;
  const reason = error.message.split("\n")[0] ?? "";
  throw new FileProblem(file, parsed.lines.linePos(error.pos[0]).line, `is not YAML: ${reason}`);
}

interface Parsed {
  readonly documents: Document[];
  readonly lines: LineCounter;
}

function parseStrictly(text: string): Parsed {
  const lines = new LineCounter();
  const options = { version: "1.1", customTags: withoutTimes, lineCounter: lines, merge: true } as const;
  // The parser would draw every error, each with a search of the whole text: a person is shown the first one.
  return { documents: [...parseAllDocuments(text, { ...options, prettyErrors: false })], lines };
}

/** At most this many lines of one file may continue a quoted text without indentation. */
const MAX_REINDENTED_LINES = 100;
/** Deeper than the parent of any quoted text. */
const DEEPER = " ".repeat(LIMITS.jsonDepth);

/**
 * Go's YAML lets a quoted text continue at the parent's indentation; indenting such a line means the same in strict
 * YAML, and keeps every line number.
 */
function parseLeniently(text: string, maxReindentedLines: number): Parsed {
  const first = parseStrictly(text);
  let parsed = first;
  const rows = text.split("\n");
  for (let attempt = 0; attempt < maxReindentedLines; attempt++) {
    const errors = parsed.documents.flatMap((document) => document.errors);
    if (errors.length === 0) return parsed;
    const row = continuedRow(errors, parsed.lines);
    if (row === undefined || rows[row] === undefined) return first;
    rows[row] = `${DEEPER}${rows[row]}`;
    parsed = parseStrictly(rows.join("\n"));
  }
  return first;
}

/**
 * The row, from 0, in which a quoted text continues: the text looks unclosed on the row before, or like a key on its
 * own.
 */
function continuedRow(errors: readonly YAMLError[], lines: LineCounter): number | undefined {
  for (const { code, pos } of errors) {
    if (code === "MULTILINE_IMPLICIT_KEY") return lines.linePos(pos[0]).line - 1;
    if (code === "MISSING_CHAR") return lines.linePos(pos[0]).line;
  }
  return undefined;
}

/** Kubernetes reads yes, no and octal numbers as in YAML 1.1, but neither dates nor base-60 numbers. */
function withoutTimes(tags: Tags): Tags {
  return tags.filter((tag) => {
    if (typeof tag === "string") return tag !== "timestamp" && tag !== "intTime" && tag !== "floatTime";
    return tag.tag !== "tag:yaml.org,2002:timestamp" && !("format" in tag && tag.format === "TIME");
  });
}

function yamlObject(
  file: string,
  value: JsonObject,
  document: Document,
  lines: LineCounter,
  root: FieldPath,
): YamlObject {
  return {
    file,
    value,
    lineOf: (path) => lineOf(document, lines, [...root, ...path]),
    lineInText(path, line) {
      const node = document.getIn([...root, ...path], true);
      if (!isScalar(node) || node.type !== Scalar.BLOCK_LITERAL || !node.range) return undefined;
      // The text starts on the line after its `|`.
      return lines.linePos(node.range[0]).line + line;
    },
  };
}

function lineOf(document: Document, lines: LineCounter, path: FieldPath): number {
  for (let length = path.length; length >= 0; length--) {
    const node = length === 0 ? document.contents : document.getIn(path.slice(0, length), true);
    if (isNode(node) && node.range) return lines.linePos(node.range[0]).line;
  }
  return 1;
}
