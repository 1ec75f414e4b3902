import type { ParsedCrossClusterJob } from "../../../api/index.ts";
import { type ObjectRef, OWNER_LABEL, ownerMark } from "../../../engine/index.ts";
import { type Attempt, sizeOfShare } from "../../../jobs/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { clone, isJsonObject, type Json, type JsonObject } from "../../../runtime/index.ts";
import { ATTEMPT_ANNOTATION, attemptMark, attemptRef } from "../attempt-marks.ts";

/** Which of the work's indexes this attempt has: its JOB_COMPLETION_INDEX-th entry is the index to work on. */
export const INDEXES_VARIABLE = "LOCKSTEP_INDEXES";

const UID_LABELS = ["batch.kubernetes.io/controller-uid", "controller-uid"];
/** What an API server adds to the pods of each Job. */
const GENERATED_LABELS: ReadonlySet<string> = new Set([...UID_LABELS, "batch.kubernetes.io/job-name", "job-name"]);

/** [J4] Where other kinds say when their operators delete them: only Lockstep cleans up. */
const TTL_FIELDS: Readonly<Record<string, readonly string[]>> = {
  "batch.volcano.sh/Job": ["ttlSecondsAfterFinished"],
  "kubeflow.org/PyTorchJob": ["runPolicy", "ttlSecondsAfterFinished"],
  "kubeflow.org/TFJob": ["runPolicy", "ttlSecondsAfterFinished"],
  "sparkoperator.k8s.io/SparkApplication": ["timeToLiveSeconds"],
  "argoproj.io/Workflow": ["ttlStrategy"],
};

/** The manifest of an attempt, as its grant says. Pure. */
export function renderAttempt(job: ParsedCrossClusterJob, attempt: Attempt): KubeObject {
  const ref = attemptRef(job, attempt.number);
  const { apiVersion, kind, namespace, name } = ref;
  const template = clone(job.spec.template);
  const own = objectOf(template.metadata);
  const owner = { kind: "CrossClusterJob" as const, namespace: job.metadata.namespace, name: job.metadata.name };
  const isBatch = apiVersion === "batch/v1" && kind === "Job";
  return {
    ...template,
    apiVersion,
    kind,
    metadata: {
      name,
      namespace,
      labels: { ...textsOf(own.labels), [OWNER_LABEL]: ownerMark(owner) },
      annotations: {
        ...textsOf(own.annotations),
        [ATTEMPT_ANNOTATION]: attemptMark(job.metadata.uid ?? "", attempt),
      },
    },
    ...(isBatch && { spec: jobSpec(objectOf(template.spec), attempt, job) }),
    ...(!isBatch && isJsonObject(template.spec) && { spec: withoutTtl(template.spec, ref) }),
  };
}

function withoutTtl(spec: JsonObject, { apiVersion, kind }: ObjectRef): JsonObject {
  const [group = ""] = apiVersion.split("/");
  return without(spec, TTL_FIELDS[`${group}/${kind}`] ?? []);
}

function without(object: JsonObject, [field, ...below]: readonly string[]): JsonObject {
  if (field === undefined) return object;
  const { [field]: value, ...rest } = object;
  if (below.length === 0) return rest;
  return isJsonObject(value) ? { ...rest, [field]: without(value, below) } : object;
}

function jobSpec(spec: JsonObject, attempt: Attempt, { spec: asked }: ParsedCrossClusterJob): JsonObject {
  const { grant, share, uid } = attempt;
  // [J4] Only Lockstep cleans up: a TTL would delete the Job before its end is recorded.
  const { ttlSecondsAfterFinished: _ttl, selector: _selector, ...rest } = spec;
  const size = sizeOfShare(share);
  const { guarantee, podDeadlineSeconds } = asked.failover.onClusterLoss;
  return {
    ...rest,
    parallelism: grant.parallelism,
    ...(size !== undefined && { completions: size }),
    ...(grant.deadlineSeconds !== null && { activeDeadlineSeconds: grant.deadlineSeconds }),
    ...(guarantee === "Exclusive" && { podReplacementPolicy: "Failed" }),
    template: podTemplate(objectOf(spec.template), attempt, grant.epoch > 1 ? uid : null, podDeadlineSeconds),
  };
}

/**
 * [J10] What is granted to one Job carries its uid, as its pods' labels: an API server refuses to create another Job from
 * it, so nothing that remembers the manifest can start it again.
 */
function podTemplate(
  template: JsonObject,
  { share }: Attempt,
  pin: string | null,
  deadlineSeconds?: number,
): JsonObject {
  const metadata = objectOf(template.metadata);
  const spec = objectOf(template.spec);
  const labels = {
    ...withoutGenerated(textsOf(metadata.labels)),
    ...(pin !== null && Object.fromEntries(UID_LABELS.map((key) => [key, pin]))),
  };
  return {
    ...template,
    metadata: { ...metadata, ...(Object.keys(labels).length > 0 && { labels }) },
    spec: {
      ...spec,
      ...(deadlineSeconds !== undefined && { activeDeadlineSeconds: deadlineSeconds }),
      ...(share.kind === "indexes" && {
        containers: withVariable(spec.containers, share.indexes),
        ...(spec.initContainers !== undefined && { initContainers: withVariable(spec.initContainers, share.indexes) }),
      }),
    },
  };
}

/** A template that was copied from a Job in a cluster has that one's. */
function withoutGenerated(labels: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !GENERATED_LABELS.has(key)));
}

function withVariable(containers: Json | undefined, value: string): JsonObject[] {
  return (Array.isArray(containers) ? containers.filter(isJsonObject) : []).map((container) => {
    const env = (Array.isArray(container.env) ? container.env.filter(isJsonObject) : []).filter(
      ({ name }) => name !== INDEXES_VARIABLE,
    );
    return { ...container, env: [...env, { name: INDEXES_VARIABLE, value }] };
  });
}

function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function textsOf(value: Json | undefined): Record<string, string> {
  const texts: Record<string, string> = {};
  for (const [key, each] of Object.entries(objectOf(value))) if (typeof each === "string") texts[key] = each;
  return texts;
}
