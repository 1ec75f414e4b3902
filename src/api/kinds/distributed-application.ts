import type { Static } from "typebox";
import { anyObject, integer, list, object, optional, text, time } from "./build.ts";
import { conditions, rolloutRecord } from "./ccs-status.ts";
import { APPS_GROUP, APPS_VERSION } from "./cross-cluster-statefulset.ts";
import { distributedApplicationSpec } from "./dapp-spec.ts";
import { AGE_COLUMN, type KindDefinition } from "./definition.ts";
import { expiresAt } from "./lifetime.ts";
import { LABEL_CHARS, MESSAGE_CHARS, NAME_CHARS, REASON_CHARS, REVISION_CHARS } from "./names.ts";
import type { KubeObject } from "./object.ts";

const count = (description: string) => optional(integer(description, { minimum: 0 }));
const word = (description: string) => optional(text(description, { maxLength: REASON_CHARS }));
const sentence = (description: string) => optional(text(description, { maxLength: MESSAGE_CHARS }));
const revision = (description: string) => optional(text(description, { maxLength: REVISION_CHARS }));

/** Objects that status lists; above it, status has counts only. */
export const MAX_LISTED_OBJECTS = 500;
export const MAX_LISTED_WORKLOADS = 64;

const cluster = object("One cluster.", {
  name: text("Name of the member cluster.", { minLength: 1, maxLength: LABEL_CHARS }),
  revision: revision("The revision that it was granted."),
  deployed: revision("The last revision that it completed."),
  phase: word("Pending, Deploying, Updating, RollingBack, Settled, Unhealthy, Lost, Removing or Failed."),
  stage: sentence("Where it is inside the revision, for example objects (3 of 5)."),
  objects: count("Objects of the revision."),
  ready: count("Objects that are healthy."),
  reason: word("Why it does not progress, in one word."),
  message: sentence("Why it does not progress, and the remedy."),
  since: optional(time("When phase or reason last changed.")),
});

const objectRow = object("One object of the revision.", {
  apiVersion: optional(text("Its apiVersion.", { maxLength: NAME_CHARS })),
  kind: text("Its kind.", { minLength: 1, maxLength: LABEL_CHARS }),
  namespace: optional(text("Its namespace.", { maxLength: LABEL_CHARS })),
  name: text("Its name.", { minLength: 1, maxLength: NAME_CHARS }),
  clusters: count("Clusters that have it."),
  health: word("Healthy, Progressing, Unhealthy or Unknown: the worst of all clusters."),
  message: sentence("What is wrong, and where."),
  status: optional(
    anyObject(
      "Its own status fields over all clusters, as a customization, a webhook or a bundled script aggregates them. Left out if it is large.",
    ),
  ),
});

const workload = object("One workload.", {
  kind: text("Its kind.", { minLength: 1, maxLength: LABEL_CHARS }),
  name: text("Its name.", { minLength: 1, maxLength: NAME_CHARS }),
  total: count("Replicas wanted over all clusters."),
  ready: count("Replicas that are ready."),
  clusters: optional(
    list(
      "Each cluster's share.",
      object("One cluster.", {
        name: text("Name of the member cluster.", { minLength: 1, maxLength: LABEL_CHARS }),
        replicas: count("Replicas granted."),
        ready: count("Replicas that are ready."),
        lent: count("Replicas of these that stand in for another cluster."),
      }),
      { maxItems: 256, identity: ["name"] },
    ),
  ),
});

const status = object("The observed state.", {
  observedGeneration: optional(
    integer("The generation of the spec that this refers to.", { minimum: 0, format: "int64" }),
  ),
  phase: word("The state in one word: Rolling, Waiting, Settled, Halted, Invalid, Releasing or TearingDown."),
  reason: word("Why it does not progress, in one word."),
  message: sentence("Why it does not progress, and the remedy."),
  since: optional(time("When phase or reason last changed.")),
  revision: revision("The desired revision."),
  currentRevision: revision("The last revision that all clusters completed."),
  rejectedRevision: revision(
    "A revision that failed and was rolled back, or was undone; it is not retried until the source changes.",
  ),
  previousRevision: revision("The target of `lockstep undo` without a revision."),
  sourceDigest: optional(text("The digest of what was rendered.", { maxLength: NAME_CHARS })),
  chartVersion: optional(text("The version of the chart that was rendered.", { maxLength: NAME_CHARS })),
  expiresAt,
  rollout: optional(
    object("The rollout in progress.", {
      to: revision("The revision that it rolls out."),
      from: revision("The revision that it started from."),
      wave: optional(integer("The first wave that it has not passed. Waves count from 1.", { minimum: 1 })),
      since: optional(time("When it started.")),
    }),
  ),
  display: optional(
    object("For kubectl get.", {
      clusters: word("Clusters that are done of all, for example 2/3."),
      ready: word("Healthy objects of all, for example 11/12."),
    }),
  ),
  clusters: optional(list("Every cluster.", cluster, { maxItems: 256, identity: ["name"] })),
  objects: optional(
    list("Every object of the desired revision, unless there are too many.", objectRow, {
      maxItems: MAX_LISTED_OBJECTS,
    }),
  ),
  workloads: optional(
    list("Workloads with replicas; those that are divided come first.", workload, {
      maxItems: MAX_LISTED_WORKLOADS,
      identity: ["kind", "name"],
    }),
  ),
  history: optional(
    list(
      "Revisions, newest first.",
      object("One revision that you can return to.", {
        revision: text("Its name, for spec.undo.", { minLength: 1, maxLength: REVISION_CHARS }),
        number: optional(integer("Increases with every revision.", { minimum: 0, format: "int64" })),
        createdAt: optional(time("When Lockstep created it.")),
        record: rolloutRecord,
      }),
      { maxItems: 102, identity: ["revision"] },
    ),
  ),
  conditions: conditions("Available, Settled, Progressing, Degraded, DryRun, Paused."),
});

const schema = object(
  "A whole application (a Helm chart, a kustomization, or plain objects) in chosen clusters, rolled out cluster by cluster.",
  { spec: distributedApplicationSpec, status: optional(status) },
);

/** With all defaults set. */
export type DistributedApplicationSpec = Static<typeof distributedApplicationSpec>;
export type DistributedApplicationStatus = Static<typeof status>;
export type DistributedApplication = KubeObject<typeof schema, "apps.karmada.io/v1alpha1", "DistributedApplication">;

export const DISTRIBUTED_APPLICATION: KindDefinition = {
  group: APPS_GROUP,
  version: APPS_VERSION,
  kind: "DistributedApplication",
  plural: "distributedapplications",
  singular: "distributedapplication",
  shortNames: ["dapp"],
  scope: "Namespaced",
  schema,
  hasStatus: true,
  columns: [
    {
      name: "Clusters",
      type: "string",
      jsonPath: ".status.display.clusters",
      description: "Clusters that are done, of all.",
    },
    { name: "Ready", type: "string", jsonPath: ".status.display.ready", description: "Healthy objects, of all." },
    { name: "Phase", type: "string", jsonPath: ".status.phase", description: "What is happening, in one word." },
    { name: "Revision", type: "string", jsonPath: ".status.revision", description: "The desired revision." },
    AGE_COLUMN,
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
  ],
};
