/** A cluster's name on the hub. */
export type ClusterName = string;
/** Names a revision's content: the template, its dependencies and the restart stamp, without replicas. */
export type RevisionId = string;
/** Milliseconds since 1970. Pure code never reads a clock; the caller passes the time. */
export type TimeMs = number;

export interface Wave {
  readonly clusters: readonly ClusterName[];
  readonly soakSeconds: number;
  readonly approval: "Automatic" | "Manual";
}

/** A manual gate that a person opened. `wave` counts from 0. */
export interface Approval {
  readonly revision: RevisionId;
  readonly wave: number;
}

export interface Promotion {
  readonly revision: RevisionId;
  /** The wave whose soak is over at once, counted from 0. */
  readonly wave?: number;
  /** Steps may begin while no maintenance window is open. */
  readonly window: boolean;
}

/** How many more instances fit into a cluster's free resources. */
export interface Room {
  readonly instances: number;
  /** The resource that runs out first: what is free, and what one instance requests. */
  readonly evidence: string;
}

export type FleetFact =
  /**
   * `cordoned`: a taint keeps new instances away; running ones stay. `maintenance`: no step starts, and the leader is
   * moved away. `room`: absent, if it is not known what fits.
   */
  | { readonly state: "Ready"; readonly cordoned?: string; readonly maintenance?: true; readonly room?: Room }
  | { readonly state: "NotReady"; readonly sinceMs: TimeMs }
  | { readonly state: "Unknown"; readonly sinceMs?: TimeMs }
  /** No longer part of the fleet. Its instances may live on. */
  | { readonly state: "Gone"; readonly sinceMs: TimeMs };

/** What became of revisions. No rule reads it; it shows users which revisions they can return to. */
export interface RevisionHistory {
  /** Revisions that a cluster was granted, the newest first. */
  readonly reached: readonly RevisionId[];
  /** Revisions that completed, as a stack: the newest first, without those that were undone. */
  readonly completed: readonly RevisionId[];
}
