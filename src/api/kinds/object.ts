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
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

export interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export type KubeObject<Schema extends TSchema, ApiVersion extends string, Kind extends string> = {
  apiVersion: ApiVersion;
  kind: Kind;
  metadata: ObjectMeta;
} & Static<Schema>;
