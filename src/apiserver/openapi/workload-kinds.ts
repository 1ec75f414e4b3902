import { condition } from "./core-kinds.ts";
import {
  CORE,
  choice,
  flag,
  int32,
  int64,
  intOrString,
  keyedList,
  list,
  META,
  object,
  open,
  ref,
  type Schema,
  text,
  time,
} from "./fields.ts";
import { kind } from "./meta-kinds.ts";

const APPS = "io.k8s.api.apps.v1";
const BATCH = "io.k8s.api.batch.v1";

const template = (description: string) => ref(CORE, "PodTemplateSpec", description);
const selector = (description: string) => ref(META, "LabelSelector", description);

/** All kinds that create pods. */
export const WORKLOAD_DEFINITIONS: Record<string, Schema> = {
  [`${APPS}.StatefulSet`]: kind("Pods with stable names and volumes.", {
    spec: ref(APPS, "StatefulSetSpec", "The desired state."),
    status: ref(APPS, "StatefulSetStatus", "The state as last seen."),
  }),
  [`${APPS}.StatefulSetSpec`]: object(
    "The pods, their number, and how they are replaced.",
    {
      minReadySeconds: int32("Seconds a pod must be ready before it counts as available."),
      ordinals: object("How the pods are numbered.", { start: int32("The first ordinal; 0 if absent.") }),
      persistentVolumeClaimRetentionPolicy: object("What happens to the pods' claims.", {
        whenDeleted: choice("When the set is deleted.", "Retain", "Delete"),
        whenScaled: choice("When the set is scaled down.", "Retain", "Delete"),
      }),
      podManagementPolicy: choice("Whether pods start one by one.", "OrderedReady", "Parallel"),
      replicas: int32("How many pods; 1 if absent."),
      revisionHistoryLimit: int32("How many old revisions are kept; 10 if absent."),
      selector: selector("Which pods are the set's own. Cannot be changed."),
      serviceName: text("The headless service that names the pods."),
      template: template("The pods."),
      updateStrategy: object("How pods are replaced when the template changes.", {
        rollingUpdate: object("Details of RollingUpdate.", {
          maxUnavailable: intOrString("How many pods may be down at a time."),
          partition: int32("Pods below this ordinal keep the old revision."),
        }),
        type: choice("By the controller, or by deleting pods.", "RollingUpdate", "OnDelete"),
      }),
      volumeClaimTemplates: list(ref(CORE, "PersistentVolumeClaim"), "Claims created for every pod."),
    },
    ["selector", "template"],
  ),
  [`${APPS}.StatefulSetStatus`]: object(
    "The pods as last seen.",
    {
      availableReplicas: int32("Pods ready for minReadySeconds."),
      collisionCount: int32("Collisions of revision names."),
      conditions: keyedList(condition(), "type", "Conditions of the set."),
      currentReplicas: int32("Pods of the current revision."),
      currentRevision: text("The revision the update started from."),
      observedGeneration: int64("The generation this was concluded from."),
      readyReplicas: int32("Ready pods."),
      replicas: int32("Existing pods."),
      updateRevision: text("The revision being rolled out."),
      updatedReplicas: int32("Pods of the update revision."),
    },
    ["replicas"],
  ),
  [`${APPS}.Deployment`]: kind("Pods that are all alike.", {
    spec: object(
      "The pods, their number, and how they are replaced.",
      {
        minReadySeconds: int32("Seconds a pod must be ready before it counts as available."),
        paused: flag("True: nothing is rolled out."),
        progressDeadlineSeconds: int32("Seconds until a rollout counts as failed."),
        replicas: int32("How many pods; 1 if absent."),
        revisionHistoryLimit: int32("How many old revisions are kept."),
        selector: selector("Which pods are its own. Cannot be changed."),
        strategy: {
          ...object("How pods are replaced.", {
            rollingUpdate: object("Details of RollingUpdate.", {
              maxSurge: intOrString("How many pods may be added."),
              maxUnavailable: intOrString("How many pods may be down at a time."),
            }),
            type: choice("One by one, or all at once.", "RollingUpdate", "Recreate"),
          }),
          "x-kubernetes-patch-strategy": "retainKeys",
        },
        template: template("The pods."),
      },
      ["selector", "template"],
    ),
    status: object("The pods as last seen.", {
      availableReplicas: int32("Pods ready for minReadySeconds."),
      collisionCount: int32("Collisions of revision names."),
      conditions: keyedList(
        condition({ lastUpdateTime: time("When it was last reported.") }),
        "type",
        "Available and Progressing.",
      ),
      observedGeneration: int64("The generation this was concluded from."),
      readyReplicas: int32("Ready pods."),
      replicas: int32("Existing pods."),
      terminatingReplicas: int32("Terminating pods."),
      unavailableReplicas: int32("Pods still missing."),
      updatedReplicas: int32("Pods of the newest template."),
    }),
  }),
  [`${APPS}.ReplicaSet`]: kind("A number of pods that are all alike.", {
    spec: object(
      "The pods and their number.",
      {
        minReadySeconds: int32("Seconds a pod must be ready before it counts as available."),
        replicas: int32("How many pods; 1 if absent."),
        selector: selector("Which pods are its own."),
        template: template("The pods."),
      },
      ["selector"],
    ),
    status: object("The pods as last seen.", {
      availableReplicas: int32("Pods ready for minReadySeconds."),
      conditions: keyedList(condition(), "type", "Conditions of the set."),
      fullyLabeledReplicas: int32("Pods with all of the template's labels."),
      observedGeneration: int64("The generation this was concluded from."),
      readyReplicas: int32("Ready pods."),
      replicas: int32("Existing pods."),
      terminatingReplicas: int32("Terminating pods."),
    }),
  }),
  [`${APPS}.ControllerRevision`]: kind(
    "A snapshot of a controller's state.",
    { data: open("The state."), revision: int64("The snapshot's number.") },
    ["revision"],
  ),
  [`${APPS}.DaemonSet`]: kind("One pod on every node.", {
    spec: object(
      "The pods and how they are replaced.",
      {
        minReadySeconds: int32("Seconds a pod must be ready before it counts as available."),
        revisionHistoryLimit: int32("How many old revisions are kept; 10 if absent."),
        selector: selector("Which pods are its own. Cannot be changed."),
        template: template("The pods."),
        updateStrategy: object("How pods are replaced.", {
          rollingUpdate: object("Details of RollingUpdate.", {
            maxSurge: intOrString("How many pods may be added."),
            maxUnavailable: intOrString("How many pods may be down at a time."),
          }),
          type: choice("By the controller, or by deleting pods.", "RollingUpdate", "OnDelete"),
        }),
      },
      ["selector", "template"],
    ),
    status: object("The pods as last seen.", {
      collisionCount: int32("Collisions of revision names."),
      conditions: keyedList(condition(), "type", "Conditions of the set."),
      currentNumberScheduled: int32("Nodes that run a pod."),
      desiredNumberScheduled: int32("Nodes that should."),
      numberAvailable: int32("Nodes with an available pod."),
      numberMisscheduled: int32("Nodes that run one and should not."),
      numberReady: int32("Nodes with a ready pod."),
      numberUnavailable: int32("Nodes still without one."),
      observedGeneration: int64("The generation this was concluded from."),
      updatedNumberScheduled: int32("Nodes with a pod of the newest template."),
    }),
  }),
  [`${BATCH}.Job`]: kind("Pods that run to their end.", {
    spec: ref(BATCH, "JobSpec", "The desired state."),
    status: object("The state as last seen.", {
      active: int32("Pods that run."),
      completedIndexes: text("Indexes that are done."),
      completionTime: time("When it was done."),
      conditions: keyedList(
        condition({ lastProbeTime: time("When it was last checked.") }),
        "type",
        "Complete, Failed or Suspended.",
      ),
      failed: int32("Pods that failed."),
      failedIndexes: text("Indexes that failed."),
      ready: int32("Pods that are ready."),
      startTime: time("When it was started."),
      succeeded: int32("Pods that succeeded."),
      terminating: int32("Terminating pods."),
      uncountedTerminatedPods: open("Pods not yet counted."),
    }),
  }),
  [`${BATCH}.JobSpec`]: object(
    "The pods and when it is done.",
    {
      activeDeadlineSeconds: int64("Seconds until it counts as failed."),
      backoffLimit: int32("How many failures are retried."),
      backoffLimitPerIndex: int32("How many failures are retried per index."),
      completionMode: choice("What counts as done.", "NonIndexed", "Indexed"),
      completions: int32("How many pods must succeed."),
      managedBy: text("The controller in charge."),
      manualSelector: flag("Whether the selector was chosen by hand."),
      maxFailedIndexes: int32("How many indexes may fail."),
      parallelism: int32("How many pods run at a time."),
      podFailurePolicy: open("How failures are handled."),
      podReplacementPolicy: text("When a pod is replaced."),
      selector: selector("Which pods are its own."),
      successPolicy: open("When it is done early."),
      suspend: flag("True: no pods."),
      template: template("The pods."),
      ttlSecondsAfterFinished: int32("Seconds it is kept once done."),
    },
    ["template"],
  ),
  [`${BATCH}.CronJob`]: kind("Jobs on a schedule.", {
    spec: object(
      "The jobs and their schedule.",
      {
        concurrencyPolicy: choice("Whether jobs may overlap.", "Allow", "Forbid", "Replace"),
        failedJobsHistoryLimit: int32("How many failed jobs are kept."),
        jobTemplate: object("The jobs.", {
          metadata: ref(META, "ObjectMeta", "Labels and annotations of each job."),
          spec: ref(BATCH, "JobSpec", "What each job does."),
        }),
        schedule: text("When, in cron's format."),
        startingDeadlineSeconds: int64("Seconds a start may be late."),
        successfulJobsHistoryLimit: int32("How many finished jobs are kept."),
        suspend: flag("True: no more jobs."),
        timeZone: text("The schedule's time zone."),
      },
      ["schedule", "jobTemplate"],
    ),
    status: object("The state as last seen.", {
      active: list(ref(CORE, "ObjectReference"), "Jobs that run."),
      lastScheduleTime: time("When a job was last created."),
      lastSuccessfulTime: time("When a job last succeeded."),
    }),
  }),
};
