/** Limits on data from outside, in one place. Each has a unit in its name and a reason. */
export const LIMITS = {
  /** etcd refuses requests of more than 1.5 MiB; the API server accepts bodies up to 3 MiB. */
  requestBodyBytes: 3 * 1024 * 1024,
  /** Kubernetes refuses more annotation text than this in one object. */
  annotationsBytes: 256 * 1024,
  /** The API server refuses a JSON patch of more operations. */
  patchOperations: 10_000,
  /** Deeper JSON than this is an attack, not an object; Kubernetes refuses at 10,000, our recursion must stay safe. */
  jsonDepth: 200,
  /** Objects in one page of a list. 500 pods are about 2 MB: few round trips, and little memory at a time. */
  listPageObjects: 500,
  /** A response larger than this is cut off: a list page of the largest objects still fits. */
  responseBodyBytes: 256 * 1024 * 1024,
  /**
   * Open watches; over HTTP/1.1 each holds a connection. Enough for two kinds in 450 clusters, or nine kinds in a
   * hundred.
   */
  openStreams: 1_024,
  /** The maximum for that setting. A backstop of the transport: a stream beyond it would wait without any report. */
  maxOpenStreams: 4_096,
} as const;
