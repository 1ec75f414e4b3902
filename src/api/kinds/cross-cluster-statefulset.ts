import type { Static } from "typebox";
import { object, optional } from "./build.ts";
import { crossClusterStatefulsetSpec, groupOf } from "./ccs-spec.ts";
import { crossClusterStatefulsetStatus } from "./ccs-status.ts";
import { AGE_COLUMN, type KindDefinition } from "./definition.ts";
import type { KubeObject } from "./object.ts";

export const APPS_GROUP = "apps.karmada.io";
export const APPS_VERSION = "v1alpha1";

/**
 * CEL: group, kind and name of what runs. A selector by label names nothing. An inline template's name defaults to the
 * object's own, which only a rule on the whole object can read.
 */
function targetOf(object: string): string {
  const [template, selector] = [`${object}.spec.template`, `${object}.spec.resourceSelector`];
  const inlineName = `(has(${template}.metadata) && has(${template}.metadata.name) ? ${template}.metadata.name : ${object}.metadata.name)`;
  const selectedName = `(has(${selector}.name) ? ${selector}.name : '')`;
  return `(has(${template}) ? [${groupOf(template)}, ${template}.kind, ${inlineName}] : [${groupOf(selector)}, ${selector}.kind, ${selectedName}])`;
}

const schema = object(
  "One stateful application over several clusters: deployed, scaled, updated and failed over in one global order.",
  { spec: crossClusterStatefulsetSpec, status: optional(crossClusterStatefulsetStatus) },
  {
    rules: [
      {
        rule: `(!has(self.spec.template) && !has(oldSelf.spec.template)) || ${targetOf("self")} == ${targetOf("oldSelf")}`,
        message:
          "spec.template: kind and name are immutable, also between template and resourceSelector.name: create another CrossClusterStatefulset for another object",
      },
    ],
  },
);

/** With all defaults set. */
export type CrossClusterStatefulsetSpec = Static<typeof crossClusterStatefulsetSpec>;
export type CrossClusterStatefulsetStatus = Static<typeof crossClusterStatefulsetStatus>;
export type CrossClusterStatefulset = KubeObject<typeof schema, "apps.karmada.io/v1alpha1", "CrossClusterStatefulset">;

export const CROSS_CLUSTER_STATEFULSET: KindDefinition = {
  group: APPS_GROUP,
  version: APPS_VERSION,
  kind: "CrossClusterStatefulset",
  plural: "crossclusterstatefulsets",
  singular: "crossclusterstatefulset",
  shortNames: ["ccs"],
  scope: "Namespaced",
  schema,
  hasStatus: true,
  scale: {
    specReplicasPath: ".spec.replicas",
    statusReplicasPath: ".status.replicas",
    labelSelectorPath: ".status.selector",
  },
  columns: [
    { name: "Ready", type: "string", jsonPath: ".status.display.ready", description: "Ready of desired instances." },
    {
      name: "Updated",
      type: "string",
      jsonPath: ".status.display.updated",
      description: "Updated of desired instances.",
    },
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "What is happening, in one word." },
    { name: "Step", type: "string", jsonPath: ".status.step.cluster", description: "The cluster whose turn it is." },
    AGE_COLUMN,
    {
      name: "Leader",
      type: "string",
      jsonPath: ".status.leader.instance",
      description: "The leading instance.",
      priority: 1,
    },
    {
      name: "Reason",
      type: "string",
      jsonPath: ".status.reason",
      description: "Why it does not progress.",
      priority: 1,
    },
    {
      name: "Message",
      type: "string",
      jsonPath: ".status.message",
      description: "The reason and the remedy.",
      priority: 1,
    },
    {
      name: "Kind",
      type: "string",
      jsonPath: ".status.display.kind",
      description: "Kind of the selected object, or of the inline template.",
      priority: 1,
    },
  ],
};
