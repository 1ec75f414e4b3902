import { isJsonObject, type JsonObject, ownField } from "../../runtime/index.ts";
import { listAt, objectAt, setDefault } from "../store/values.ts";
import type { KubeObject } from "../types.ts";
import { podSpecDefaults } from "./pod-defaults.ts";

/** The object's spec, created if it is absent: defaults apply to absent specs too. */
function specOf(object: JsonObject): JsonObject {
  const spec = objectAt(object, "spec");
  if (spec) return spec;
  const made: JsonObject = {};
  object.spec = made;
  return made;
}

function templateDefaults(spec: JsonObject): void {
  const podSpec = objectAt(spec, "template", "spec");
  if (podSpec) podSpecDefaults(podSpec);
}

export function podDefaults(pod: KubeObject): void {
  const spec = specOf(pod);
  podSpecDefaults(spec);
  setDefault(spec, "enableServiceLinks", true);
}

export function statefulSetDefaults(set: KubeObject): void {
  const spec = specOf(set);
  setDefault(spec, "podManagementPolicy", "OrderedReady");
  setDefault(spec, "replicas", 1);
  setDefault(spec, "revisionHistoryLimit", 10);
  const strategy = objectAt(spec, "updateStrategy") ?? {};
  spec.updateStrategy = strategy;
  setDefault(strategy, "type", "RollingUpdate");
  if (strategy.type === "RollingUpdate") {
    const rolling = objectAt(strategy, "rollingUpdate") ?? {};
    strategy.rollingUpdate = rolling;
    setDefault(rolling, "partition", 0);
  }
  const retention = objectAt(spec, "persistentVolumeClaimRetentionPolicy") ?? {};
  spec.persistentVolumeClaimRetentionPolicy = retention;
  setDefault(retention, "whenDeleted", "Retain");
  setDefault(retention, "whenScaled", "Retain");
  for (const claim of listAt(spec, "volumeClaimTemplates")) {
    if (!isJsonObject(claim)) continue;
    setDefault(claim, "apiVersion", "v1");
    setDefault(claim, "kind", "PersistentVolumeClaim");
    const claimSpec = specOf(claim);
    setDefault(claimSpec, "volumeMode", "Filesystem");
    setDefault(claim, "status", { phase: "Pending" });
  }
  templateDefaults(spec);
}

export function deploymentDefaults(deployment: KubeObject): void {
  const spec = specOf(deployment);
  setDefault(spec, "replicas", 1);
  setDefault(spec, "revisionHistoryLimit", 10);
  setDefault(spec, "progressDeadlineSeconds", 600);
  const strategy = objectAt(spec, "strategy") ?? {};
  spec.strategy = strategy;
  setDefault(strategy, "type", "RollingUpdate");
  if (strategy.type === "RollingUpdate") {
    const rolling = objectAt(strategy, "rollingUpdate") ?? {};
    strategy.rollingUpdate = rolling;
    setDefault(rolling, "maxUnavailable", "25%");
    setDefault(rolling, "maxSurge", "25%");
  }
  templateDefaults(spec);
}

export function replicaSetDefaults(set: KubeObject): void {
  const spec = specOf(set);
  setDefault(spec, "replicas", 1);
  templateDefaults(spec);
}

export function daemonSetDefaults(set: KubeObject): void {
  const spec = specOf(set);
  setDefault(spec, "revisionHistoryLimit", 10);
  setDefault(spec, "updateStrategy", { type: "RollingUpdate", rollingUpdate: { maxUnavailable: 1, maxSurge: 0 } });
  templateDefaults(spec);
}

export function jobDefaults(job: KubeObject): void {
  const spec = specOf(job);
  if (ownField(spec, "completions") === undefined && ownField(spec, "parallelism") === undefined) spec.completions = 1;
  setDefault(spec, "parallelism", 1);
  setDefault(spec, "backoffLimit", 6);
  setDefault(spec, "completionMode", "NonIndexed");
  setDefault(spec, "suspend", false);
  templateDefaults(spec);
}

const JOB_UID_LABEL = "batch.kubernetes.io/controller-uid";

/** Unless the Job brings a selector of its own, its pods are known by its uid. Labels that are there are not replaced. */
export function generateJobSelector(job: KubeObject): void {
  const spec = specOf(job);
  if (spec.manualSelector === true) return;
  const { uid = "", name } = job.metadata;
  const generated = {
    [JOB_UID_LABEL]: uid,
    "controller-uid": uid,
    "batch.kubernetes.io/job-name": name,
    "job-name": name,
  };
  const template = objectAt(spec, "template") ?? {};
  const metadata = objectAt(template, "metadata") ?? {};
  metadata.labels = { ...generated, ...objectAt(metadata, "labels") };
  template.metadata = metadata;
  spec.template = template;
  spec.selector = { matchLabels: { [JOB_UID_LABEL]: uid, ...objectAt(spec, "selector", "matchLabels") } };
}

export function cronJobDefaults(job: KubeObject): void {
  const spec = specOf(job);
  setDefault(spec, "concurrencyPolicy", "Allow");
  setDefault(spec, "suspend", false);
  setDefault(spec, "successfulJobsHistoryLimit", 3);
  setDefault(spec, "failedJobsHistoryLimit", 1);
  const jobSpec = objectAt(spec, "jobTemplate", "spec");
  if (jobSpec) templateDefaults(jobSpec);
}

export function serviceDefaults(service: KubeObject): void {
  const spec = specOf(service);
  setDefault(spec, "type", "ClusterIP");
  setDefault(spec, "sessionAffinity", "None");
  for (const port of listAt(spec, "ports")) {
    if (!isJsonObject(port)) continue;
    setDefault(port, "protocol", "TCP");
    const number = ownField(port, "port");
    if (typeof number === "number") setDefault(port, "targetPort", number);
  }
  if (spec.type !== "ExternalName") {
    setDefault(spec, "internalTrafficPolicy", "Cluster");
    setDefault(spec, "ipFamilies", ["IPv4"]);
    setDefault(spec, "ipFamilyPolicy", "SingleStack");
  }
}

/** An address of 10.96.0.0/12, derived from the service's uid: the same in every run, and practically unique. */
export function assignClusterIP(service: KubeObject): void {
  const spec = specOf(service);
  if (spec.type === "ExternalName") return;
  if (ownField(spec, "clusterIP") === undefined || spec.clusterIP === "") {
    let hash = 0x811c9dc5;
    for (const character of service.metadata.uid ?? "") {
      hash = Math.imul(hash ^ character.charCodeAt(0), 0x01000193) >>> 0;
    }
    spec.clusterIP = `10.${96 + ((hash >>> 16) & 0xf)}.${(hash >>> 8) & 0xff}.${1 + ((hash & 0xff) % 254)}`;
  }
  setDefault(spec, "clusterIPs", [spec.clusterIP ?? ""]);
}

export function namespaceDefaults(namespace: KubeObject): void {
  setDefault(specOf(namespace), "finalizers", ["kubernetes"]);
  namespace.metadata.labels = {
    ...namespace.metadata.labels,
    "kubernetes.io/metadata.name": namespace.metadata.name,
  };
}

export function secretDefaults(secret: KubeObject): void {
  setDefault(secret, "type", "Opaque");
  const plain = objectAt(secret, "stringData");
  if (plain) {
    const data = objectAt(secret, "data") ?? {};
    for (const [key, value] of Object.entries(plain)) {
      if (typeof value === "string") data[key] = Buffer.from(value, "utf8").toString("base64");
    }
    secret.data = data;
  }
  delete secret.stringData;
}

export function claimDefaults(claim: KubeObject): void {
  setDefault(specOf(claim), "volumeMode", "Filesystem");
}

export function volumeDefaults(volume: KubeObject): void {
  const spec = specOf(volume);
  setDefault(spec, "volumeMode", "Filesystem");
  setDefault(spec, "persistentVolumeReclaimPolicy", "Retain");
}

/** A client that sends its own manifest again omits the address that it was given. */
export function keepClusterIP(service: KubeObject, old: KubeObject): void {
  const spec = specOf(service);
  const before = objectAt(old, "spec");
  if (!before || spec.type === "ExternalName") return;
  for (const field of ["clusterIP", "clusterIPs"]) {
    const value = ownField(before, field);
    if (value !== undefined && (ownField(spec, field) === undefined || spec[field] === "")) spec[field] = value;
  }
}
