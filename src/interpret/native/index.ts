/** Kubernetes' own kinds, read in TypeScript: the last layer, below bundled Lua, webhooks and customizations. */
import type { GroupVersionKind } from "../fields.ts";
import type { Handler, Handlers, Operation } from "../operations.ts";
import * as aggregate from "./aggregate.ts";
import { aggregateJob } from "./aggregate-job.ts";
import { jobCompletion } from "./completion.ts";
import * as dependencies from "./dependencies.ts";
import * as health from "./health.ts";
import { reportedLeader } from "./leader.ts";
import * as progress from "./progress.ts";
import { prune } from "./prune.ts";
import * as reflect from "./reflect.ts";
import * as replicas from "./replicas.ts";
import * as retain from "./retain.ts";

export { leaderAt } from "./leader.ts";

/** The handlers of each kind, by `apiVersion/kind`. `now` stamps the conditions of an aggregated Job. */
export function nativeHandlers(now: () => number): ReadonlyMap<string, Handlers> {
  return new Map<string, Handlers>([
    [
      "apps/v1/Deployment",
      {
        InterpretReplica: replicas.workloadReplica,
        ReviseReplica: replicas.reviseReplicas,
        Retain: retain.retainDeployment,
        InterpretHealth: health.deploymentHealth,
        InterpretStatus: reflect.reflectDeployment,
        AggregateStatus: aggregate.aggregateDeployment,
        InterpretDependency: dependencies.workloadDependencies,
        InterpretProgress: progress.deploymentProgress,
      },
    ],
    [
      "apps/v1/StatefulSet",
      {
        InterpretReplica: replicas.workloadReplica,
        ReviseReplica: replicas.reviseReplicas,
        InterpretHealth: health.statefulSetHealth,
        InterpretStatus: reflect.reflectStatefulSet,
        AggregateStatus: aggregate.aggregateStatefulSet,
        InterpretDependency: dependencies.statefulSetDependencies,
        InterpretProgress: progress.statefulSetProgress,
      },
    ],
    [
      "apps/v1/ReplicaSet",
      {
        InterpretReplica: replicas.workloadReplica,
        ReviseReplica: replicas.reviseReplicas,
        InterpretHealth: health.replicaSetHealth,
        InterpretStatus: reflect.reflectReplicaSet,
        AggregateStatus: aggregate.aggregateReplicaSet,
        InterpretDependency: dependencies.workloadDependencies,
        InterpretProgress: progress.replicaSetProgress,
      },
    ],
    [
      "apps/v1/DaemonSet",
      {
        InterpretHealth: health.daemonSetHealth,
        InterpretStatus: reflect.reflectDaemonSet,
        AggregateStatus: aggregate.aggregateDaemonSet,
        InterpretDependency: dependencies.workloadDependencies,
        InterpretProgress: progress.daemonSetProgress,
      },
    ],
    [
      "batch/v1/Job",
      {
        InterpretReplica: replicas.jobReplica,
        ReviseReplica: replicas.reviseParallelism,
        Retain: retain.retainJob,
        InterpretStatus: reflect.reflectJob,
        AggregateStatus: aggregateJob(now),
        InterpretDependency: dependencies.workloadDependencies,
        InterpretProgress: progress.jobProgress,
        InterpretCompletion: jobCompletion,
      },
    ],
    [
      "batch/v1/CronJob",
      { AggregateStatus: aggregate.aggregateCronJob, InterpretDependency: dependencies.cronJobDependencies },
    ],
    [
      "v1/Pod",
      {
        InterpretReplica: replicas.podReplica,
        Retain: retain.retainPod,
        InterpretHealth: health.podHealth,
        AggregateStatus: aggregate.aggregatePod,
        InterpretDependency: dependencies.podOwnDependencies,
        InterpretProgress: progress.podProgress,
      },
    ],
    [
      "v1/Service",
      {
        Retain: retain.retainService,
        InterpretHealth: health.serviceHealth,
        InterpretStatus: reflect.reflectService,
        AggregateStatus: aggregate.aggregateService,
      },
    ],
    ["v1/ServiceAccount", { Retain: retain.retainServiceAccount }],
    ["v1/Secret", { Retain: retain.retainSecret }],
    [
      "v1/PersistentVolumeClaim",
      {
        Retain: retain.retainClaim,
        InterpretHealth: health.claimHealth,
        AggregateStatus: aggregate.aggregateClaim,
      },
    ],
    ["v1/PersistentVolume", { Retain: retain.retainVolume, AggregateStatus: aggregate.aggregateVolume }],
    [
      "networking.k8s.io/v1/Ingress",
      {
        InterpretHealth: health.ingressHealth,
        InterpretStatus: reflect.reflectWhole,
        AggregateStatus: aggregate.aggregateIngress,
        InterpretDependency: dependencies.ingressDependencies,
      },
    ],
    [
      "policy/v1/PodDisruptionBudget",
      {
        InterpretHealth: health.disruptionBudgetHealth,
        InterpretStatus: reflect.reflectDisruptionBudget,
        AggregateStatus: aggregate.aggregateDisruptionBudget,
      },
    ],
    [
      "autoscaling/v2/HorizontalPodAutoscaler",
      { InterpretStatus: reflect.reflectAutoscaler, AggregateStatus: aggregate.aggregateAutoscaler },
    ],
    ["multicluster.x-k8s.io/v1alpha1/ServiceImport", { InterpretDependency: dependencies.serviceImportDependencies }],
  ]);
}

/** Operations that work for every kind. */
const EVERY_KIND: Handlers = {
  InterpretStatus: reflect.reflectWhole,
  Prune: prune,
  InterpretProgress: progress.commonProgress,
  InterpretLeader: reportedLeader,
};

export function nativeHandler<O extends Operation>(
  handlers: ReadonlyMap<string, Handlers>,
  { group, version, kind }: GroupVersionKind,
  operation: O,
): Handler<O> | undefined {
  const apiVersion = group === "" ? version : `${group}/${version}`;
  const own: Handler<O> | undefined = handlers.get(`${apiVersion}/${kind}`)?.[operation];
  return own ?? EVERY_KIND[operation];
}
