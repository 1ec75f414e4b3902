import type { Static } from "typebox";
import { object, optional } from "./build.ts";
import { crossClusterJobSpec } from "./ccj-spec.ts";
import { crossClusterJobStatus } from "./ccj-status.ts";
import { APPS_GROUP, APPS_VERSION } from "./cross-cluster-statefulset.ts";
import { AGE_COLUMN, type KindDefinition } from "./definition.ts";
import type { KubeObject } from "./object.ts";

const schema = object(
  "Work over several clusters: it continues elsewhere when a cluster fails, and what has ended never runs again.",
  { spec: crossClusterJobSpec, status: optional(crossClusterJobStatus) },
);

/** With all defaults set. */
export type CrossClusterJobSpec = Static<typeof crossClusterJobSpec>;
export type CrossClusterJobStatus = Static<typeof crossClusterJobStatus>;
export type CrossClusterJob = KubeObject<typeof schema, "apps.karmada.io/v1alpha1", "CrossClusterJob">;

export const CROSS_CLUSTER_JOB: KindDefinition = {
  group: APPS_GROUP,
  version: APPS_VERSION,
  kind: "CrossClusterJob",
  plural: "crossclusterjobs",
  singular: "crossclusterjob",
  shortNames: ["ccj"],
  scope: "Namespaced",
  schema,
  hasStatus: true,
  columns: [
    { name: "Status", type: "string", jsonPath: ".status.phase", description: "What is happening, in one word." },
    { name: "Completions", type: "string", jsonPath: ".status.display.completions", description: "Done of wanted." },
    { name: "Duration", type: "string", jsonPath: ".status.display.duration", description: "How long it took." },
    AGE_COLUMN,
    {
      name: "Clusters",
      type: "string",
      jsonPath: ".status.display.clusters",
      description: "Where it runs.",
      priority: 1,
    },
    { name: "Reason", type: "string", jsonPath: ".status.reason", description: "Why it waits or failed.", priority: 1 },
    { name: "Message", type: "string", jsonPath: ".status.message", description: "Reason and remedy.", priority: 1 },
  ],
};
