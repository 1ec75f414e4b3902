import { anyObject, choice, flag, integer, list, map, object, optional, text, time } from "./build.ts";
import { promote } from "./ccs-spec.ts";
import { clusterChoice, someClusters } from "./clusters-spec.ts";
import { lookups, source } from "./dapp-source.ts";
import { lifetime } from "./lifetime.ts";
import {
  DAY_SECONDS,
  DNS_LABEL,
  DNS_SUBDOMAIN,
  KIND,
  LABEL_CHARS,
  MAX_CLUSTERS,
  NAME_CHARS,
  REVISION_CHARS,
  WEEK_SECONDS,
} from "./names.ts";
import { maintenanceWindows, progressDeadlineSeconds, waves } from "./rollout-spec.ts";

/** What a user declares: `spec` of DistributedApplication. */

const MAX_PATCHES = 64;
const MAX_DIVIDED = 64;

const patch = object("Changes to one object of the source, for these clusters only.", {
  target: object("The object.", {
    kind: text("Its kind.", { minLength: 1, maxLength: LABEL_CHARS, pattern: KIND }),
    name: text("Its name.", { minLength: 1, maxLength: NAME_CHARS }),
    namespace: optional(text("Its namespace. Absent: any.", { minLength: 1, maxLength: LABEL_CHARS })),
  }),
  patch: list("A JSON patch (RFC 6902).", anyObject("One operation: op, path, and value or from."), {
    minItems: 1,
    maxItems: 256,
  }),
});

const override = object(
  "What differs in some clusters.",
  {
    clusters: someClusters,
    values: optional(anyObject("Values for the Helm chart, merged over spec.source.helm.values.")),
    patches: optional(list("Patches of rendered objects, in this order.", patch, { maxItems: MAX_PATCHES })),
  },
  {
    rules: [
      {
        rule: "has(self.values) || has(self.patches)",
        message: "an override needs values or patches",
      },
    ],
  },
);

const failover = object(
  "Where the replicas go when a cluster cannot serve them. They come back when it serves again; nothing that serves is removed before.",
  {
    afterSeconds: integer("How long a cluster must be unreachable before the others take its replicas.", {
      minimum: 0,
      maximum: 30 * DAY_SECONDS,
      default: 60,
    }),
    unhealthyAfterSeconds: integer(
      "How long replicas must be missing in a reachable cluster before the others take them. 0: never.",
      { minimum: 0, maximum: 30 * DAY_SECONDS, default: 300 },
    ),
  },
);

const divided = object(
  "One workload whose replicas are divided over the clusters.",
  {
    kind: text("The workload's kind.", { minLength: 1, maxLength: LABEL_CHARS, pattern: KIND }),
    name: text("The workload's name.", { minLength: 1, maxLength: NAME_CHARS, pattern: DNS_SUBDOMAIN }),
    by: choice(
      "Weights: divided by Lockstep. Scheduler: by Karmada's own scheduler, which looks at a copy of the workload in this namespace that runs nowhere. serviceAccountName needs the right to create the workload's kind here. Not on other engines.",
      ["Weights", "Scheduler"],
      { default: "Weights" },
    ),
    preference: optional(
      choice(
        "With by: Scheduler. Spread: in proportion to what each cluster has room for. Pack: in as few clusters as possible. Absent: Spread.",
        ["Spread", "Pack"],
      ),
    ),
    total: optional(
      integer("Replicas over all clusters. Absent: what the rendered object says.", { minimum: 0, maximum: 100_000 }),
    ),
    weights: optional(
      map(
        "Each cluster's share, by cluster name; a cluster that is not named gets none. Absent: all clusters share equally.",
        integer("The weight.", { minimum: 0, maximum: 1_000_000 }),
        { maxProperties: MAX_CLUSTERS },
      ),
    ),
    failover: optional(failover),
  },
  {
    rules: [
      {
        rule: "self.by != 'Scheduler' || !has(self.weights)",
        message: "weights are for by: Weights: remove them, or remove by: Scheduler",
        fieldPath: ".weights",
      },
      {
        rule: "self.by == 'Scheduler' || !has(self.preference)",
        message: "preference is for by: Scheduler: remove it, or set by: Scheduler",
        fieldPath: ".preference",
      },
    ],
  },
);

const rollout = object(
  "How a new revision reaches the clusters.",
  {
    maxUnavailableClusters: integer(
      "How many clusters may be in the middle of a step, or unhealthy, at a time. A cluster that cannot be reached does not count, so that it blocks no other.",
      { minimum: 1, maximum: MAX_CLUSTERS, default: 1 },
    ),
    waves,
    soakSeconds: integer("How long a cluster must stay healthy on the new revision before it counts as done.", {
      minimum: 0,
      maximum: WEEK_SECONDS,
      default: 0,
    }),
    test: choice("Helm: the chart's test hooks must pass in each cluster before it counts as done.", ["None", "Helm"], {
      default: "None",
    }),
    paused: flag("Start no further step of the rollout. The step in progress completes.", { default: false }),
    progressDeadlineSeconds,
    onFailure: choice(
      "Pause: stop and wait for a user. Rollback: return every cluster to the old revision; status.rejectedRevision then prevents the same update from starting again.",
      ["Pause", "Rollback"],
      { default: "Pause" },
    ),
    maintenanceWindows,
  },
  { default: {} },
);

export const distributedApplicationSpec = object(
  "The desired state.",
  {
    source,
    lookups,
    targetNamespace: optional(
      text(
        "The namespace in the members. Objects without a namespace go there; others keep theirs, which needs the right to distribute there. Absent: the DistributedApplication's own. Immutable.",
        {
          minLength: 1,
          maxLength: LABEL_CHARS,
          pattern: DNS_LABEL,
          rules: [
            {
              rule: "self == oldSelf",
              message: "targetNamespace is immutable: create another DistributedApplication for another namespace",
            },
          ],
        },
      ),
    ),
    serviceAccountName: text(
      "The ServiceAccount in this namespace on whose behalf objects are distributed. On the hub it needs the verb distribute on every resource in targetNamespace, and escalate or bind for RBAC objects.",
      { minLength: 1, maxLength: NAME_CHARS, pattern: DNS_SUBDOMAIN, default: "default" },
    ),
    adopt: flag("Take over objects that exist in the members and that have no other owner.", { default: false }),
    clusters: clusterChoice,
    overrides: optional(list("What differs in some clusters; later ones win.", override, { maxItems: MAX_CLUSTERS })),
    replicas: optional(
      list("Workloads whose replicas are divided. Others run whole in every cluster.", divided, {
        maxItems: MAX_DIVIDED,
        identity: ["kind", "name"],
      }),
    ),
    rollout,
    prune: flag("Whether objects that a new revision no longer has are deleted, after it is healthy in the cluster.", {
      default: true,
    }),
    revisionHistoryLimit: integer("How many old revisions are kept, so that you can return to them.", {
      minimum: 0,
      maximum: 100,
      default: 10,
    }),
    revisionSettleSeconds: integer(
      "How long the source must stay unchanged before Lockstep creates a revision from it. 0: at once.",
      { minimum: 0, maximum: 3600, default: 2 },
    ),
    undo: optional(
      object(
        "Return to an earlier revision and stay there until the source changes; `lockstep undo` sets it. To revert an earlier undo or a rejection, undo to the source's own revision.",
        {
          to: text("The revision to run, one of status.history.", { minLength: 1, maxLength: REVISION_CHARS }),
          at: time("When it was requested. Lockstep acts on each request once: the same undo again needs a new time."),
        },
      ),
    ),
    promote,
    resumedAt: optional(time("Ends a halt (a failed step) each time this changes; `lockstep resume` sets it to now.")),
    deletionPolicy: choice(
      "What deleting this object, or no longer choosing a cluster, does. Teardown: the objects are deleted, in reverse order. Release: they stay, without Lockstep.",
      ["Teardown", "Release"],
      { default: "Teardown" },
    ),
    lifetime,
  },
  {
    rules: [
      {
        rule: "has(self.targetNamespace) == has(oldSelf.targetNamespace)",
        message: "targetNamespace is immutable: create another DistributedApplication for another namespace",
        fieldPath: ".targetNamespace",
      },
      {
        rule: "has(self.source.helm) || !has(self.overrides) || self.overrides.all(o, !has(o.values))",
        message: "overrides: values are for Helm charts only; use patches",
        fieldPath: ".overrides",
      },
      {
        rule: "self.rollout.onFailure != 'Rollback' || self.revisionHistoryLimit > 0",
        message:
          "onFailure: Rollback needs an earlier revision: set revisionHistoryLimit to at least 1, or use onFailure: Pause",
        fieldPath: ".rollout.onFailure",
      },
    ],
  },
);
