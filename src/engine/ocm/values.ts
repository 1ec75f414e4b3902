/** A workload in a cluster that is only visible through the reports of its agent. */
import type { KubeObject } from "../../kube/index.ts";
import { isJsonObject, type Json } from "../../runtime/index.ts";
import { isManifest, manifestOf, manifestsOf, refOf } from "../dispatch-objects.ts";
import { MEMBER_ACCESS_LABEL } from "../members/access.ts";
import type { ObjectRef, Snapshot } from "../port.ts";
import { hasAllLabels, markIn, objectOf, podOf, readValues } from "./feedback.ts";
import { appliedMessage, isApplied, isThere, manifestStatus } from "./reports.ts";
import { isReserved, returnedMark, sentMark, writtenSpec } from "./works.ts";

const UID = "/metadata/uid";
/** All pods of a StatefulSet, those included that are going away. */
const TOTAL = "/status/replicas";
const ACCESS = `a Secret labelled ${MEMBER_ACCESS_LABEL} in its namespace on the hub lets Lockstep read it directly`;

export function snapshotByValues(ref: ObjectRef, work: KubeObject, provenMs: number): Snapshot {
  const { kind, namespace, name } = ref;
  const what = `${kind} ${namespace}/${name}`;
  const report = manifestStatus(work);
  const there = isThere(report);
  if (there === undefined)
    return { kind: "unreachable", message: `the cluster's agent has not reported whether it has ${what}` };
  if (!there) return { kind: "absent", atMs: provenMs };
  const [sent, returned] = [sentMark(work), returnedMark(work)];
  if (isReserved(work) || returned?.lineage !== sent?.lineage) {
    const why = isApplied(work) === false ? ` (${appliedMessage(work)})` : "";
    const values = readValues(report);
    const isForeign = values.has(UID) && markIn(values) === undefined;
    const isEarlier = markIn(values) !== undefined;
    return {
      kind: "unreachable",
      ...(isForeign && { isForeign }),
      ...(isEarlier && { isEarlier }),
      message: `the cluster has a ${what} that did not come from this dispatch${why}, and its agent does not report objects as a whole; ${ACCESS}`,
    };
  }
  // The written spec is the object's only if the object has the mark of exactly that write.
  const spec = returned?.version === sent?.version ? writtenSpec(work) : undefined;
  const object = objectOf(ref, readValues(report), spec === undefined ? {} : { spec });
  const pods = podsByValues(ref, work, object);
  const lacksLabels = pods?.some(({ metadata }) => !hasAllLabels(podValues(work, namespace, metadata.name)));
  return {
    kind: "present",
    object,
    source: "values",
    atMs: provenMs,
    ...(pods && { pods }),
    ...(lacksLabels === true && { lacksLabels }),
  };
}

/** Undefined if one of them is unknown: missing pods would look deleted. */
function podsByValues(workload: ObjectRef, work: KubeObject, object: KubeObject): KubeObject[] | undefined {
  const refs = observedPods(work);
  if (refs.length === 0) return hasNoPods(object) ? [] : undefined;
  const pods: KubeObject[] = [];
  for (const ref of refs) {
    const report = manifestStatus(work, ref);
    const there = isThere(report);
    if (there === false) continue;
    const pod = there ? podOf(ref, readValues(report)) : undefined;
    if (!pod) return undefined;
    if (isOwnedBy(pod, workload)) pods.push(pod);
  }
  return pods;
}

function podValues(work: KubeObject, namespace: string, name: string): ReadonlyMap<string, Json> {
  return readValues(manifestStatus(work, { apiVersion: "v1", kind: "Pod", namespace, name }));
}

/** A StatefulSet's own controller counts terminating pods too, until they are gone. */
function hasNoPods({ kind, metadata, status, spec }: KubeObject): boolean {
  if (kind !== "StatefulSet" || !isJsonObject(status) || !isJsonObject(spec)) return false;
  return spec.replicas === 0 && status.replicas === 0 && status.observedGeneration === metadata.generation;
}

function isOwnedBy({ metadata }: KubeObject, { kind, name }: ObjectRef): boolean {
  const owners = Array.isArray(metadata.ownerReferences) ? metadata.ownerReferences.filter(isJsonObject) : undefined;
  return owners === undefined || owners.some((owner) => owner.kind === kind && owner.name === name);
}

/** The pods that a ManifestWork observes in addition to what it delivers. */
function observedPods(work: KubeObject): ObjectRef[] {
  const [, ...others] = manifestsOf(work).filter(isManifest);
  return others.map(refOf).filter(({ apiVersion, kind }) => apiVersion === "v1" && kind === "Pod");
}

/**
 * The pods that its reports should show and do not: it was written while its cluster could be read directly. Without
 * them no gate opens, because a StatefulSet's status counts pods that are going away as ready.
 */
export function podsUnobserved(work: KubeObject): ObjectRef[] {
  const [manifest, spec] = [manifestOf(work), writtenSpec(work)];
  if (!manifest || !isJsonObject(spec) || observedPods(work).length > 0) return [];
  const granted = typeof spec.replicas === "number" ? spec.replicas : 1;
  const counted = readValues(manifestStatus(work)).get(TOTAL);
  // More than were granted: some are going away.
  const replicas = Math.max(granted, typeof counted === "number" ? counted : 0);
  return podsToObserve({ ...manifest, spec: { ...spec, replicas } }, undefined);
}

/** Above this, a ManifestWork would come near OCM's limit of 500 KiB; then none is observed. */
const MAX_OBSERVED_PODS = 100;

/**
 * The pods to observe by name: those of the manifest, and those observed so far that may still exist, so that a
 * terminating instance is visible until it is gone.
 */
export function podsToObserve(manifest: KubeObject, previous: KubeObject | undefined): ObjectRef[] {
  if (manifest.apiVersion !== "apps/v1" || manifest.kind !== "StatefulSet") return [];
  const spec = isJsonObject(manifest.spec) ? manifest.spec : {};
  const replicas = typeof spec.replicas === "number" ? spec.replicas : 1;
  const ordinals = isJsonObject(spec.ordinals) ? spec.ordinals : {};
  const start = typeof ordinals.start === "number" ? ordinals.start : 0;
  const { name, namespace = "" } = manifest.metadata;
  if (replicas > MAX_OBSERVED_PODS) return [];
  const wanted = Array.from({ length: replicas }, (_, at) => `${name}-${start + at}`);
  const left = previous ? observedPods(previous).filter((pod) => isThere(manifestStatus(previous, pod)) !== false) : [];
  const names = [...new Set([...wanted, ...left.map((pod) => pod.name)])];
  if (names.length > MAX_OBSERVED_PODS) return [];
  return names.map((pod) => ({ apiVersion: "v1", kind: "Pod", namespace, name: pod }));
}
