import { choice, flag, integer, list, numberOrPercent, object, optional, text } from "./build.ts";
import { DAY_SECONDS, DNS_SUBDOMAIN, HOUR_SECONDS, LABEL_CHARS, MAX_CLUSTERS, WEEK_SECONDS } from "./names.ts";

/** How a change of the template reaches the clusters: `spec.updateStrategy`. */

// Limits that keep the rule over all waves within Kubernetes' cost limit; ten times what users have asked for.
const MAX_WAVES = 16;
const MAX_CLUSTERS_IN_WAVE = 32;

const wave = object("One wave: clusters that are updated before any cluster of a later wave.", {
  clusters: list(
    "Names of the clusters of this wave. Within the wave, spec.updateStrategy.rollingUpdate.order applies.",
    text("Name of a member cluster.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN }),
    { minItems: 1, maxItems: MAX_CLUSTERS_IN_WAVE, identity: "set" },
  ),
  soakSeconds: integer(
    "How long the whole wave must stay updated and healthy before the next wave may start. Any interruption restarts the time.",
    { minimum: 0, maximum: WEEK_SECONDS, default: 0 },
  ),
  approval: choice(
    "Whether the rollout needs approval after this wave. Manual: when the wave is complete and has soaked, the next wave starts only after a user creates a RolloutApproval for this object, the revision and this wave. Automatic: no approval is needed.",
    ["Automatic", "Manual"],
    { default: "Automatic" },
  ),
});

const maintenanceWindow = object("One recurring period in which steps may start.", {
  cron: text(
    "When the window opens: minute, hour, day of month, month, day of week, as cron writes them, for example 0 2 * * *.",
    {
      maxLength: 128,
      rules: [
        {
          rule: "self.matches('^ *([-0-9*,/a-zA-Z]+ +){4}[-0-9*,/a-zA-Z]+ *$')",
          message:
            "cron must have five fields (minute, hour, day of month, month, day of week), for example 0 2 * * * for every night at two",
        },
      ],
    },
  ),
  durationSeconds: integer("How long the window stays open.", { minimum: 60, maximum: WEEK_SECONDS }),
  timeZone: text("Name of the time zone the cron expression is read in, for example Europe/Berlin.", {
    minLength: 1,
    maxLength: 64,
    pattern: "^[A-Za-z0-9_+/-]+$",
    default: "UTC",
  }),
});

export const waves = optional(
  list(
    "Groups of clusters that are updated one group after the other. Clusters that no wave names form a last wave. Absent: all clusters are one wave.",
    wave,
    {
      maxItems: MAX_WAVES,
      rules: [
        {
          rule: "self.all(w, w.clusters.all(c, self.exists_one(v, c in v.clusters)))",
          message: "a cluster is in more than one wave: name each cluster in one wave only",
        },
      ],
    },
  ),
);

export const maintenanceWindows = optional(
  list(
    "When steps of an update may start. Absent: at any time. A step that has started always completes.",
    maintenanceWindow,
    { maxItems: 20 },
  ),
);

export const progressDeadlineSeconds = integer(
  "How long a step may make no progress before it counts as failed and onFailure applies.",
  { minimum: 1, maximum: WEEK_SECONDS, default: 600 },
);

const rollingUpdate = object(
  "Settings of a rolling update. If settings conflict, partition takes precedence, then waves, batches, and maxUnavailable.",
  {
    partition: integer(
      "A rank in the global order: this many instances, the lowest ranks first, stay on the old revision; the others are updated.",
      { minimum: 0, default: 0 },
    ),
    maxUnavailable: numberOrPercent(
      "How many instances over all clusters the update may make unavailable at a time: a number, or a percentage of all instances (rounded up). Never more than spec.quorum allows.",
      {
        default: 1,
        rules: [
          {
            rule: "type(self) == int ? self >= 1 : self.matches('^([1-9][0-9]?|100)%$')",
            message: "maxUnavailable must be a number of at least 1, or a percentage from 1% to 100%",
          },
        ],
      },
    ),
    batches: optional(
      list(
        "Instances released at a time: first batches[0], then batches[1] and so on; the last number repeats. Absent: as many as maxUnavailable allows. A cluster whose workload has no partition of its own is updated as a whole.",
        integer("Instances in this batch.", { minimum: 1, maximum: 10_000 }),
        { minItems: 1, maxItems: 100 },
      ),
    ),
    order: choice(
      "LeaderLast: unhealthy members first, then followers, the leader's cluster last. Listed: in the order of spec.topology.clusters.",
      ["LeaderLast", "Listed"],
      { default: "LeaderLast" },
    ),
    leaderTransfer: optional(
      object(
        "Ask the operator to move the leader to an updated instance before the leader's cluster is updated. Absent: Lockstep does not ask, because the operator does not support it.",
        {
          timeoutSeconds: integer("How long to wait for the move before the update continues without it.", {
            minimum: 1,
            maximum: HOUR_SECONDS,
            default: 60,
          }),
        },
      ),
    ),
    waves,
    paused: flag("Start no further step of the update. The step in progress completes, and scaling continues.", {
      default: false,
    }),
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

export const updateStrategy = object(
  "How changes of the selected object reach the clusters.",
  {
    type: choice(
      "RollingUpdate: cluster by cluster, in one global order, never below quorum. OnDelete: an instance gets the new revision only after a user or another controller deletes it.",
      ["RollingUpdate", "OnDelete"],
      { default: "RollingUpdate" },
    ),
    rollingUpdate,
  },
  { default: {} },
);

export const failover = object(
  "What happens when a cluster is lost. Lockstep never deletes anything on a cluster that is unreachable or has just returned.",
  {
    policy: choice(
      "Wait: the other clusters continue, and Lockstep waits for the lost instances. Replace: Lockstep recreates them in other clusters, after the application's own member list no longer contains them or a user has confirmed the loss.",
      ["Wait", "Replace"],
      { default: "Wait" },
    ),
    afterSeconds: integer("How long a cluster must be unreachable before it counts as lost.", {
      minimum: 0,
      maximum: 30 * DAY_SECONDS,
      default: 300,
    }),
    confirmedLost: optional(
      list(
        "Clusters that a user has confirmed as lost; `lockstep confirm-lost` writes it. The policy Replace accepts it as evidence.",
        object("One confirmed loss.", {
          name: text("Name of the member cluster.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN }),
          at: text(
            "When the user confirmed it. It counts only for a loss that had started by that time, never for a later one.",
            {
              format: "date-time",
              maxLength: 40,
            },
          ),
        }),
        { maxItems: MAX_CLUSTERS, identity: ["name"] },
      ),
    ),
    confirmedDrain: optional(
      list(
        "Clusters that returned after their instances were replaced, and that a user has allowed Lockstep to drain. Without this, Lockstep removes nothing there.",
        text("Name of a member cluster.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN }),
        { maxItems: MAX_CLUSTERS, identity: "set" },
      ),
    ),
  },
  { default: {} },
);
