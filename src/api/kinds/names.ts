/** Names and limits that several kinds share. */

/** Kubernetes' maximum length of an object name. */
export const NAME_CHARS = 253;
/**
 * A DNS label: names of namespaces and clusters. Karmada allows 48 characters for clusters, Open Cluster Management 63.
 */
export const LABEL_CHARS = 63;
export const DNS_LABEL = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";
export const DNS_SUBDOMAIN = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";
/** An object's apiVersion and kind. */
export const API_VERSION = "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?v[0-9]+((alpha|beta)[0-9]+)?$";
export const KIND = "^[A-Za-z][A-Za-z0-9]*$";
/**
 * The maximum number of clusters of one application. Far above real use; rules over all of them must stay within
 * Kubernetes' cost limits.
 */
export const MAX_CLUSTERS = 64;
/** A message for users; longer ones are cut before they are written. */
export const MESSAGE_CHARS = 4096;
export const REASON_CHARS = 128;
/** Lockstep's names of revisions are far shorter; workloads that name their own revisions need the room. */
export const REVISION_CHARS = 128;

export const SECOND = 1;
export const HOUR_SECONDS = 3600 * SECOND;
export const DAY_SECONDS = 24 * HOUR_SECONDS;
export const WEEK_SECONDS = 7 * DAY_SECONDS;
