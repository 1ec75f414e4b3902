/** The part of an agent that tests of pure functions need: its report on a ManifestWork that it has applied. */
import type { KubeObject } from "../../../kube/index.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";
import { isManifest, manifestsOf } from "../../dispatch-objects.ts";
import type { DispatchOrder, EngineApp } from "../../port.ts";
import type { MemberTimes } from "../feedback.ts";
import { OCM_MARKS } from "../resources.ts";
import { podsToObserve } from "../values.ts";
import { workFor } from "../works.ts";

export const APP: EngineApp = {
  namespace: "default",
  name: "web",
  template: { apiVersion: "apps/v1", kind: "StatefulSet", namespace: "default", name: "web" },
};

export const LINEAGE = "abcd1234";
export const SENT_AT_MS = 1_000_000;

export function orderFor(replicas: number, more: Partial<DispatchOrder> = {}): DispatchOrder {
  const { apiVersion, kind, namespace, name } = APP.template;
  const manifest = { apiVersion, kind, metadata: { namespace, name }, spec: { replicas } };
  return { cluster: "east", manifest, term: 1, notes: { grant: "{}" }, expected: null, ...more };
}

/** A ManifestWork on the hub after a write. */
export function written(order: DispatchOrder, previous?: KubeObject, nowMs = SENT_AT_MS): KubeObject {
  const pods = podsToObserve(order.manifest, previous);
  const work = workFor(APP, order, previous, { plural: "statefulsets", lineage: LINEAGE, nowMs, pods });
  const generation = (previous?.metadata.generation ?? 0) + 1;
  const status = previous?.status;
  return { ...work, metadata: { ...work.metadata, uid: "u1", generation }, ...(status !== undefined && { status }) };
}

export interface Report {
  readonly applied?: boolean;
  readonly message?: string;
  readonly there?: boolean;
  readonly generation?: number;
  /** In addition to the mark, which comes back unchanged. */
  readonly values?: Readonly<Record<string, Json>>;
  /** Of every pod that it observes; absent: `values`. */
  readonly podValues?: Readonly<Record<string, Json>>;
  /** null: the object has none. */
  readonly mark?: string | null;
}

export function reported(work: KubeObject, report: Report = {}): KubeObject {
  const { applied = true, there = true, generation = work.metadata.generation ?? 1, message = "" } = report;
  const manifests = manifestsOf(work)
    .filter(isManifest)
    .map(({ kind, metadata }, at) => {
      const mark = report.mark === undefined ? metadata.annotations?.[OCM_MARKS.write] : report.mark;
      const own = at > 0 ? (report.podValues ?? report.values) : report.values;
      const pointer = `/metadata/annotations/${OCM_MARKS.write.replaceAll("/", "~1")}`;
      const values = { ...(typeof mark === "string" && { [pointer]: mark }), ...own };
      return {
        resourceMeta: { kind, namespace: metadata.namespace ?? "", name: metadata.name },
        conditions: [
          { type: "Applied", status: applied ? "True" : "False", observedGeneration: generation, message },
          { type: "Available", status: there ? "True" : "False" },
        ],
        statusFeedback: { values: there ? Object.entries(values).map(([name, value]) => fed(name, value)) : [] },
      };
    });
  const condition = (type: string, holds: boolean) => ({
    type,
    status: holds ? "True" : "False",
    observedGeneration: generation,
  });
  const conditions = [condition("Applied", applied), condition("Available", there)];
  return { ...work, status: { conditions, resourceStatus: { manifests } } };
}

/** The report as it is, with the times that the member's own clock showed. */
export function withTimes(work: KubeObject, { appliedMs, changedMs }: MemberTimes): KubeObject {
  const time = (ms: number) => new Date(ms).toISOString().replace(/\.\d+Z$/, "Z");
  return reported(work, { values: { appliedAt: time(appliedMs), changedAt: time(changedMs) } });
}

function fed(name: string, value: Json): JsonObject {
  if (typeof value === "string") return { name, fieldValue: { type: "String", string: value } };
  if (typeof value === "number") return { name, fieldValue: { type: "Integer", integer: value } };
  if (typeof value === "boolean") return { name, fieldValue: { type: "Boolean", boolean: value } };
  return { name, fieldValue: { type: "JsonRaw", jsonRaw: JSON.stringify(value) } };
}

export function strategyOf(work: KubeObject): Json | undefined {
  const configs = isJsonObject(work.spec) && Array.isArray(work.spec.manifestConfigs) ? work.spec.manifestConfigs : [];
  return isJsonObject(configs[0]) ? configs[0].updateStrategy : undefined;
}
