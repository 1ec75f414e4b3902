/**
 * Limits on what comes from outside, in one place. Each has a unit in its name and a reason beside it.
 */
export const LIMITS = {
  /** etcd refuses requests of more than 1.5 MiB; the API server takes bodies up to 3 MiB. */
  requestBodyBytes: 3 * 1024 * 1024,
  /** Kubernetes refuses more annotation text than this in one object. */
  annotationsBytes: 256 * 1024,
  /** Deeper JSON than this is an attack, not an object; Kubernetes refuses at 10,000, our recursion must stay safe. */
  jsonDepth: 200,
  /** Objects asked for in one page of a list. 500 pods are about 2 MB: few round trips, and little to hold at a time. */
  listPageObjects: 500,
  /** A response larger than this is cut off: a list page of the largest objects still fits. */
  responseBodyBytes: 256 * 1024 * 1024,
} as const;
