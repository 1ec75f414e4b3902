import { clone, isJsonObject, type JsonObject } from "../runtime/index.ts";
import { objectAt, stringAt } from "./json.ts";

/**
 * Set by an API server, or meaningful only on the hub. Owners never cross clusters: a member would delete the object.
 */
const SERVER_METADATA = [
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "managedFields",
  "selfLink",
  "ownerReferences",
  "finalizers",
  "generateName",
] as const;

/** Annotations that tools on the hub add, and that mean nothing, or something else, in a member. */
const HUB_ANNOTATIONS = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "deployment.kubernetes.io/revision",
  "deployment.kubernetes.io/revision-history",
  "volume.kubernetes.io/selected-node",
]);

/**
 * The part of a hub object that may be sent to a member: without status, server-populated metadata and the marks that
 * Karmada and Lockstep put on the template.
 */
export function sanitize(object: JsonObject): JsonObject {
  const result = clone(object);
  delete result.status;
  const metadata = objectAt(result, "metadata");
  if (metadata) {
    for (const field of SERVER_METADATA) delete metadata[field];
    for (const map of ["labels", "annotations"]) {
      const entries = objectAt(metadata, map);
      if (!entries) delete metadata[map];
      else dropHubKeys(metadata, map, entries);
    }
  }
  const podMetadata = objectAt(result, "spec", "template", "metadata");
  if (podMetadata?.creationTimestamp === null) delete podMetadata.creationTimestamp;
  sanitizeKind(result);
  return result;
}

function dropHubKeys(metadata: JsonObject, map: string, entries: JsonObject): void {
  for (const key of Object.keys(entries)) if (isHubKey(key)) delete entries[key];
  if (Object.keys(entries).length === 0) delete metadata[map];
}

/** Everything under karmada.io is for the hub (claims, placement, retain-replicas), or is written by Lockstep. */
function isHubKey(key: string): boolean {
  const domain = key.slice(0, Math.max(key.indexOf("/"), 0));
  return domain === "karmada.io" || domain.endsWith(".karmada.io") || HUB_ANNOTATIONS.has(key);
}

/** Where an API server puts the hub's uid of a Job, by which pods would never be found in a member. */
const JOB_LABELS = [
  ["spec", "selector", "matchLabels"],
  ["spec", "template", "metadata", "labels"],
];
const GENERATED_JOB_LABELS = ["controller-uid", "job-name"].flatMap((key) => [key, `batch.kubernetes.io/${key}`]);

/** Fields of single kinds that the API server or a controller fills in. */
function sanitizeKind(object: JsonObject): void {
  if (object.kind === "Service") {
    const spec = objectAt(object, "spec");
    if (spec && spec.clusterIP !== "None") {
      delete spec.clusterIP;
      delete spec.clusterIPs;
    }
  }
  if (object.kind === "ServiceAccount" && Array.isArray(object.secrets)) {
    const generated = `${stringAt(object, "metadata", "name")}-token-`;
    object.secrets = object.secrets.filter(
      (secret) => !(isJsonObject(secret) && stringAt(secret, "name")?.startsWith(generated)),
    );
  }
  if (object.kind === "Secret" && object.type === "kubernetes.io/service-account-token") {
    delete object.data;
    const annotations = objectAt(object, "metadata", "annotations");
    if (annotations) delete annotations["kubernetes.io/service-account.uid"];
  }
  // A Job that the member deletes after its end would be created again, and run again, by what keeps members in step.
  if (object.kind === "Job") delete objectAt(object, "spec")?.ttlSecondsAfterFinished;
  if (object.kind === "Job" && objectAt(object, "spec")?.manualSelector !== true) {
    for (const path of JOB_LABELS) {
      const labels = objectAt(object, ...path);
      for (const key of GENERATED_JOB_LABELS) if (labels) delete labels[key];
    }
  }
  if (object.kind === "PersistentVolumeClaim") {
    const annotations = objectAt(object, "metadata", "annotations");
    for (const key of ["pv.kubernetes.io/bind-completed", "pv.kubernetes.io/bound-by-controller"]) {
      if (annotations) delete annotations[key];
    }
  }
}
