import { anyObject, choice, flag, integer, list, object, optional, text, time } from "./build.ts";
import { LABEL_CHARS, MESSAGE_CHARS, NAME_CHARS, REASON_CHARS, REVISION_CHARS } from "./names.ts";

/**
 * What Lockstep shows: `status` of CrossClusterStatefulset. It is a view of the ledger; nothing is decided from it, and
 * losing it loses nothing. Hence few words are fixed here: a status that cannot be written helps nobody.
 */

const count = (description: string) => optional(integer(description, { minimum: 0 }));
const word = (description: string) => optional(text(description, { maxLength: REASON_CHARS }));
const sentence = (description: string) => optional(text(description, { maxLength: MESSAGE_CHARS }));
const revision = (description: string) => optional(text(description, { maxLength: REVISION_CHARS }));
const bigCount = (description: string) => optional(integer(description, { minimum: 0, format: "int64" }));

export const condition = object("One aspect of the state, as Kubernetes' tools read it.", {
  type: text("What it is about.", { minLength: 1, maxLength: 316 }),
  status: choice("Whether it holds.", ["True", "False", "Unknown"]),
  observedGeneration: optional(integer("The generation it was judged at.", { minimum: 0, format: "int64" })),
  lastTransitionTime: time("When status last changed."),
  reason: text("One word for the reason.", {
    minLength: 1,
    maxLength: 1024,
    pattern: "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
  }),
  message: text("The reason and the remedy, for people.", { maxLength: 32_768 }),
});

export const conditions = (description: string) =>
  optional(list(description, condition, { maxItems: 32, identity: ["type"] }));

const granted = object("What the cluster has been given; it runs exactly that.", {
  revision: revision("The revision it may run."),
  replicas: count("Instances it may run."),
  partition: count("Its lowest instances that stay on the old revision."),
  processor: optional(flag("Whether it may act: create, update, change membership.")),
  topologyVersion: bigCount("The version of the topology it has been told."),
  transferLeaderTo: optional(text("The instance that should lead instead of one here.", { maxLength: NAME_CHARS })),
  epoch: bigCount("Raised by every write to the cluster."),
});

const observed = object("What the cluster shows.", {
  revision: revision("The revision it runs."),
  replicas: count("Instances that exist."),
  ready: count("Instances that are ready."),
  updated: count("Instances on the granted revision."),
  epoch: bigCount("The last write it has acted on, if it reports that."),
});

/** Proofs of one reason. The planner gives at most half as many; more would be a story, not evidence. */
export const MAX_EVIDENCE = 8;
/** Instances over all clusters that are listed one by one: about 60 KB. A larger application shows counts only. */
export const MAX_LISTED_INSTANCES = 1000;

const evidence = (description: string) =>
  optional(
    list(
      description,
      object("One observed value.", {
        object: text("What was looked at.", { maxLength: MESSAGE_CHARS }),
        field: text("Which of its fields.", { maxLength: MESSAGE_CHARS }),
        value: text("What it said.", { maxLength: MESSAGE_CHARS }),
        since: optional(time("Since when, where that is known.")),
      }),
      { maxItems: MAX_EVIDENCE },
    ),
  );

const instance = object("One instance.", {
  name: text("Its name inside the cluster.", { minLength: 1, maxLength: NAME_CHARS }),
  state: word(
    "Joining or Leaving while membership changes; Unlisted: it is there and was not granted. Absent: a member.",
  ),
  ready: optional(flag("Whether it is ready and not going away. Absent: not known.")),
  updated: optional(flag("Whether it runs observed.revision. Absent: not known.")),
  terminating: optional(flag("Whether it is going away. Absent: it is not, or that is not known.")),
});

const cluster = object("One cluster.", {
  name: text("Name of the member cluster.", { minLength: 1, maxLength: LABEL_CHARS }),
  ordinals: optional(list("The ordinals it holds.", integer("An ordinal.", { minimum: 0 }), { maxItems: 10_000 })),
  instances: optional(
    list(
      "Each instance as last seen. Absent when the application has more than 1000 of them: then only counts are kept.",
      instance,
      { maxItems: MAX_LISTED_INSTANCES },
    ),
  ),
  granted: optional(granted),
  observed: optional(observed),
  gate: word(
    "Open: it has proven that it did all it was given. Closed: not yet. Unknown: it cannot be seen. Absent: nothing granted.",
  ),
  turn: word("Held: it may act. Returning: it may not any more, and has not said so yet. Absent: it may not."),
  baseRevision: revision("The last revision that all of it completed: what instances run that are not updated."),
  health: word("Healthy, Unhealthy, Unknown or Lost. Unknown is never taken for healthy."),
  leader: optional(flag("Whether the leading instance is here.")),
  phase: word("What is happening here, for example Updating."),
  reason: word("Why it is not further, in one word, for example WaitingForReady."),
  message: sentence("Why it is not further, and the remedy."),
  evidence: evidence("What the reason rests on."),
  since: optional(time("When phase or reason last changed.")),
});

const step = object("The step in progress. Absent: nothing is in progress.", {
  type: word("What kind of step, for example Update, Scale or Topology."),
  cluster: optional(text("The cluster it acts on.", { maxLength: LABEL_CHARS })),
  revision: revision("The revision it brings."),
  wave: count("The wave it belongs to, counted from 0."),
  batch: count("The batch it belongs to, counted from 0."),
  since: optional(time("When it began.")),
  deadline: optional(time("When it counts as failed unless it progresses.")),
  reason: word("What it waits for, in one word."),
  message: sentence("What it waits for, and the remedy."),
});

const historyEntry = object("One revision that can be gone back to.", {
  revision: text("Its name, as spec.undo takes it.", { minLength: 1, maxLength: REVISION_CHARS }),
  number: bigCount("Rises with every revision."),
  createdAt: optional(time("When it was first seen.")),
  cause: sentence("What made it: a change of the template, a restart, an undo."),
});

export const crossClusterStatefulsetStatus = object("What is so, as last seen.", {
  observedGeneration: bigCount("The generation of the spec this status speaks of."),
  replicas: count("Instances over all clusters."),
  readyReplicas: count("Instances that are ready."),
  availableReplicas: count("Instances that have been ready for minReadySeconds."),
  currentReplicas: count("Instances on currentRevision."),
  updatedReplicas: count("Instances on updateRevision."),
  desiredReplicas: count("Instances there should be."),
  currentRevision: revision("The revision the update comes from; equal to updateRevision when none is in progress."),
  updateRevision: revision("The revision wanted now."),
  rejectedRevision: revision("A revision that failed and was rolled back; it is not tried again."),
  selector: optional(text("Label selector of the instances' pods, for the scale subresource.", { maxLength: 4096 })),
  phase: word("In one word: Deploying, Updating, Scaling, Paused, Degraded, Idle and so on."),
  reason: word("Why it is not further, in one word."),
  message: sentence("Why it is not further, and the remedy."),
  evidence: evidence("What the reason rests on."),
  display: optional(
    object("Figures as kubectl get shows them.", {
      ready: word("Ready of desired instances, for example 3/5."),
      updated: word("Updated of desired instances, for example 2/5."),
    }),
  ),
  leader: optional(
    object("The leading instance. Absent: not known.", {
      cluster: optional(text("The cluster it is in.", { maxLength: LABEL_CHARS })),
      instance: optional(text("Its name.", { maxLength: NAME_CHARS })),
    }),
  ),
  topologyVersion: bigCount("The newest version of the topology that any cluster has been told."),
  step: optional(step),
  nextCheckTime: optional(time("When time alone will change something: a deadline, the end of a soak, a window.")),
  clusters: optional(
    list("Every cluster that holds or should hold instances.", cluster, { maxItems: 256, identity: ["name"] }),
  ),
  history: optional(list("Revisions, newest first.", historyEntry, { maxItems: 102, identity: ["revision"] })),
  workload: optional(anyObject("The workload's own status fields, put together over all clusters.")),
  conditions: conditions("Available, Progressing, Degraded, Paused, NotFaultTolerant."),
});
