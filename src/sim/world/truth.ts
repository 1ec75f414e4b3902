import type { Parts } from "./told.ts";

/** Why an instance went down. Only the first two are actions on a grant. */
export type DownCause = "update" | "removal" | "accident";

/** One process of the application in its real state, regardless of observers. */
export interface Instance {
  readonly ordinal: number;
  revision: string;
  state: "starting" | "ready" | "terminating";
  /** It answers, although it may be terminating. */
  up: boolean;
  /** It has been up at least once since it was added. */
  joined: boolean;
  downBy: DownCause | undefined;
  downSinceMs: number;
}

/** The real state of a member cluster, which the properties check, without the controller and every cache. */
export interface TrueMember {
  readonly name: string;
  readonly instances: ReadonlyMap<number, Instance>;
  /** The hub and the member reach each other. */
  readonly reachable: boolean;
  /** Since when this member's operator has violated the contract: its actions do not count against others. */
  readonly dishonest: boolean;
  /** The epoch, replicas and generation of the live object. */
  readonly live: { readonly epoch: number; readonly replicas: number; readonly generation: number } | undefined;
  /** What it has of topologies by reference, and what its live object refers to. */
  readonly parts: Parts;
  readonly refersTo: readonly string[];
}

/** Called for everything that happens to instances, at the moment when it happens. */
export interface Witness {
  applied(member: TrueMember, kind: string, name: string, spec: unknown): void;
  starts(member: TrueMember, instance: Instance): void;
  up(member: TrueMember, instance: Instance): void;
  goesDown(member: TrueMember, instance: Instance, cause: DownCause): void;
  gone(member: TrueMember, instance: Instance): void;
  deleted(member: TrueMember, kind: string, name: string): void;
  /** The leader has handed over to another instance, because it was asked to. */
  leaderMoved(from: TrueMember): void;
}
