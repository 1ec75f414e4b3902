import type { Static, TSchema } from "typebox";

/** The part of Kubernetes' metadata that Lockstep reads. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  readonly annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  name: string;
  uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export type KubeObject<Schema extends TSchema, ApiVersion extends string, Kind extends string> = {
  apiVersion: ApiVersion;
  kind: Kind;
  metadata: ObjectMeta;
} & Static<Schema>;
