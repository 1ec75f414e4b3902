import type { Static } from "typebox";
import { anyObject, integer, list, object, text } from "./build.ts";
import { APPS_GROUP, APPS_VERSION } from "./cross-cluster-statefulset.ts";
import { AGE_COLUMN, type KindDefinition } from "./definition.ts";
import type { KubeObject } from "./object.ts";

const spec = object("Lockstep's memory. Do not edit.", {
  version: integer("The format of state.", { minimum: 1 }),
  owner: object("The object that this ledger belongs to. Another object of the same name has its own ledger.", {
    kind: text("Its kind.", { maxLength: 63 }),
    namespace: text("Its namespace.", { maxLength: 63 }),
    name: text("Its name.", { maxLength: 253 }),
    uid: text("Its uid.", { maxLength: 64 }),
  }),
  state: anyObject("Ordinals, revisions, grants, step and epochs, in the planner's internal format."),
  revisions: list(
    "The stored revisions, each with the digest that its content must have.",
    anyObject("One revision."),
    { maxItems: 1000 },
  ),
});

const schema = object(
  "Lockstep's memory of one application: the grant of each cluster. It is stored in Lockstep's own namespace. Internal: only the controller reads and writes it, before it acts.",
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
    { name: "Namespace", type: "string", jsonPath: ".spec.owner.namespace", description: "The owner's namespace." },
    { name: "Owner", type: "string", jsonPath: ".spec.owner.name", description: "The owner's name." },
    { name: "Version", type: "integer", jsonPath: ".spec.version", description: "The format of the state." },
    AGE_COLUMN,
  ],
};
