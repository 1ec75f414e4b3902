import { expect, it } from "vitest";
import type { JsonObject } from "../runtime/index.ts";
import { jobTemplateMistakes } from "./job-template.ts";

const PODS = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "work:1" }] } };

function mistakes(spec: JsonObject, pods: JsonObject = PODS): string[] {
  const template = { apiVersion: "batch/v1", kind: "Job", spec: { template: pods, ...spec } };
  return jobTemplateMistakes({ template } as never);
}

it("a template that Kubernetes accepts has no mistakes", () => {
  expect(mistakes({ completions: 3, completionMode: "Indexed", backoffLimit: 0 })).toEqual([]);
});

it("a misspelt field is named with the one that was meant; an unlike one may be of a later Kubernetes", () => {
  expect(mistakes({ completion: 10 })).toEqual([
    "spec.template.spec.completion: a Job has no such field; use completions",
  ]);
  expect(mistakes({ somethingOfTomorrow: true })).toEqual([]);
});

it("an Indexed Job needs completions, and pods need a container and a restartPolicy that Jobs allow", () => {
  expect(mistakes({ completionMode: "Indexed" })).toEqual([
    "spec.template.spec.completions: it is required with completionMode: Indexed",
  ]);
  const always = { spec: { ...PODS.spec, restartPolicy: "Always" } };
  expect(mistakes({}, always)).toEqual([
    "spec.template.spec.template.spec.restartPolicy: a Job needs Never or OnFailure",
  ]);
  expect(mistakes({}, { spec: {} })).toEqual([
    "spec.template.spec.template.spec.containers: at least one container is required",
  ]);
});

it("a count that is none is refused at once: no status could show it", () => {
  for (const value of [-1, 1.5, "3", 2 ** 31]) {
    expect(mistakes({ completions: value, parallelism: 1 })).toEqual([
      "spec.template.spec.completions: it must be a whole number from 0 to 2147483647",
    ]);
    expect(mistakes({ parallelism: value })).toHaveLength(1);
  }
  expect(mistakes({ completions: 2 ** 31 - 1, parallelism: 0 })).toEqual([]);
  const graced = (seconds: unknown) => ({ spec: { ...PODS.spec, terminationGracePeriodSeconds: seconds } }) as never;
  expect(mistakes({}, graced("x"))).toEqual([
    "spec.template.spec.template.spec.terminationGracePeriodSeconds: it must be a whole number",
  ]);
  // Kubernetes takes it for one second.
  expect(mistakes({}, graced(-5))).toEqual([]);
});

it("divided work is refused if the list of what is done could become longer than Lockstep keeps", () => {
  const divided = (spec: JsonObject, division = "Indexes") => {
    const job = { completions: 9_000, completionMode: "Indexed", template: PODS, ...spec };
    return jobTemplateMistakes({ template: { apiVersion: "batch/v1", kind: "Job", spec: job }, division } as never);
  };
  expect(divided({ parallelism: 2_001 })).toEqual([expect.stringContaining("may be 2000 together")]);
  expect(divided({ parallelism: 1_000, backoffLimitPerIndex: 1 })).toHaveLength(1);
  expect(divided({ parallelism: 1_000, backoffLimitPerIndex: 1, maxFailedIndexes: 1_000 })).toEqual([]);
  expect(divided({ parallelism: 2_000 })).toEqual([]);
  expect(divided({ parallelism: 9_000, completions: 4_000 })).toEqual([]);
  expect(divided({ parallelism: 9_000 }, "None")).toEqual([]);
});

it("other kinds are left to their own API", () => {
  expect(jobTemplateMistakes({ template: { apiVersion: "ray.io/v1", kind: "RayJob" } } as never)).toEqual([]);
});
