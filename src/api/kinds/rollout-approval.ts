import type { Static } from "typebox";
import { choice, integer, object, optional, text, time } from "./build.ts";
import { conditions } from "./ccs-status.ts";
import { APPS_GROUP, APPS_VERSION } from "./cross-cluster-statefulset.ts";
import { AGE_COLUMN, type KindDefinition } from "./definition.ts";
import { DNS_SUBDOMAIN, NAME_CHARS, REVISION_CHARS } from "./names.ts";
import type { KubeObject } from "./object.ts";

const spec = object(
  "The approved rollout. Immutable: to approve another rollout, create another object.",
  {
    kind: choice("The kind of what is rolled out.", ["CrossClusterStatefulset", "DistributedApplication"], {
      default: "CrossClusterStatefulset",
    }),
    name: text("Name of the object that is rolled out, in this namespace.", {
      minLength: 1,
      maxLength: NAME_CHARS,
      pattern: DNS_SUBDOMAIN,
    }),
    revision: text(
      "The revision whose rollout is approved: status.updateRevision. An approval never counts for another revision.",
      {
        minLength: 1,
        maxLength: REVISION_CHARS,
      },
    ),
    wave: integer(
      "The wave after which the rollout may continue, counted from 1: its position in spec.updateStrategy.rollingUpdate.waves.",
      {
        minimum: 1,
        maximum: 1000,
      },
    ),
    comment: optional(text("A comment for later readers.", { maxLength: 1024 })),
    approvedBy: optional(
      text("The authenticated user who approves; filled in by `lockstep approve`.", { maxLength: NAME_CHARS }),
    ),
  },
  {
    rules: [
      {
        rule: "self.kind == oldSelf.kind && self.name == oldSelf.name && self.revision == oldSelf.revision && self.wave == oldSelf.wave",
        message: "an approval is immutable: delete it, or approve something else with another RolloutApproval",
      },
      {
        rule: "has(self.approvedBy) == has(oldSelf.approvedBy) && (!has(self.approvedBy) || self.approvedBy == oldSelf.approvedBy)",
        message: "approvedBy is immutable: delete the approval, and let the other user create one",
      },
    ],
  },
);

const schema = object(
  "Lets one rollout continue after a wave that needs approval. It is a separate kind, so that you can grant the right to approve separately.",
  {
    spec,
    status: optional(
      object("The state of the approval.", {
        approvedBy: optional(
          text("The user who approved, from spec.approvedBy. Absent: see the API server's audit log.", {
            maxLength: 1024,
          }),
        ),
        approvedAt: optional(time("When it was created.")),
        usedAt: optional(time("When the rollout continued because of it.")),
        conditions: conditions("Accepted: whether the rollout and the wave exist."),
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
      description: "The wave after which the rollout may continue, counted from 1.",
    },
    { name: "By", type: "string", jsonPath: ".spec.approvedBy", description: "The user who approved." },
    AGE_COLUMN,
  ],
};
