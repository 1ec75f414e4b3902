import type { Json, JsonObject } from "../../runtime/index.ts";
import { metadataOf } from "../request/answer-form.ts";
import type { PrinterColumn, ResourceDefinition, TableRenderer } from "../types.ts";
import { BUILT_IN_COLUMNS, DEFAULT_COLUMNS } from "./built-in.ts";
import { ageColumn, type Column, nameColumn } from "./cells.ts";
import { humanAge } from "./duration.ts";
import { findFirst, type JsonPath, JsonPathError, parseJsonPath } from "./json-path.ts";

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
        object: metadataOf(object),
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

/** A column that this server cannot read stays empty; the list must still be shown. */
function readablePath(jsonPath: string): JsonPath | undefined {
  try {
    return parseJsonPath(jsonPath);
  } catch (error) {
    if (error instanceof JsonPathError) return undefined;
    throw error;
  }
}

/** A value of another type than its column is shown as empty, as in Kubernetes. */
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
