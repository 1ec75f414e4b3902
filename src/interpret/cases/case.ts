/** One case of a test file in Karmada's format. */
import { isJsonObject, type Json, type JsonObject } from "../../runtime/index.ts";
import { describe } from "../fields.ts";
import { OPERATIONS, type Operation, parseOperation, type StatusItem } from "../operations.ts";
import type { Arguments } from "./evaluate.ts";
import { FileProblem, type YamlObject } from "./yaml.ts";

export interface TestCase {
  readonly file: string;
  readonly line: number;
  readonly name: string;
  readonly operation: Operation;
  readonly given: Arguments;
  /** Expected results by name; other results are not compared. */
  readonly output: JsonObject;
}

const FIELDS = [
  "name",
  "description",
  "desiredObj",
  "observedObj",
  "statusItems",
  "inputReplicas",
  "operation",
  "output",
  "filepath",
];

/** Throws FileProblem. */
export function parseTestCase(document: YamlObject): TestCase {
  const { file, value, lineOf } = document;
  const problem = (field: string, reason: string) => new FileProblem(file, lineOf([field]), `${field} ${reason}`);
  const unknown = Object.keys(value).find((field) => !FIELDS.includes(field));
  if (unknown !== undefined) throw problem(unknown, `is not a field of a test case; known are ${FIELDS.join(", ")}`);

  const operationName = value.operation;
  const operation = typeof operationName === "string" ? parseOperation(operationName) : undefined;
  if (operation === undefined) {
    throw problem("operation", `must be one of ${OPERATIONS.join(", ")}, found ${describe(operationName)}`);
  }
  const object = (field: string) => {
    const found = value[field];
    if (found === undefined || found === null || isJsonObject(found)) return found ?? undefined;
    throw problem(field, `must be an object, found ${describe(found)}`);
  };
  const desired = object("desiredObj");
  const observed = object("observedObj");
  const statusItems = value.statusItems ?? undefined;
  const replicas = value.inputReplicas ?? 0;
  if (typeof replicas !== "number") throw problem("inputReplicas", `must be a number, found ${describe(replicas)}`);
  return {
    file,
    line: lineOf([]),
    name: typeof value.name === "string" ? value.name : "(no name)",
    operation,
    given: {
      ...(desired !== undefined && { desired }),
      ...(observed !== undefined && { observed }),
      ...(statusItems !== undefined && {
        statusItems: parseStatusItems(statusItems, `${file}:${lineOf(["statusItems"])}`),
      }),
      replicas,
    },
    output: object("output") ?? {},
  };
}

/** A list of what each cluster reports: `[{clusterName, status, applied, appliedMessage, health}]`. */
export function parseStatusItems(value: Json, where: string): StatusItem[] {
  if (!Array.isArray(value))
    throw new FileProblem(where, undefined, `status items must be a list, found ${describe(value)}`);
  return value.map((item, index) => {
    const wrong = (what: string) => new FileProblem(where, undefined, `status item ${index + 1}: ${what}`);
    if (!isJsonObject(item)) throw wrong(`must be an object, found ${describe(item)}`);
    const { clusterName, status, applied, appliedMessage, health } = item;
    if (clusterName !== undefined && typeof clusterName !== "string") throw wrong("clusterName must be a text");
    if (health !== undefined && health !== "Healthy" && health !== "Unhealthy" && health !== "Unknown") {
      throw wrong(`health must be Healthy, Unhealthy or Unknown, found ${describe(health)}`);
    }
    return {
      clusterName: clusterName ?? "",
      ...(status !== undefined && { status }),
      ...(applied === true && { applied }),
      ...(typeof appliedMessage === "string" && { appliedMessage }),
      ...(health !== undefined && { health }),
    };
  });
}
