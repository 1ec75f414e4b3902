import { choice, embeddedObject, flag, integer, list, map, object, optional, text } from "./build.ts";
import { lifetime } from "./lifetime.ts";
import { DAY_SECONDS, DNS_SUBDOMAIN, HOUR_SECONDS, LABEL_CHARS, MAX_CLUSTERS, NAME_CHARS } from "./names.ts";

/** What a user declares: `spec` of CrossClusterJob. */

const YEAR_SECONDS = 366 * DAY_SECONDS;

const clusterName = (description: string) =>
  text(description, { minLength: 1, maxLength: LABEL_CHARS, pattern: DNS_SUBDOMAIN });

const clusters = object(
  "The clusters that may do the work: exactly one of names, selector and placementRef.",
  {
    names: optional(
      list(
        "Names of member clusters. The work starts in the first one that can take it.",
        clusterName("Name of a member cluster."),
        { minItems: 1, maxItems: MAX_CLUSTERS, identity: "set" },
      ),
    ),
    selector: optional(
      object("Selects clusters by their labels; an empty one selects all.", {
        matchLabels: optional(
          map("Labels the cluster must carry.", text("The label's value.", { maxLength: LABEL_CHARS }), {
            maxProperties: 32,
          }),
        ),
      }),
    ),
    placementRef: optional(
      object("An object of the engine that selects clusters, in this namespace (Open Cluster Management: Placement).", {
        name: text("Its name.", { minLength: 1, maxLength: NAME_CHARS, pattern: DNS_SUBDOMAIN }),
      }),
    ),
  },
  {
    rules: [
      {
        rule: "[has(self.names), has(self.selector), has(self.placementRef)].filter(given, given).size() == 1",
        message: "clusters: set exactly one of names, selector and placementRef",
      },
    ],
  },
);

const onClusterLoss = object(
  "What happens when the cluster of an attempt is lost.",
  {
    afterSeconds: integer("How long a cluster must be unreachable before it counts as lost.", {
      minimum: 0,
      maximum: 30 * DAY_SECONDS,
      default: 300,
    }),
    guarantee: choice(
      "Wait: continue elsewhere only on evidence that the attempt is over, or when a user confirms the loss. AtLeastOnce: continue elsewhere at once; the work may run twice. Exclusive: never two attempts at once; a cluster that is cut off ends its own work at a deadline, and another one starts after it.",
      ["Wait", "AtLeastOnce", "Exclusive"],
      { default: "Wait" },
    ),
    windowSeconds: integer(
      "Exclusive: how long an attempt may run without a report, before its own cluster ends it. A hub that is down for longer ends the work.",
      { minimum: 10, maximum: DAY_SECONDS, default: 900 },
    ),
    clockAllowanceSeconds: integer(
      "Exclusive: how long to wait beyond deadline and grace period, for clocks that are slow or set back.",
      { minimum: 0, maximum: HOUR_SECONDS, default: 60 },
    ),
    podDeadlineSeconds: optional(
      integer(
        "The longest that one pod may run. The node's kubelet enforces it, also while its cluster's control plane is down. A lost attempt counts as over only after so long beyond its deadline. It cannot be changed.",
        { minimum: 1, maximum: YEAR_SECONDS },
      ),
    ),
    confirmedLost: optional(
      list(
        "Clusters that a user has confirmed as lost; `lockstep confirm-lost` writes it. Their attempts count as over.",
        object("One confirmed loss.", {
          name: clusterName("Name of the member cluster."),
          at: text("When the user confirmed it. It counts only for a loss that had started by that time.", {
            format: "date-time",
            maxLength: 40,
          }),
        }),
        { maxItems: MAX_CLUSTERS, identity: ["name"] },
      ),
    ),
  },
  { default: {} },
);

const failover = object(
  "When the work continues in another cluster.",
  {
    onFailure: choice(
      "Continue: if the member's job has failed, another attempt starts, in another cluster if there is one. Stop: the CrossClusterJob fails.",
      ["Continue", "Stop"],
      { default: "Continue" },
    ),
    podFailures: integer(
      "Continue elsewhere after so many failed pods of one attempt; 0: only when the job has failed.",
      {
        minimum: 0,
        maximum: 100_000,
        default: 0,
      },
    ),
    pendingAfterSeconds: integer(
      "Continue elsewhere when no pod of an attempt has become ready for so long; 0: never.",
      {
        minimum: 0,
        maximum: 30 * DAY_SECONDS,
        default: 0,
      },
    ),
    onClusterLoss,
    maxAttempts: integer(
      "The CrossClusterJob fails after so many attempts that failed, or whose objects were deleted in their clusters. It moves as often because of pendingAfterSeconds; then it waits.",
      { minimum: 1, maximum: 100, default: 3 },
    ),
  },
  { default: {} },
);

/** CEL. Rules of a CRD see only apiVersion, kind and name of an embedded object; the rest is in `job-template.ts`. */
const IS_JOB = "(self.template.apiVersion == 'batch/v1' && self.template.kind == 'Job')";
const IS_EXCLUSIVE = "self.failover.onClusterLoss.guarantee == 'Exclusive'";

export const crossClusterJobSpec = object(
  "Work that runs to its end in one cluster or several, and continues in another when a cluster fails.",
  {
    template: embeddedObject(
      "The job: a batch/v1 Job, or any kind whose end the interpreter can tell (RayJob, SparkApplication, PyTorchJob, TFJob, Workflow, Volcano Job). It cannot be changed. Each attempt is an object of its own in its cluster, named after metadata.name, which defaults to the CrossClusterJob's own name.",
    ),
    clusters,
    clusterParallelism: integer("How many clusters work at a time. More than one needs a division.", {
      minimum: 1,
      maximum: MAX_CLUSTERS,
      default: 1,
    }),
    division: choice(
      "None: one cluster at a time does all of it. Indexes: the indexes of an Indexed Job are split; its program reads LOCKSTEP_INDEXES. Completions: the completions of a Job without indexes are split.",
      ["None", "Indexes", "Completions"],
      { default: "None" },
    ),
    failover,
    suspend: flag("Stops the pods of a Job and starts no attempt; what is done is kept.", { default: false }),
    activeDeadlineSeconds: optional(
      integer("The CrossClusterJob fails if it has not ended this long after its start. Absent: no limit.", {
        minimum: 1,
        maximum: YEAR_SECONDS,
      }),
    ),
    ttlSecondsAfterFinished: optional(
      integer("The object is deleted this long after its end. Absent: it is kept.", {
        minimum: 0,
        maximum: YEAR_SECONDS,
      }),
    ),
    memberCleanup: choice(
      "When an attempt's object is deleted in its cluster. WhenFinished: when its end is recorded. AfterTTL: with the CrossClusterJob. Never: it is left there.",
      ["WhenFinished", "AfterTTL", "Never"],
      { default: "WhenFinished" },
    ),
    lifetime,
    retry: optional(
      text("A new value starts a failed CrossClusterJob again, with what is left; `lockstep retry` writes it.", {
        minLength: 1,
        maxLength: 64,
      }),
    ),
  },
  {
    rules: [
      {
        rule: "self.template.apiVersion == oldSelf.template.apiVersion && self.template.kind == oldSelf.template.kind && self.division == oldSelf.division",
        message: "template and division are immutable: create another CrossClusterJob for other work",
      },
      {
        rule: "self.failover.onClusterLoss.guarantee == oldSelf.failover.onClusterLoss.guarantee || (self.failover.onClusterLoss.guarantee != 'Exclusive' && oldSelf.failover.onClusterLoss.guarantee != 'Exclusive')",
        message:
          "failover.onClusterLoss.guarantee: Exclusive cannot be set or taken back later, because an attempt is created for it",
      },
      {
        rule: "has(self.failover.onClusterLoss.podDeadlineSeconds) == has(oldSelf.failover.onClusterLoss.podDeadlineSeconds) && (!has(self.failover.onClusterLoss.podDeadlineSeconds) || self.failover.onClusterLoss.podDeadlineSeconds == oldSelf.failover.onClusterLoss.podDeadlineSeconds)",
        message:
          "failover.onClusterLoss.podDeadlineSeconds is immutable: a cluster refuses to change the pods of a Job that exists",
      },
      {
        rule: "self.clusterParallelism == 1 || self.division != 'None'",
        message: "clusterParallelism: more than one cluster at a time needs division: Indexes or Completions",
      },
      {
        rule: `self.division == 'None' || ${IS_JOB}`,
        message: "division: Indexes and Completions need a batch/v1 Job",
      },
      {
        rule: `!(${IS_EXCLUSIVE}) || ${IS_JOB}`,
        message:
          "failover.onClusterLoss.guarantee: Exclusive needs a batch/v1 Job, because only Kubernetes' Job controller ends its work at a deadline by itself",
      },
      {
        rule: `self.memberCleanup != 'AfterTTL' || ${IS_JOB}`,
        message:
          "memberCleanup: AfterTTL needs a batch/v1 Job; another kind could be created again by its dispatch object, so use WhenFinished or Never",
      },
    ],
  },
);
