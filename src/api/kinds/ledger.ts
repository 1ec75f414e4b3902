import type { Static } from "typebox";
import { anyObject, integer, object } from "./build.ts";
import { APPS_GROUP, APPS_VERSION } from "./cross-cluster-statefulset.ts";
import { AGE_COLUMN, type KindDefinition } from "./definition.ts";
import type { KubeObject } from "./object.ts";

const spec = object("What Lockstep remembers. Do not edit.", {
  version: integer("The format of state.", { minimum: 1 }),
  state: anyObject("Ordinals, revisions, grants, step and epochs, in the planner's own form."),
});

const schema = object(
  "Lockstep's memory of one CrossClusterStatefulset of the same name: who has been given what. Internal: written and read by the controller alone, written before anything is done by it.",
  { spec },
);

export type CrossClusterLedgerSpec = Static<typeof spec>;
export type CrossClusterLedger = KubeObject<typeof schema, "apps.karmada.io/v1alpha1", "CrossClusterLedger">;

export const CROSS_CLUSTER_LEDGER: KindDefinition = {
  group: APPS_GROUP,
  version: APPS_VERSION,
  kind: "CrossClusterLedger",
  plural: "crossclusterledgers",
  singular: "crossclusterledger",
  scope: "Namespaced",
  schema,
  hasStatus: false,
  columns: [
    { name: "Version", type: "integer", jsonPath: ".spec.version", description: "The format of the state." },
    AGE_COLUMN,
  ],
};
