import type { JsonObject } from "../../runtime/index.ts";
import { CROSS_CLUSTER_STATEFULSET } from "./cross-cluster-statefulset.ts";
import { crdManifest, type KindDefinition } from "./definition.ts";
import { DISTRIBUTED_APPLICATION } from "./distributed-application.ts";
import { RESOURCE_EXPLORING_WEBHOOK_CONFIGURATION } from "./exploring-webhook.ts";
import { CROSS_CLUSTER_LEDGER } from "./ledger.ts";
import { ROLLOUT_APPROVAL } from "./rollout-approval.ts";

/** Every kind that Lockstep installs on the hub. Add a new kind here; CRDs, types and reference follow from it. */
export const KINDS: readonly KindDefinition[] = [
  CROSS_CLUSTER_STATEFULSET,
  DISTRIBUTED_APPLICATION,
  ROLLOUT_APPROVAL,
  CROSS_CLUSTER_LEDGER,
  RESOURCE_EXPLORING_WEBHOOK_CONFIGURATION,
];

export function customResourceDefinitions(): JsonObject[] {
  return KINDS.map(crdManifest);
}
