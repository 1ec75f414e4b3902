import type { Static } from "typebox";
import { integer, object, optional, text, time } from "./build.ts";
import { conditions } from "./ccs-status.ts";
import { APPS_GROUP, APPS_VERSION } from "./cross-cluster-statefulset.ts";
import { AGE_COLUMN, type KindDefinition } from "./definition.ts";
import { DNS_SUBDOMAIN, NAME_CHARS, REVISION_CHARS } from "./names.ts";
import type { KubeObject } from "./object.ts";

const spec = object(
  "What is approved. Immutable: approve something else with another object.",
  {
    name: text("Name of the CrossClusterStatefulset, in this namespace.", {
      minLength: 1,
      maxLength: NAME_CHARS,
      pattern: DNS_SUBDOMAIN,
    }),
    revision: text(
      "The revision whose rollout is approved: status.updateRevision. An approval never counts for another.",
      {
        minLength: 1,
        maxLength: REVISION_CHARS,
      },
    ),
    wave: integer(
      "The wave after which the rollout may go on, counted from 0: its place in spec.updateStrategy.rollingUpdate.waves.",
      {
        minimum: 0,
        maximum: 1000,
      },
    ),
    comment: optional(text("Why, for those who read it later.", { maxLength: 1024 })),
  },
  {
    rules: [
      {
        rule: "self.name == oldSelf.name && self.revision == oldSelf.revision && self.wave == oldSelf.wave",
        message: "an approval is immutable: delete it, or approve something else with another RolloutApproval",
      },
    ],
  },
);

const schema = object(
  "Lets one rollout go on after one of its waves, where a person is asked. Its own kind, so that the right to approve can be given alone.",
  {
    spec,
    status: optional(
      object("What became of the approval.", {
        approvedBy: optional(
          text(
            "The program that created it, by the name that it gave itself (its field manager), such as kubectl-create. Kubernetes keeps no user's name in an object: which person it was, the API server's audit log tells.",
            { maxLength: 1024 },
          ),
        ),
        approvedAt: optional(time("When it was created.")),
        usedAt: optional(time("When the rollout went on because of it.")),
        conditions: conditions("Accepted: whether it names a rollout and a wave that exist."),
      }),
    ),
  },
);

export type RolloutApprovalSpec = Static<typeof spec>;
export type RolloutApproval = KubeObject<typeof schema, "apps.karmada.io/v1alpha1", "RolloutApproval">;

export const ROLLOUT_APPROVAL: KindDefinition = {
  group: APPS_GROUP,
  version: APPS_VERSION,
  kind: "RolloutApproval",
  plural: "rolloutapprovals",
  singular: "rolloutapproval",
  scope: "Namespaced",
  schema,
  hasStatus: true,
  columns: [
    { name: "For", type: "string", jsonPath: ".spec.name", description: "The CrossClusterStatefulset." },
    { name: "Revision", type: "string", jsonPath: ".spec.revision", description: "The approved revision." },
    {
      name: "Wave",
      type: "integer",
      jsonPath: ".spec.wave",
      description: "The wave after which it may go on, counted from 0.",
    },
    { name: "By", type: "string", jsonPath: ".status.approvedBy", description: "The program that created it." },
    AGE_COLUMN,
  ],
};
