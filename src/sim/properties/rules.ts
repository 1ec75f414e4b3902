import type { JsonObject } from "../../runtime/index.ts";

/** A period in which nothing may move. */
export interface Stillness {
  readonly name: string;
  /** Annotations may be written: no spec changes, nothing restarts. Otherwise nothing is written. */
  readonly allowsAnnotations: boolean;
}

/** What the properties must know of the intent; the run keeps it current. */
export interface Rules {
  readonly kind: string;
  readonly quorum: "Majority" | "None";
  readonly isOrdered: boolean;
  readonly maxUnavailable: number;
  readonly failoverAfterMs: number;
  /** Ordinals are unique over all clusters, not only inside each. */
  readonly globalOrdinals: boolean;
  /** Members act only in their turn. Otherwise they act on their spec as soon as they have it. */
  readonly readsTurns: boolean;
  /** Only a user who deletes an instance restarts it. */
  readonly onDelete: boolean;
  /** The leader's cluster is updated last, and nothing else orders clusters. */
  readonly leaderLast: boolean;
  /** Update steps start only while a window is open: from each opening, for this long. */
  readonly windows: { readonly everyMs: number; readonly openMs: number } | undefined;
  /** A Placement selects the clusters, and its user wants all of them throughout. */
  readonly isPlaced: boolean;
  /** Lost instances are replaced elsewhere. */
  readonly replaces: boolean;
  /** What instances of this spec run, in one word. */
  readonly revisionOf: (spec: JsonObject) => string;
  /** Being torn down: quorum and budget do not apply. */
  tearsDown: boolean;
  /** How many instances each cluster should have. */
  desired: ReadonlyMap<string, number>;
  confirmedDrain: ReadonlySet<string>;
  confirmedLost: ReadonlyMap<string, string>;
  /** Clusters whose instances the application itself has voted out, until they are gone. */
  readonly evicted: Set<string>;
  /** Nothing may move now, with the name of that promise; undefined: things may move. */
  still: Stillness | undefined;
  /** The controllers' clocks were moved: they may misjudge times. */
  clocksWrong: boolean;
}
