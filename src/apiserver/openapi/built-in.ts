import { CORE_DEFINITIONS } from "./core-kinds.ts";
import { SCALARS, type Schema } from "./fields.ts";
import { kind, META_DEFINITIONS } from "./meta-kinds.ts";
import { OTHER_DEFINITIONS } from "./other-kinds.ts";
import { POD_DEFINITIONS } from "./pod-kinds.ts";
import { WORKLOAD_DEFINITIONS } from "./workload-kinds.ts";

/** Every named definition of the built-in kinds, by the name Kubernetes' documents give it. */
export const DEFINITIONS: Readonly<Record<string, Schema>> = {
  ...SCALARS,
  ...META_DEFINITIONS,
  ...POD_DEFINITIONS,
  ...CORE_DEFINITIONS,
  ...WORKLOAD_DEFINITIONS,
  ...OTHER_DEFINITIONS,
};

/** A built-in kind without a schema here is stored unchanged. */
export const UNKNOWN_KIND: Schema = {
  ...kind("A kind whose fields this server does not check.", {}),
  "x-kubernetes-preserve-unknown-fields": true,
};

/** `io.k8s.api.apps.v1.StatefulSet` for StatefulSet of apps/v1, as Kubernetes names its definitions. */
export function definitionName(group: string, version: string, kindName: string): string {
  if (group === "apiextensions.k8s.io")
    return `io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.${version}.${kindName}`;
  const packageName = group === "" ? "core" : (group.split(".")[0] ?? group);
  return `io.k8s.api.${packageName}.${version}.${kindName}`;
}
