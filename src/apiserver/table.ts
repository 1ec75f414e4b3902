import type { Json, JsonObject } from "../runtime/index.ts";
import { BUILT_IN_COLUMNS, DEFAULT_COLUMNS } from "./table/built-in.ts";
import { ageColumn, type Column, nameColumn } from "./table/cells.ts";
import { humanAge } from "./table/duration.ts";
import { findFirst, type JsonPath, JsonPathError, parseJsonPath } from "./table/json-path.ts";
import type { PrinterColumn, ResourceDefinition, TableRenderer } from "./types.ts";

/** Whether a client would rather have a Table than the objects: the first thing in Accept that this server can give is one. */
export function wantsTable(accept: string | undefined): boolean {
  for (const range of (accept ?? "").split(",")) {
    const [type, ...parameters] = range.split(";").map((each) => each.trim());
    if (type !== "application/json" && type !== "*/*" && type !== "application/*") continue;
    const as = parameters.find((each) => each.startsWith("as="));
    if (as === undefined) return false;
    if (as === "as=Table" && parameters.includes("v=v1") && parameters.includes("g=meta.k8s.io")) return true;
  }
  return false;
}

/** Objects as the rows kubectl prints. */
export const renderTable: TableRenderer = (definition, objects, options) => {
  const columns = columnsOf(definition);
  return {
    kind: "Table",
    apiVersion: "meta.k8s.io/v1",
    metadata: options.metadata,
    columnDefinitions: options.withColumns ? columns.map(columnDefinition) : [],
    rows: objects.map((object) => ({
      cells: columns.map((column) => column.cell(object, options.nowMs)),
      ...(options.includeObject === "Object" && { object }),
      ...(options.includeObject === "Metadata" && {
        object: { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1", metadata: object.metadata },
      }),
    })),
  };
};

function columnDefinition({ name, type, format, description, priority }: Column): JsonObject {
  return { name, type, format, description, priority };
}

function columnsOf(definition: ResourceDefinition): readonly Column[] {
  if (definition.builtIn) return BUILT_IN_COLUMNS[`${definition.group}/${definition.kind}`] ?? DEFAULT_COLUMNS;
  if (definition.columns.length === 0) return [nameColumn, ageColumn];
  return [nameColumn, ...definition.columns.map(customColumn)];
}

const TYPES: readonly Column["type"][] = ["string", "integer", "number", "boolean", "date"];

function customColumn(printer: PrinterColumn): Column {
  const path = readablePath(printer.jsonPath);
  const type = TYPES.find((each) => each === printer.type) ?? "string";
  return {
    name: printer.name,
    type,
    format: printer.format ?? "",
    description: printer.description || `Custom resource definition column (in JSONPath format): ${printer.jsonPath}`,
    priority: printer.priority ?? 0,
    cell: (object, nowMs) => (path ? customCell(type, path, object, nowMs) : null),
  };
}

/** A column this server cannot read stays empty; the list must still be shown. */
function readablePath(jsonPath: string): JsonPath | undefined {
  try {
    return parseJsonPath(jsonPath);
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

/** A value that is not of its column's type shows as nothing, as in Kubernetes. */
function customCell(type: Column["type"], path: JsonPath, object: JsonObject, nowMs: number): Json {
  const value = findFirst(path, object);
  if (value === undefined || value === null) return null;
  switch (type) {
    case "string":
      return typeof value === "object" ? JSON.stringify(value) : String(value);
    case "integer":
      return typeof value === "number" ? Math.trunc(value) : null;
    case "number":
      return typeof value === "number" ? value : null;
    case "boolean":
      return typeof value === "boolean" ? value : null;
    case "date":
      return humanAge(value, nowMs);
  }
}
