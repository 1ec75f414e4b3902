import type { ParsedCrossClusterStatefulset } from "../../api/index.ts";
import type { EngineApp } from "../../engine/index.ts";
import type { KubeObject } from "../../kube/index.ts";
import type { TemplateFound } from "./observe/template.ts";

/** The subject of one reconcile: a CrossClusterStatefulset as it was read, and the template that it manages. */
export interface Subject {
  readonly key: string;
  readonly object: KubeObject;
  readonly statefulset: ParsedCrossClusterStatefulset;
  readonly app: EngineApp;
  readonly template: Exclude<TemplateFound, { kind: "unknown" }>;
}

export function isDeleting({ statefulset }: Pick<Subject, "statefulset">): boolean {
  return statefulset.metadata.deletionTimestamp !== undefined;
}
