import { choice, flag, integer, list, numberOrPercent, object, optional, text } from "./build.ts";
import { DAY_SECONDS, DNS_SUBDOMAIN, HOUR_SECONDS, LABEL_CHARS, MAX_CLUSTERS, WEEK_SECONDS } from "./names.ts";

/** How a change of the template reaches the clusters: `spec.updateStrategy`. */

// Bounds that keep the rule over all waves within Kubernetes' cost limit; ten times what anybody has asked for.
const MAX_WAVES = 16;
const MAX_CLUSTERS_IN_WAVE = 32;

const wave = object("One wave: clusters that are updated before any cluster of a later wave.", {
  clusters: list(
    "Names of the clusters of this wave. Inside the wave they go by spec.updateStrategy.rollingUpdate.order.",
    text("Name of a member cluster.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN }),
    { minItems: 1, maxItems: MAX_CLUSTERS_IN_WAVE, identity: "set" },
  ),
  soakSeconds: integer(
    "How long the whole wave must stay updated and healthy before the next wave may begin. Any miss starts the time again.",
    { minimum: 0, maximum: WEEK_SECONDS, default: 0 },
  ),
  approval: choice(
    "Whether a person is asked after this wave. Manual: once it is complete and has soaked, the next wave begins only after a RolloutApproval names this object, the revision and this wave. Automatic: nobody is asked.",
    ["Automatic", "Manual"],
    { default: "Automatic" },
  ),
});

const maintenanceWindow = object("One recurring span of time in which steps may begin.", {
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

const rollingUpdate = object(
  "How a rolling update goes. Where settings compete, partition comes first, then waves, batches, and maxUnavailable.",
  {
    partition: integer(
      "A rank in the global order: the first so many instances stay on the old revision, the others are updated.",
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
        "Instances released at a time: first batches[0], then batches[1] and so on; the last number repeats. Absent: as many as maxUnavailable allows. A cluster whose workload has no partition of its own is indivisible.",
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
        "Ask the application to move its leader to an updated instance before the leader's cluster is updated. Absent: it is not asked, because the operator cannot do it.",
        {
          timeoutSeconds: integer("How long to wait for the move before going on without it.", {
            minimum: 1,
            maximum: HOUR_SECONDS,
            default: 60,
          }),
        },
      ),
    ),
    waves: optional(
      list(
        "Groups of clusters that are updated one group after the other. Clusters that no wave names form a last wave. Absent: all clusters are one wave.",
        wave,
        {
          maxItems: MAX_WAVES,
          rules: [
            {
              rule: "self.all(w, w.clusters.all(c, self.exists_one(v, c in v.clusters)))",
              message: "a cluster stands in more than one wave: name each cluster in one wave only",
            },
          ],
        },
      ),
    ),
    paused: flag("Begin no further step of the update. The step in progress is finished; scaling goes on.", {
      default: false,
    }),
    progressDeadlineSeconds: integer(
      "How long a step may take without progress before it counts as failed, and onFailure decides.",
      { minimum: 1, maximum: WEEK_SECONDS, default: 600 },
    ),
    onFailure: choice(
      "Pause: stop and wait for a person. Rollback: return every cluster to the old revision; status.rejectedRevision then keeps the template from starting the same update again.",
      ["Pause", "Rollback"],
      { default: "Pause" },
    ),
    maintenanceWindows: optional(
      list(
        "When steps of an update may begin. Absent: at any time. A step that has begun is always finished.",
        maintenanceWindow,
        {
          maxItems: 20,
        },
      ),
    ),
  },
  { default: {} },
);

export const updateStrategy = object(
  "How changes of the selected object reach the clusters.",
  {
    type: choice(
      "RollingUpdate: cluster by cluster, in one global order, never below quorum. OnDelete: a cluster takes the new revision only for instances that somebody deletes.",
      ["RollingUpdate", "OnDelete"],
      { default: "RollingUpdate" },
    ),
    rollingUpdate,
  },
  { default: {} },
);

export const failover = object(
  "What happens when a cluster is lost. Nothing is ever deleted on a cluster that cannot be reached or has just returned.",
  {
    policy: choice(
      "Wait: the others go on, the lost instances are awaited. Replace: their instances are made anew elsewhere, once the application's own membership shows them removed or a person has confirmed the loss.",
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
        "Clusters a person has declared lost; `lockstep confirm-lost` writes it. Replace takes it as evidence.",
        object("One declared loss.", {
          name: text("Name of the member cluster.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN }),
          at: text("When it was declared. It counts only for a loss that had begun by then, never for a later one.", {
            format: "date-time",
            maxLength: 40,
          }),
        }),
        { maxItems: MAX_CLUSTERS, identity: ["name"] },
      ),
    ),
    confirmedDrain: optional(
      list(
        "Clusters that have returned after their instances were replaced, and that a person has allowed to be drained. Without it nothing is removed there.",
        text("Name of a member cluster.", { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN }),
        { maxItems: MAX_CLUSTERS, identity: "set" },
      ),
    ),
  },
  { default: {} },
);
