import { anyObject, choice, flag, integer, list, object, optional, text, time } from "./build.ts";
import { expiresAt } from "./lifetime.ts";
import { LABEL_CHARS, MESSAGE_CHARS, NAME_CHARS, REASON_CHARS, REVISION_CHARS } from "./names.ts";

/**
 * `status` of CrossClusterStatefulset. It is a view of the ledger: Lockstep decides nothing from it, so losing it is
 * harmless. Most words have no enum here, because a status that the API server refuses helps no user.
 */

const count = (description: string) => optional(integer(description, { minimum: 0 }));
const word = (description: string) => optional(text(description, { maxLength: REASON_CHARS }));
const sentence = (description: string) => optional(text(description, { maxLength: MESSAGE_CHARS }));
const revision = (description: string) => optional(text(description, { maxLength: REVISION_CHARS }));
const wave = (description: string) => optional(integer(`${description} Waves count from 1.`, { minimum: 1 }));
const bigCount = (description: string) => optional(integer(description, { minimum: 0, format: "int64" }));

export const condition = object("One aspect of the state, as Kubernetes' tools read it.", {
  type: text("The aspect.", { minLength: 1, maxLength: 316 }),
  status: choice("Whether it holds.", ["True", "False", "Unknown"]),
  observedGeneration: optional(integer("The generation that it refers to.", { minimum: 0, format: "int64" })),
  lastTransitionTime: time("When status last changed."),
  reason: text("The reason in one word.", {
    minLength: 1,
    maxLength: 1024,
    pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
  }),
  message: text("The reason and the remedy, for users.", { maxLength: 32_768 }),
});

export const conditions = (description: string) =>
  optional(list(description, condition, { maxItems: 32, identity: ["type"] }));

const granted = object("The grant of the cluster; the cluster runs exactly this.", {
  revision: revision("The revision it may run."),
  replicas: count("Instances it may run."),
  partition: count("How many of its instances, the lowest ordinals first, stay on the old revision."),
  processor: optional(
    flag(
      "Whether its grant lets it act: create, update, change membership. False for a StatefulSet, which acts on its spec.",
    ),
  ),
  topologyVersion: bigCount("The version of the topology that it was given."),
  transferLeaderTo: optional(
    text("The instance, in another cluster, that should become the leader.", { maxLength: NAME_CHARS }),
  ),
  epoch: bigCount("Increased by every write to the cluster."),
});

const observed = object("The observed state of the cluster.", {
  revision: revision("The revision it runs."),
  replicas: count("Instances that exist."),
  ready: count("Instances that are ready."),
  updated: count("Instances on the granted revision."),
  epoch: bigCount("The epoch of the last write that it has acted on, if it reports that."),
});

/** What a step does: the phase of its cluster and, while it is the oldest one, of the application. */
const STEP_PHASES = ["Deploying", "Scaling", "Updating", "RollingBack", "TransferringLeader", "Adopting"] as const;
/** Every phase of an application. The reference lists exactly these. */
export const APPLICATION_PHASES = [
  ...STEP_PHASES,
  "Waiting",
  "Settled",
  "Halted",
  "Invalid",
  "Releasing",
  "TearingDown",
] as const;
/** Every phase of one cluster. The reference lists exactly these. */
export const CLUSTER_PHASES = [...STEP_PHASES, "Pending", "Settling", "Settled", "Lost"] as const;

export type StepPhase = (typeof STEP_PHASES)[number];
export type ApplicationPhase = (typeof APPLICATION_PHASES)[number];
export type ClusterPhase = (typeof CLUSTER_PHASES)[number];

const oneOf = (words: readonly string[]) => `${words.slice(0, -1).join(", ")} or ${words.at(-1)}`;

/** Evidence of one reason. The planner gives at most half as many. */
export const MAX_EVIDENCE = 8;
/**
 * Up to this many instances over all clusters, status lists each one: about 60 KB. Above it, status has counts only.
 */
export const MAX_LISTED_INSTANCES = 1000;
/**
 * Clusters that status has room for; so this is also the maximum number of clusters that one application may have used.
 */
export const MAX_STATUS_CLUSTERS = 256;
/** How many ordinals of one cluster are listed. */
export const MAX_LISTED_ORDINALS = 10_000;

/** Far above what 5,000 instances need, and below the API server's limit. A longer copy is left out. */
export const LEDGER_COPY_CHARS = 500_000;

const evidence = (description: string) =>
  optional(
    list(
      description,
      object("One observed value.", {
        object: text("The object that was read.", { maxLength: MESSAGE_CHARS }),
        field: text("The field.", { maxLength: MESSAGE_CHARS }),
        value: text("The value of the field.", { maxLength: MESSAGE_CHARS }),
        since: optional(time("Since when it has this value, if known.")),
      }),
      { maxItems: MAX_EVIDENCE },
    ),
  );

const instance = object("One instance.", {
  name: text("Its name inside the cluster.", { minLength: 1, maxLength: NAME_CHARS }),
  state: word(
    "Joining or Leaving: its membership changes. Unlisted: it exists without a grant. Absent: it is a member.",
  ),
  ready: optional(flag("Whether it is ready and not terminating. Absent: not known.")),
  updated: optional(flag("Whether it runs observed.revision. Absent: not known.")),
  terminating: optional(flag("Whether it is terminating. Absent: no, or not known.")),
  reason: word(
    "The pod's own reason why it is not ready, for example CrashLoopBackOff (exit code 1). Absent: not known.",
  ),
});

const cluster = object("One cluster.", {
  name: text("Name of the member cluster.", { minLength: 1, maxLength: LABEL_CHARS }),
  ordinals: optional(
    list("The ordinals it holds.", integer("An ordinal.", { minimum: 0 }), { maxItems: MAX_LISTED_ORDINALS }),
  ),
  instances: optional(
    list(
      "Each instance as last observed. Absent if the application has more than 1000 instances; then status has only counts.",
      instance,
      { maxItems: MAX_LISTED_INSTANCES },
    ),
  ),
  granted: optional(granted),
  observed: optional(observed),
  gate: word(
    "Open: the cluster has proven that it carried out its grant. Closed: not yet. Unknown: it cannot be observed. Absent: it has no grant.",
  ),
  turn: word(
    "Held: it may act. Returning: it may no longer act, and has not confirmed that yet. Absent: it may not act.",
  ),
  baseRevision: revision(
    "The last revision that the whole cluster completed; instances that are not updated run this one.",
  ),
  health: word("Healthy, Unhealthy, Unknown or Lost. Unknown never counts as healthy."),
  leader: optional(flag("Whether the leading instance is in this cluster.")),
  phase: word(`What happens in this cluster: ${oneOf(CLUSTER_PHASES)}.`),
  reason: word("Why it does not progress, in one word, for example WaitingForReady."),
  message: sentence("Why it does not progress, and the remedy."),
  evidence: evidence("The evidence for the reason."),
  since: optional(time("When phase or reason last changed.")),
});

const step = object("The step in progress. Absent: nothing is in progress.", {
  type: word(`What the step does: ${oneOf(STEP_PHASES)}.`),
  cluster: optional(text("The cluster it acts on.", { maxLength: LABEL_CHARS })),
  revision: revision("The revision that it rolls out."),
  wave: wave("The wave that the rollout is in. Absent: it has no waves, or has passed them all."),
  batch: count("The batch it belongs to, counted from 0."),
  since: optional(time("When it started.")),
  deadline: optional(time("When it counts as failed, unless it makes progress.")),
  reason: word("What it waits for, in one word."),
  message: sentence("What it waits for, and the remedy."),
});

const rollout = object("The rollout in progress. Absent: every cluster runs the desired revision.", {
  to: revision("The revision that it rolls out."),
  from: revision("The revision that it started from; `lockstep abort` returns to it."),
  type: word("Update, or RollBack."),
  since: optional(time("When it started.")),
  wave: wave("The first wave that it has not passed. Absent: it has no waves, or has passed them all."),
  awaitingApproval: optional(flag("Whether that wave is complete and waits for a RolloutApproval.")),
  soakUntil: optional(time("When the soak of that wave ends. Absent: it does not soak now.")),
  windowClosed: optional(flag("Whether it waits for a maintenance window to open.")),
  promoted: sentence("What a user promoted it past, which user, and when."),
});

/** Of a rollout of 30 clusters: what ran, what held it. A longer account is shortened. */
export const RECORD_CHARS = 8_000;

export const rolloutRecord = optional(
  text(
    "The account of its rollout, compressed, for the dashboard and `lockstep history`: what ran and what held it, from when to when. Kept for the ten newest revisions. The controller continues it and decides nothing from it.",
    { maxLength: RECORD_CHARS },
  ),
);

const historyEntry = object("One revision that you can return to.", {
  revision: text("Its name, for spec.undo.", { minLength: 1, maxLength: REVISION_CHARS }),
  number: bigCount("Increases with every revision."),
  createdAt: optional(time("When Lockstep created it.")),
  cause: sentence("What caused it: a change of the template, a restart, an undo."),
  promoted: sentence("What a user promoted its rollout past, which user, and when; only the last promotion."),
  record: rolloutRecord,
});

/** How many objects that a template names are listed; `lockstep wait` does not compare more. */
export const MAX_LISTED_DEPENDENCIES = 256;

const observedTemplate = object(
  "The template and the objects that it names, as of this status. Compare it with the objects to see whether the status includes your edit.",
  {
    uid: optional(text("The template's uid.", { maxLength: LABEL_CHARS })),
    generation: bigCount("The template's metadata.generation."),
    metadata: optional(text("A digest of the labels and annotations that reach members.", { maxLength: LABEL_CHARS })),
    revision: revision("The revision of this template. It is equal to updateRevision unless it was undone or failed."),
    dependencies: optional(
      list(
        "The ConfigMaps, Secrets and ServiceAccounts that it names.",
        object("One of them.", {
          kind: text("Its kind.", { minLength: 1, maxLength: REASON_CHARS }),
          namespace: optional(text("Its namespace, if it is not the template's.", { maxLength: LABEL_CHARS })),
          name: text("Its name.", { minLength: 1, maxLength: NAME_CHARS }),
          resourceVersion: optional(text("Its resourceVersion. Absent: it did not exist.", { maxLength: LABEL_CHARS })),
        }),
        { maxItems: MAX_LISTED_DEPENDENCIES },
      ),
    ),
  },
);

export const crossClusterStatefulsetStatus = object("The observed state.", {
  observedGeneration: bigCount("The generation of the spec that this status refers to."),
  observedTemplate: optional(observedTemplate),
  expiresAt,
  replicas: count("Instances over all clusters."),
  readyReplicas: count("Instances that are ready."),
  availableReplicas: count("Instances that have been ready for minReadySeconds."),
  currentReplicas: count("Instances on currentRevision."),
  updatedReplicas: count("Instances on updateRevision."),
  desiredReplicas: count("The desired number of instances."),
  currentRevision: revision(
    "The revision that the update started from; equal to updateRevision if no update is in progress.",
  ),
  updateRevision: revision("The desired revision."),
  rejectedRevision: revision(
    "A revision that failed and was rolled back, or was undone; Lockstep does not retry it until the template itself is edited.",
  ),
  previousRevision: revision(
    "The target of `lockstep undo` without a revision: the last revision that completed before the desired one.",
  ),
  selector: optional(text("Label selector of the instances' pods, for the scale subresource.", { maxLength: 4096 })),
  phase: word(`The state in one word: ${oneOf(APPLICATION_PHASES)}.`),
  reason: word("Why it does not progress, in one word."),
  message: sentence("Why it does not progress, and the remedy."),
  evidence: evidence("The evidence for the reason."),
  since: optional(time("When phase or reason last changed.")),
  display: optional(
    object("For kubectl get.", {
      ready: word("Ready of desired instances, for example 3/5."),
      updated: word("Updated of desired instances, for example 2/5."),
      kind: optional(word("Kind of the selected object, or of the inline template.")),
    }),
  ),
  leader: optional(
    object("The leading instance. Absent: not known.", {
      cluster: optional(text("The cluster it is in.", { maxLength: LABEL_CHARS })),
      instance: optional(text("Its name.", { maxLength: NAME_CHARS })),
    }),
  ),
  leaderTransfer: optional(
    object("The last request to move the leader (spec.transferLeader). Absent: there was none.", {
      to: optional(text("The requested cluster or instance.", { maxLength: NAME_CHARS })),
      at: optional(time("When it was requested.")),
      by: optional(text("Who asked.", { maxLength: NAME_CHARS })),
      state: word(
        "Waiting: it has not started. Asked: Lockstep has asked the operator. Moved, Stayed or Refused: it has ended.",
      ),
      message: sentence("What it waits for, or its result."),
      since: optional(time("When state last changed.")),
    }),
  ),
  topologyVersion: bigCount("The newest version of the topology that any cluster was given."),
  rollout: optional(rollout),
  step: optional(step),
  nextCheckTime: optional(
    time("When Lockstep checks again because of time alone: a deadline, the end of a soak, a window."),
  ),
  clusters: optional(
    list("Every cluster that has or should have instances.", cluster, {
      maxItems: MAX_STATUS_CLUSTERS,
      identity: ["name"],
    }),
  ),
  history: optional(list("Revisions, newest first.", historyEntry, { maxItems: 102, identity: ["revision"] })),
  workload: optional(anyObject("The workload's own status fields, aggregated over all clusters.")),
  ledger: optional(
    text("A copy of the ledger, compressed, for `lockstep plan` and `lockstep why`. The controller never reads it.", {
      maxLength: LEDGER_COPY_CHARS,
    }),
  ),
  conditions: conditions(
    "Available, Settled, Progressing, Degraded, Paused, NotFaultTolerant; SettingsConflict while a setting of the engine would work against a rollout.",
  ),
});
