import {
  CROSS_CLUSTER_LEDGER,
  CROSS_CLUSTER_STATEFULSET,
  DISTRIBUTED_APPLICATION,
  type KindDefinition,
  ROLLOUT_APPROVAL,
} from "../../api/index.ts";
import { TERM_ANNOTATION } from "../../engine/index.ts";
import { type KubeObject, type Resource, resource, shortName } from "../../kube/index.ts";
import { isJsonObject } from "../../runtime/index.ts";

export const STATEFULSETS = ofKind(CROSS_CLUSTER_STATEFULSET);
export const APPLICATIONS = ofKind(DISTRIBUTED_APPLICATION);
export const LEDGERS = ofKind(CROSS_CLUSTER_LEDGER);
export const APPROVALS = ofKind(ROLLOUT_APPROVAL);
export const REVISIONS = resource({
  apiVersion: "apps/v1",
  kind: "ControllerRevision",
  plural: "controllerrevisions",
  namespaced: true,
});
export const SECRETS = resource({ apiVersion: "v1", kind: "Secret", plural: "secrets", namespaced: true });

/** Lockstep's own marks on the objects it keeps on the hub for one CrossClusterStatefulset. */
export const OWN = {
  /** Label: which CrossClusterStatefulset they belong to, as `appLabel` says. */
  app: "lockstep.karmada.io/statefulset",
  /** The same for DistributedApplications. */
  application: "lockstep.karmada.io/application",
  /** Annotation on the ledger: the term of the leader that may write it. */
  term: TERM_ANNOTATION,
  /** Label on what is kept of a revision: the `ownerId` of the CrossClusterStatefulset. */
  owner: "lockstep.karmada.io/owner",
  finalizer: "lockstep.karmada.io/release",
} as const;

/** A label's value that no other CrossClusterStatefulset of the hub has, however long their names are. */
export function appLabel({ namespace, name }: { readonly namespace: string; readonly name: string }): string {
  return shortName(name, `${namespace}/${name}`);
}

function ofKind(definition: KindDefinition): Resource {
  const { group, version, kind, plural, scope } = definition;
  return resource({ apiVersion: `${group}/${version}`, kind, plural, namespaced: scope === "Namespaced" });
}

/** The key of the object that an approval is about; none if that is of another kind. */
export function approvalTargets(approval: KubeObject, kind = STATEFULSETS.kind): string[] {
  const spec = isJsonObject(approval.spec) ? approval.spec : {};
  if ((spec.kind ?? STATEFULSETS.kind) !== kind) return [];
  return typeof spec.name === "string" ? [`${approval.metadata.namespace}/${spec.name}`] : [];
}

/** The object with our finalizer; undefined when it has it already. */
export function withFinalizer(object: KubeObject): KubeObject | undefined {
  const finalizers = finalizersOf(object);
  if (finalizers.includes(OWN.finalizer)) return undefined;
  return { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, OWN.finalizer] } };
}

/** The object without our finalizer; undefined when it has none. */
export function withoutFinalizer(object: KubeObject): KubeObject | undefined {
  const finalizers = finalizersOf(object);
  if (!finalizers.includes(OWN.finalizer)) return undefined;
  const others = finalizers.filter((finalizer) => finalizer !== OWN.finalizer);
  return { ...object, metadata: { ...object.metadata, finalizers: others } };
}

function finalizersOf(object: KubeObject): string[] {
  const { finalizers } = object.metadata;
  return Array.isArray(finalizers) ? finalizers.filter((finalizer) => typeof finalizer === "string") : [];
}
