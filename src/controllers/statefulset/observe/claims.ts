/**
 * Which CrossClusterStatefulset owns an object. Two that select the same one would run two quorums, or overwrite each
 * other: one owns it, the others wait. Pure; the controller and `lockstep plan` decide by the same rule.
 */
import { selectedWorkload } from "../../../api/index.ts";
import type { ObjectRef } from "../../../engine/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { withFinalizer } from "../../common/resources.ts";

/** A CrossClusterStatefulset that may own an object. */
export interface Claimant {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdMs: number;
  /** Lockstep has begun to act for it, which its finalizer tells: what runs keeps its template. */
  readonly hasBegun: boolean;
}

export interface Contender extends Claimant {
  /** `unknown`: it selects by label, and what there is to match has not been listed yet. */
  readonly selects: "it" | "another" | "unknown";
}

export type Ownership =
  | { readonly kind: "owner" }
  | { readonly kind: "claimed"; readonly by: Claimant }
  /** One that would come first may select the same object; it is not known yet. */
  | { readonly kind: "undecided" };

/** Who comes first: those that have begun, then the oldest; the uid decides between two of the same second. */
export function ownershipOf(own: Claimant, contenders: readonly Contender[]): Ownership {
  const [first] = contenders
    .filter((other) => other.selects !== "another" && order(other, own) < 0)
    .sort((a, b) => order(a, b));
  if (!first) return { kind: "owner" };
  return first.selects === "it" ? { kind: "claimed", by: first } : { kind: "undecided" };
}

function order(a: Claimant, b: Claimant): number {
  if (a.hasBegun !== b.hasBegun) return a.hasBegun ? -1 : 1;
  if (a.createdMs !== b.createdMs) return a.createdMs < b.createdMs ? -1 : 1;
  return a.uid < b.uid ? -1 : a.uid > b.uid ? 1 : 0;
}

/**
 * The object's claim; undefined: it has none. What is being deleted, or cannot be read, claims nothing unless Lockstep
 * has begun to act for it: then its instances are there.
 */
export function claimantOf(object: KubeObject, isValid: boolean): Claimant | undefined {
  const { namespace = "", name, uid = "", creationTimestamp, deletionTimestamp } = object.metadata;
  const hasBegun = withFinalizer(object) === undefined;
  if (!hasBegun && (!isValid || deletionTimestamp !== undefined)) return undefined;
  const createdMs = Date.parse(String(creationTimestamp ?? ""));
  return {
    namespace,
    name,
    uid,
    // Without a time it has not been created yet: it is the youngest.
    createdMs: Number.isFinite(createdMs) ? createdMs : Number.POSITIVE_INFINITY,
    hasBegun,
  };
}

/** How an object is found by those that select it: versions of one kind are the same objects. */
export function targetKey({ apiVersion, kind, namespace, name }: ObjectRef): string {
  return `${placeKey({ apiVersion, kind, namespace })}/${name}`;
}

/** All objects of one kind in one namespace: what a selector by label is matched with. */
export function placeKey({ apiVersion, kind, namespace }: Omit<ObjectRef, "name">): string {
  const group = apiVersion.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  return `${group}/${kind}/${namespace}`;
}

export type Selected =
  | { readonly kind: "by name"; readonly ref: ObjectRef }
  | { readonly kind: "by label"; readonly place: Omit<ObjectRef, "name"> };

/**
 * What an object selects or carries inline, read as it stands: also one whose spec is not valid any more may own what
 * it runs.
 */
export function selectedBy({ metadata, spec }: KubeObject): Selected | undefined {
  const selected = selectedWorkload({ metadata, spec });
  if (!selected) return undefined;
  const { apiVersion, kind, name } = selected;
  const place = { apiVersion, kind, namespace: metadata.namespace ?? "" };
  return name === undefined ? { kind: "by label", place } : { kind: "by name", ref: { ...place, name } };
}

/** The message for the object that waits, in its status and in plans. */
export function claimedMessage({ kind, namespace, name }: ObjectRef, by: Claimant): string {
  const owner = `${by.namespace}/${by.name}`;
  return (
    `${kind} ${namespace}/${name} is managed by CrossClusterStatefulset ${owner}; nothing is written for this one. ` +
    `It takes over when ${owner} has been deleted. Otherwise delete this one, or select another object`
  );
}
