/** The contract as JSON Schema, for operators in other languages. `npm run generate` writes it into deploy/contract. */
import { ANNOTATIONS } from "./annotations.ts";

const DIALECT = "https://json-schema.org/draft/2020-12/schema";
const COUNT = { type: "integer", minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;
/** A whole number as text: annotations hold only text. */
const NUMBER_TEXT = { type: "string", pattern: "^[0-9]{1,15}$" } as const;
const TEXT = { type: "string" } as const;

const GRANT_FIELDS: Record<keyof typeof ANNOTATIONS, object> = {
  cluster: { ...TEXT, minLength: 1 },
  topology: { ...TEXT, description: "JSON that follows topology.schema.json; or 'see topology-ref'." },
  topologyRef: { ...TEXT, description: 'Empty, or JSON: {"sha256": "...", "configMaps": ["..."]}.' },
  topologyVersion: NUMBER_TEXT,
  processor: { enum: ["true", "false"] },
  revision: { ...TEXT, minLength: 1 },
  epoch: NUMBER_TEXT,
  partition: NUMBER_TEXT,
  transferLeaderTo: { ...TEXT, description: "An instance's name; empty: no request." },
  initialCluster: { ...TEXT, description: "name=address, comma-separated; or 'see topology-ref'." },
  initialClusterState: { enum: ["new", "existing"] },
  clusterToken: TEXT,
};
const REQUIRED = ["cluster", "epoch", "revision", "processor", "topology", "topologyVersion"] as const;

/** The contract's annotations of a member's object; others are not Lockstep's. */
export const GRANT_SCHEMA = {
  $schema: DIALECT,
  title: "Grant: the annotations of a member's copy of the object",
  type: "object",
  required: REQUIRED.map((field) => ANNOTATIONS[field]),
  properties: Object.fromEntries(
    Object.entries(ANNOTATIONS).map(([field, key]) => [key, GRANT_FIELDS[field as keyof typeof ANNOTATIONS]]),
  ),
};

export const TOPOLOGY_SCHEMA = {
  $schema: DIALECT,
  title: "Topology: every cluster and its instances; the four lists are parallel, by ascending ordinal",
  type: "array",
  items: {
    type: "object",
    required: ["cluster", "replicas", "ordinals", "instances", "addresses", "states"],
    properties: {
      cluster: TEXT,
      replicas: COUNT,
      ordinals: { type: "array", items: COUNT },
      instances: { type: "array", items: TEXT },
      addresses: { type: "array", items: TEXT },
      states: { type: "array", items: { enum: ["member", "joining", "leaving"] } },
    },
  },
};

export const REPORT_SCHEMA = {
  $schema: DIALECT,
  title: "Report: status.crossCluster of a member's object",
  type: "object",
  required: ["epoch", "revision", "phase", "desired", "updated", "ready"],
  properties: {
    epoch: { ...COUNT, description: "The epoch that was read at the start of the reconcile." },
    revision: { ...TEXT, description: "The revision that was read with it." },
    phase: { enum: ["Working", "Done", "Failed"] },
    desired: { ...COUNT, description: "Instances this cluster should run." },
    updated: { ...COUNT, description: "Instances that run `revision`." },
    ready: COUNT,
    leader: {
      ...TEXT,
      description: "The leading instance if it is in this cluster; empty: elsewhere; absent: unknown.",
    },
    members: { type: "array", items: TEXT, maxItems: 10_000, description: "The application's own list of members." },
    membersAt: { ...TEXT, format: "date-time", description: "When its leader confirmed the list." },
    message: TEXT,
  },
};
