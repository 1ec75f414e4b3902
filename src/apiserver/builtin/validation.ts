import { isJsonObject, type Json, type JsonObject, ownField, sameJson, valueAt } from "../../runtime/index.ts";
import { problem } from "../request/status.ts";
import { listAt, objectAt, textAt } from "../store/values.ts";
import type { FieldProblem, KubeObject } from "../types.ts";

/** Only what our controllers expect to be refused, and common mistakes in manifests. */
type Validate = (object: KubeObject, old: KubeObject | undefined) => FieldProblem[];

const STATEFUL_SET_MUTABLE = [
  "replicas",
  "ordinals",
  "template",
  "updateStrategy",
  "revisionHistoryLimit",
  "persistentVolumeClaimRetentionPolicy",
  "minReadySeconds",
];

export const validateStatefulSet: Validate = (set, old) => {
  const spec = objectAt(set, "spec") ?? {};
  const problems = [
    ...validateWorkload(set),
    ...choice(spec, "podManagementPolicy", ["OrderedReady", "Parallel"]),
    ...choice(spec.updateStrategy, "type", ["RollingUpdate", "OnDelete"], "spec.updateStrategy"),
    ...nonNegative(
      valueAt(spec, "updateStrategy", "rollingUpdate", "partition"),
      "spec.updateStrategy.rollingUpdate.partition",
    ),
    ...nonNegative(valueAt(spec, "ordinals", "start"), "spec.ordinals.start"),
    ...nonNegative(ownField(spec, "minReadySeconds"), "spec.minReadySeconds"),
  ];
  if (old) {
    const before = objectAt(old, "spec") ?? {};
    const fields = new Set([...Object.keys(spec), ...Object.keys(before)]);
    for (const field of STATEFUL_SET_MUTABLE) fields.delete(field);
    if ([...fields].some((field) => !sameJson(ownField(spec, field), ownField(before, field)))) {
      problems.push(
        problem.forbidden(
          "spec",
          "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
        ),
      );
    }
  }
  return problems;
};

export const validateSelectorWorkload: Validate = (object, old) => [
  ...validateWorkload(object),
  ...immutable(object, old, ["spec", "selector"]),
];

export const validateJob: Validate = (job, old) => [
  ...nonNegative(valueAt(job, "spec", "parallelism"), "spec.parallelism"),
  ...immutable(job, old, ["spec", "template"]),
  ...immutable(job, old, ["spec", "selector"]),
  ...foreignUid(job, old),
  ...foreignSelector(job, old),
];

/** A manifest that carries the uid of another Job, such as a deleted one, is refused. */
function foreignUid(job: KubeObject, old: KubeObject | undefined): FieldProblem[] {
  const path = ["spec", "template", "metadata", "labels", "batch.kubernetes.io/controller-uid"];
  const uid = valueAt(job, ...path);
  if (old || valueAt(job, "spec", "manualSelector") === true || uid === job.metadata.uid) return [];
  return [problem.invalid("spec.template.metadata.labels", uid ?? null, `must be '${job.metadata.uid}'`)];
}

/** Only what a Job was given when it was created selects its pods, unless its user manages the selector. */
function foreignSelector(job: KubeObject, old: KubeObject | undefined): FieldProblem[] {
  if (old || valueAt(job, "spec", "manualSelector") === true) return [];
  const selector = objectAt(job.spec, "selector") ?? {};
  const expected: JsonObject = {
    "batch.kubernetes.io/controller-uid": job.metadata.uid ?? "",
    "controller-uid": job.metadata.uid ?? "",
    "batch.kubernetes.io/job-name": job.metadata.name,
    "job-name": job.metadata.name,
  };
  const isGenerated = Object.entries(objectAt(selector, "matchLabels") ?? {}).every(
    ([key, value]) => expected[key] === value,
  );
  return isGenerated ? [] : [problem.invalid("spec.selector", selector, "`selector` not auto-generated")];
}

function validateWorkload(object: KubeObject): FieldProblem[] {
  const spec = objectAt(object, "spec") ?? {};
  const problems = nonNegative(ownField(spec, "replicas"), "spec.replicas");
  const selector = objectAt(spec, "selector");
  const labels = objectAt(spec, "template", "metadata", "labels");
  if (!selector) problems.push(problem.required("spec.selector"));
  else {
    const wanted = objectAt(selector, "matchLabels") ?? {};
    if (Object.keys(wanted).length === 0 && listAt(selector, "matchExpressions").length === 0) {
      problems.push(
        problem.invalid("spec.selector", selector, `empty selector is invalid for ${kindInWords(object.kind)}`),
      );
    }
    if (Object.keys(wanted).some((key) => !sameJson(ownField(labels ?? {}, key), wanted[key]))) {
      problems.push(
        problem.invalid("spec.template.metadata.labels", labels ?? null, "`selector` does not match template `labels`"),
      );
    }
  }
  const podSpec = objectAt(spec, "template", "spec") ?? {};
  return [...problems, ...validatePodSpec(podSpec, "spec.template.spec")];
}

function kindInWords(kind: string): string {
  return kind.toLowerCase().replace("set", " set").trim();
}

function validatePodSpec(spec: JsonObject, at: string): FieldProblem[] {
  const containers = listAt(spec, "containers");
  if (containers.length === 0) return [problem.required(`${at}.containers`)];
  const problems: FieldProblem[] = [];
  const names = new Set<string>();
  for (const [index, container] of containers.entries()) {
    const name = textAt(container, "name") ?? "";
    const field = `${at}.containers[${index}]`;
    if (name === "") problems.push(problem.required(`${field}.name`));
    else if (names.has(name)) {
      problems.push({
        field: `${field}.name`,
        reason: "FieldValueDuplicate",
        message: `Duplicate value: ${JSON.stringify(name)}`,
      });
    }
    names.add(name);
    if ((textAt(container, "image") ?? "") === "") problems.push(problem.required(`${field}.image`));
  }
  return problems;
}

/** A pod's spec is immutable; only these fields may change. */
function withoutMutablePodFields(spec: JsonObject): JsonObject {
  const images = (list: Json[]) =>
    list.map((each) => (isJsonObject(each) ? { ...each, image: "", resources: {} } : each));
  const { activeDeadlineSeconds, tolerations, terminationGracePeriodSeconds, nodeName, ...rest } = spec;
  return {
    ...rest,
    containers: images(listAt(spec, "containers")),
    initContainers: images(listAt(spec, "initContainers")),
  };
}

export const validatePod: Validate = (pod, old) => {
  const spec = objectAt(pod, "spec") ?? {};
  const problems = validatePodSpec(spec, "spec");
  const before = old && (objectAt(old, "spec") ?? {});
  if (!before) return problems;
  const boundBefore = textAt(before, "nodeName") ?? "";
  const moved = boundBefore !== "" && textAt(spec, "nodeName") !== boundBefore;
  if (moved || !sameJson(withoutMutablePodFields(spec), withoutMutablePodFields(before))) {
    problems.push(
      problem.forbidden(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
      ),
    );
  }
  return problems;
};

export const validateService: Validate = (service, old) => {
  const spec = objectAt(service, "spec") ?? {};
  const headless = spec.clusterIP === "None";
  const problems: FieldProblem[] = [];
  if (listAt(spec, "ports").length === 0 && !headless && spec.type !== "ExternalName") {
    problems.push(problem.required("spec.ports"));
  }
  for (const [index, port] of listAt(spec, "ports").entries()) {
    const number = valueAt(port, "port");
    if (typeof number !== "number" || number < 1 || number > 65535) {
      problems.push(
        problem.invalid(`spec.ports[${index}].port`, number ?? 0, "must be between 1 and 65535, inclusive"),
      );
    }
  }
  const before = textAt(old, "spec", "clusterIP") ?? "";
  if (old && before !== "" && spec.type !== "ExternalName" && spec.clusterIP !== before) {
    problems.push(problem.invalid("spec.clusterIPs[0]", [spec.clusterIP ?? ""], "may not change once set"));
  }
  return problems;
};

export const validateKeptData: Validate = (object, old) => {
  if (old === undefined || old.immutable !== true) return [];
  const problems: FieldProblem[] = [];
  if (object.immutable !== true) {
    problems.push(problem.forbidden("immutable", "field is immutable when `immutable` is set"));
  }
  for (const field of ["data", "binaryData", "stringData"]) {
    if (!sameJson(ownField(object, field), ownField(old, field))) {
      problems.push(problem.forbidden(field, "field is immutable when `immutable` is set"));
    }
  }
  return problems;
};

export const validateSecret: Validate = (secret, old) => [
  ...validateKeptData(secret, old),
  ...immutable(secret, old, ["type"]),
];

export const validateClaim: Validate = (claim, old) => {
  const spec = objectAt(claim, "spec") ?? {};
  if (!old)
    return listAt(spec, "accessModes").length === 0
      ? [problem.required("spec.accessModes", "at least 1 access mode is required")]
      : [];
  const before = objectAt(old, "spec") ?? {};
  const rest = ({ resources, volumeAttributesClassName, volumeName, ...kept }: JsonObject): JsonObject => kept;
  const boundTo = textAt(before, "volumeName") ?? "";
  const rebound = boundTo !== "" && textAt(spec, "volumeName") !== boundTo;
  if (!rebound && sameJson(rest(spec), rest(before))) return [];
  return [
    problem.forbidden(
      "spec",
      "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims",
    ),
  ];
};

export const validateRevision: Validate = (revision, old) => [
  ...immutable(revision, old, ["data"]),
  ...nonNegative(ownField(revision, "revision"), "revision"),
];

export const validateLease: Validate = (lease) => {
  const seconds = valueAt(lease, "spec", "leaseDurationSeconds");
  if (seconds === undefined || (typeof seconds === "number" && seconds > 0)) return [];
  return [problem.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0")];
};

function immutable(object: KubeObject, old: KubeObject | undefined, path: string[]): FieldProblem[] {
  const value = valueAt(object, ...path);
  if (old === undefined || sameJson(value, valueAt(old, ...path))) return [];
  return [problem.invalid(path.join("."), value ?? null, "field is immutable")];
}

function nonNegative(value: Json | undefined, field: string): FieldProblem[] {
  if (typeof value !== "number" || value >= 0) return [];
  return [problem.invalid(field, value, "must be greater than or equal to 0")];
}

function choice(holder: Json | undefined, field: string, supported: string[], at = "spec"): FieldProblem[] {
  const value = textAt(holder, field);
  if (value === undefined || supported.includes(value)) return [];
  return [problem.notSupported(`${at}.${field}`, value, supported)];
}
