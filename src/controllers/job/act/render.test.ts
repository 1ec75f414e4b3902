import { describe, expect, it } from "vitest";
import { parseCrossClusterJob } from "../../../api/index.ts";
import type { Attempt } from "../../../jobs/index.ts";
import { type JsonObject, valueAt } from "../../../runtime/index.ts";
import { renderAttempt } from "./render.ts";

const GRANT = { epoch: 1, parallelism: 0, deadlineSeconds: null };
const ATTEMPT = { number: 1, cluster: "member1", share: { kind: "whole" }, grant: GRANT, uid: null } as Attempt;

function rendered(apiVersion: string, kind: string, spec: JsonObject, attempt = ATTEMPT) {
  const parsed = parseCrossClusterJob({
    apiVersion: "apps.karmada.io/v1alpha1",
    kind: "CrossClusterJob",
    metadata: { name: "train", namespace: "default", uid: "u" },
    spec: { template: { apiVersion, kind, spec }, clusters: { names: ["member1"] } },
  });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.errors));
  return renderAttempt(parsed.value, attempt).spec;
}

describe("[J4] nothing in a member deletes an attempt before its end is recorded", () => {
  it.each([
    ["batch/v1", "Job", { ttlSecondsAfterFinished: 0, completions: 2 }],
    ["batch.volcano.sh/v1alpha1", "Job", { ttlSecondsAfterFinished: 0, completions: 2 }],
    ["sparkoperator.k8s.io/v1beta2", "SparkApplication", { timeToLiveSeconds: 1, completions: 2 }],
    ["argoproj.io/v1alpha1", "Workflow", { ttlStrategy: { secondsAfterCompletion: 1 }, completions: 2 }],
  ])("%s %s goes without its TTL, and keeps the rest", (apiVersion, kind, spec) => {
    const found = rendered(apiVersion, kind, spec);
    expect(JSON.stringify(found)).not.toMatch(/ttl|timeToLive/i);
    expect(found).toMatchObject({ completions: 2 });
  });

  it.each(["PyTorchJob", "TFJob"])("kubeflow.org %s keeps the rest of its run policy", (kind) => {
    const runPolicy = { ttlSecondsAfterFinished: 0, cleanPodPolicy: "None" };
    expect(rendered("kubeflow.org/v1", kind, { runPolicy, workers: 2 })).toEqual({
      runPolicy: { cleanPodPolicy: "None" },
      workers: 2,
    });
  });

  it("an object of another kind goes as it is", () => {
    const spec = { ttlSecondsAfterFinished: 5, shutdownAfterJobFinishes: true };
    expect(rendered("ray.io/v1", "RayJob", spec)).toEqual(spec);
  });
});

describe("[J10] a Job is pinned to the uid of the object that was read", () => {
  const copied = { "controller-uid": "other", "batch.kubernetes.io/job-name": "other", tier: "night" };
  const spec = { template: { metadata: { labels: copied }, spec: {} } };
  const labelsOf = (attempt: Attempt) => valueAt(rendered("batch/v1", "Job", spec, attempt), "template", "metadata");

  it("not before, whatever labels the template was copied with", () => {
    expect(labelsOf(ATTEMPT)).toEqual({ labels: { tier: "night" } });
  });

  it("with every grant that lets it run", () => {
    const granted = { ...ATTEMPT, uid: "u1", grant: { ...GRANT, epoch: 2, parallelism: 1 } };
    const labels = { tier: "night", "controller-uid": "u1", "batch.kubernetes.io/controller-uid": "u1" };
    expect(labelsOf(granted)).toEqual({ labels });
  });
});
