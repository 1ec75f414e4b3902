import type { Commit, ServerSnapshot } from "../apiserver/index.ts";
import type { TrueMember } from "./truth.ts";
import type { Backend } from "./wire.ts";

/** The hub as everybody reaches it, and everything that is stored there, at the moment it is. */
export interface HubDoor extends Backend {
  onCommit(listener: (commit: Commit) => void): void;
  snapshot(): ServerSnapshot;
}

/** A member, and what can be done to it. */
export interface GroundMember extends TrueMember {
  /** Its controller stands still, or goes on. */
  stall(stands: boolean): void;
  /** From now on its operator lies or restarts in parallel; false where the tier has no such operator. */
  misbehave(): boolean;
  behave(): void;
  /** Somebody changes an annotation of the live object past the engine. Whether there was one. */
  tamper(): boolean;
  /** An instance stops answering by itself, or hangs while it goes away. Whether there was one. */
  fail(durationMs: number): boolean;
  hang(durationMs: number): boolean;
  /** Somebody deletes an instance of an old revision, if all are up. Whether there was one. */
  deleteOne(isOld: (revision: string) => boolean): boolean;
  /** Whether the workload's object is there. */
  hasObject(): boolean;
}

/** What the controller stands on: a hub with its engine, and the members. */
export interface Ground {
  readonly hub: HubDoor;
  readonly members: ReadonlyMap<string, GroundMember>;
  start(): Promise<void>;
  cut(cluster: string): void;
  mend(cluster: string): void;
  /** The user's placement has changed. */
  place(replicas: ReadonlyMap<string, number>): void;
  /** What the engine's scheduler decided last; undefined: nothing yet, or nobody asks it. */
  scheduled(): ReadonlyMap<string, number> | undefined;
  /** The cluster leaves the fleet and does not come back. */
  leave(cluster: string): void;
  /** Nothing reaches the hub, and it reaches nothing; the members go on. */
  hubDown(isDown: boolean): void;
  /** The instance that leads the application. */
  leader(): { readonly cluster: string; readonly ordinal: number } | undefined;
  /** The application's other members vote out those of a cluster. Whether there were any. */
  evict(cluster: string): boolean;
}
