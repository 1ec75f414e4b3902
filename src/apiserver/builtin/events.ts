import { ownField } from "../../runtime/index.ts";
import { textAt } from "../store/values.ts";
import type { KubeObject } from "../types.ts";

const read =
  (...path: string[]) =>
  (event: KubeObject): string =>
    textAt(event, ...path) ?? "";

const OBJECT_FIELDS = ["kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"];

/**
 * The fields by which `kubectl describe` and `kubectl events` select an object's events, under core's names and the
 * newer ones.
 */
export const EVENT_FIELDS: Readonly<Record<string, (event: KubeObject) => string>> = {
  reason: read("reason"),
  type: read("type"),
  source: read("source", "component"),
  reportingComponent: read("reportingComponent"),
  reportingController: read("reportingComponent"),
  ...Object.fromEntries(OBJECT_FIELDS.map((field) => [`involvedObject.${field}`, read("involvedObject", field)])),
  ...Object.fromEntries(OBJECT_FIELDS.map((field) => [`regarding.${field}`, read("involvedObject", field)])),
};

/** Names in core/v1, and the same field in events.k8s.io/v1. */
const RENAMED = [
  ["involvedObject", "regarding"],
  ["message", "note"],
  ["source", "deprecatedSource"],
  ["count", "deprecatedCount"],
  ["firstTimestamp", "deprecatedFirstTimestamp"],
  ["lastTimestamp", "deprecatedLastTimestamp"],
  ["reportingComponent", "reportingController"],
] as const;

export const EVENT_CONVERSION = {
  toStorage: (event: KubeObject) => renamed({ ...event, apiVersion: "v1" }, (pair) => [pair[1], pair[0]]),
  fromStorage: (event: KubeObject) =>
    renamed({ ...event, apiVersion: "events.k8s.io/v1" }, (pair) => [pair[0], pair[1]]),
};

function renamed(
  event: KubeObject,
  direction: (pair: (typeof RENAMED)[number]) => [from: string, to: string],
): KubeObject {
  for (const pair of RENAMED) {
    const [from, to] = direction(pair);
    const value = ownField(event, from);
    if (value === undefined) continue;
    delete event[from];
    event[to] = value;
  }
  return event;
}
