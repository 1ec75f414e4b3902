import { isJsonObject, type Json, type JsonObject, nearest, valueAt } from "../runtime/index.ts";
import type { CrossClusterJobSpec } from "./kinds/cross-cluster-job.ts";
import type { FieldError } from "./schema/types.ts";
import { wording } from "./schema/wording.ts";

/** A Job with this label is suspended and resumed by Kueue. */
export const KUEUE_LABEL = "kueue.x-k8s.io/queue-name";
/** Fields of a Job that take its end, or its deadline, out of Lockstep's hands. */
export const NOT_WITH_EXCLUSIVE = ["managedBy", "successPolicy", "activeDeadlineSeconds", "suspend"] as const;

/** Attempts add up to 16 characters to it, and a Job's pods get its name as a label. */
export const MAX_JOB_NAME_CHARS = 47;

/** The policy and the controller's own check use the same messages. */
export const JOB_TEMPLATE_MESSAGES = {
  name: `an attempt's name is this name and up to 16 more characters, so it may have at most ${MAX_JOB_NAME_CHARS}`,
  indexes: "division: Indexes needs a Job with completionMode: Indexed and completions",
  completions: "division: Completions needs a Job with completions and without completionMode: Indexed",
  exclusive: `guarantee Exclusive does not go with ${NOT_WITH_EXCLUSIVE.join(", ")} in template.spec; spec.activeDeadlineSeconds and spec.suspend of the CrossClusterJob do the same for all attempts`,
  kueue: `guarantee Exclusive does not go with the label ${KUEUE_LABEL}: Kueue suspends and resumes the Job, which starts its deadline again`,
  selector: "template.spec.selector and manualSelector must be left out: each attempt has pods of its own",
};

/** What a rule of the CRD cannot see: the fields of the template. */
export function jobTemplateErrors({ template, division, failover }: CrossClusterJobSpec, name: string): FieldError[] {
  const errors: FieldError[] = [];
  const refuse = (path: string, message: string) => errors.push(wording.forbidden(path, message));
  const own = valueAt(template, "metadata", "name");
  if ((typeof own === "string" ? own : name).length > MAX_JOB_NAME_CHARS) {
    refuse(typeof own === "string" ? "spec.template.metadata.name" : "metadata.name", JOB_TEMPLATE_MESSAGES.name);
  }
  if (template.apiVersion !== "batch/v1" || template.kind !== "Job") return errors;
  const spec: JsonObject = isJsonObject(template.spec) ? template.spec : {};
  const isIndexed = spec.completionMode === "Indexed";
  const isCounted = typeof spec.completions === "number";
  if (division === "Indexes" && !(isIndexed && isCounted)) refuse("spec.division", JOB_TEMPLATE_MESSAGES.indexes);
  if (division === "Completions" && (isIndexed || !isCounted))
    refuse("spec.division", JOB_TEMPLATE_MESSAGES.completions);
  if (spec.selector !== undefined || spec.manualSelector !== undefined)
    refuse("spec.template.spec.selector", JOB_TEMPLATE_MESSAGES.selector);
  if (failover.onClusterLoss.guarantee !== "Exclusive") return errors;
  for (const field of NOT_WITH_EXCLUSIVE) {
    if (spec[field] !== undefined) refuse(`spec.template.spec.${field}`, JOB_TEMPLATE_MESSAGES.exclusive);
  }
  if (valueAt(template, "metadata", "labels", KUEUE_LABEL) !== undefined) {
    refuse("spec.template.metadata.labels", JOB_TEMPLATE_MESSAGES.kueue);
  }
  return errors;
}

/** Of a Job's spec in batch/v1. */
const JOB_FIELDS = [
  ...["activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completionMode", "completions", "managedBy"],
  ...["manualSelector", "maxFailedIndexes", "parallelism", "podFailurePolicy", "podReplacementPolicy", "selector"],
  ...["successPolicy", "suspend", "template", "ttlSecondsAfterFinished"],
];
const RESTART_POLICIES = ["Never", "OnFailure"];
const COUNTS = ["activeDeadlineSeconds", "backoffLimit", "backoffLimitPerIndex", "completions", "maxFailedIndexes"];
const MOST = 2 ** 31 - 1;

/** What is done is kept as ranges. Two attempts may leave their gaps in it, and a set of more than 5000 ranges is none. */
const MOST_GAPS = 2_000;

/** Between completed indexes there are those that run and, if each index fails on its own, those that have failed. */
function gapsOf({ parallelism, completions, backoffLimitPerIndex, maxFailedIndexes }: JsonObject): number {
  const most = isCount(completions) ? Number(completions) : 0;
  const failing = isCount(maxFailedIndexes) ? Number(maxFailedIndexes) : most;
  const running = isCount(parallelism) ? Number(parallelism) : 1;
  const all = running + (isCount(backoffLimitPerIndex) ? failing : 0);
  return Math.min(all, Math.ceil(most / 2));
}

function isCount(value: Json | undefined): boolean {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= MOST;
}

/**
 * What every member's API server would refuse, or drop without a word. It is checked before the first attempt only: work
 * that runs is not given up because a later version of Lockstep reads its template more strictly.
 */
export function jobTemplateMistakes({
  template,
  division,
}: Pick<CrossClusterJobSpec, "template"> & Partial<Pick<CrossClusterJobSpec, "division">>): string[] {
  if (template.apiVersion !== "batch/v1" || template.kind !== "Job") return [];
  const spec: JsonObject = isJsonObject(template.spec) ? template.spec : {};
  const mistakes: string[] = [];
  for (const field of Object.keys(spec)) {
    if (JOB_FIELDS.includes(field)) continue;
    // A field that is like no known one may be of a later Kubernetes.
    const meant = nearest(field, JOB_FIELDS);
    if (meant !== undefined) mistakes.push(`spec.template.spec.${field}: a Job has no such field; use ${meant}`);
  }
  for (const field of [...COUNTS, "parallelism"]) {
    const value = spec[field] ?? undefined;
    if (value === undefined || isCount(value)) continue;
    mistakes.push(`spec.template.spec.${field}: it must be a whole number from 0 to ${MOST}`);
  }
  const grace = valueAt(spec, "template", "spec", "terminationGracePeriodSeconds");
  if (grace !== undefined && grace !== null && !Number.isSafeInteger(grace))
    mistakes.push("spec.template.spec.template.spec.terminationGracePeriodSeconds: it must be a whole number");
  if (spec.completionMode === "Indexed" && spec.completions === undefined)
    mistakes.push("spec.template.spec.completions: it is required with completionMode: Indexed");
  if (division === "Indexes" && gapsOf(spec) > MOST_GAPS)
    mistakes.push(
      `spec.template.spec.parallelism: with division: Indexes, parallelism and the indexes that may fail (maxFailedIndexes, of a Job with backoffLimitPerIndex) may be ${MOST_GAPS} together; Lockstep keeps no longer lists of what is done`,
    );
  const pods = valueAt(spec, "template", "spec");
  if (!isJsonObject(pods) || !Array.isArray(pods.containers) || pods.containers.length === 0)
    mistakes.push("spec.template.spec.template.spec.containers: at least one container is required");
  else if (!RESTART_POLICIES.includes(String(pods.restartPolicy)))
    mistakes.push("spec.template.spec.template.spec.restartPolicy: a Job needs Never or OnFailure");
  return mistakes;
}
