import type { Commit, ServerSnapshot } from "../../apiserver/index.ts";
import type { Dispatching } from "./dispatching.ts";
import type { TrueMember } from "./truth.ts";
import type { Backend } from "./wire.ts";

/** The hub as every client reaches it, and everything that is stored there, at the moment when it is stored. */
export interface HubDoor extends Backend {
  onCommit(listener: (commit: Commit) => void): void;
  snapshot(): ServerSnapshot;
}

/** A member, and what can be done to it. */
export interface GroundMember extends TrueMember {
  /** Its controller stops, or continues. */
  stall(stands: boolean): void;
  /** From now on its operator lies or restarts in parallel; false if the tier has no such operator. */
  misbehave(): boolean;
  behave(): void;
  /** A client changes an annotation of the live object directly. Returns whether there was one. */
  tamper(): boolean;
  /** An instance stops answering by itself, or hangs in termination. Returns whether there was one. */
  fail(durationMs: number): boolean;
  hang(durationMs: number): boolean;
  /** A user deletes an instance of an old revision, if all are up. Returns whether there was one. */
  deleteOne(isOld: (revision: string) => boolean): boolean;
  /** Whether the workload's object exists. */
  hasObject(): boolean;
}

/** What only engines with an agent in every member have. */
export interface AgentFaults {
  /** `workOnly`: the hub continues to call the cluster available. */
  die(cluster: string, workOnly: boolean): void;
  return(cluster: string): void;
  /** Its agent lives and reaches the hub: it can give signs of life. */
  isHeard(cluster: string): boolean;
  /** The controller reads the member itself, and need not believe its agent. */
  isReadDirectly(cluster: string): boolean;
  /** A user deletes the cluster's dispatch objects without their agent's part. Resolves to whether there were any. */
  tearOff(cluster: string): Promise<boolean>;
  /** Another writer dispatches the same object for a while. Returns whether there was one. */
  rival(cluster: string, forMs: number): boolean;
}

/** The controller's environment: a hub with its engine, and the members. */
export interface Ground {
  readonly hub: HubDoor;
  readonly members: ReadonlyMap<string, GroundMember>;
  readonly dispatching: Dispatching;
  readonly agents?: AgentFaults;
  start(): Promise<void>;
  /** A member's own API server, on engines that give clients credentials for it. */
  door?(cluster: string): Backend;
  /** Runs the application without Lockstep, on engines where a user has to. */
  runByHand?(replicas: ReadonlyMap<string, number>): void;
  cut(cluster: string): void;
  mend(cluster: string): void;
  /** The user's placement has changed. */
  place(replicas: ReadonlyMap<string, number>): void;
  /** The last decision of the engine's scheduler; undefined: none yet, or it is not used. */
  scheduled(): ReadonlyMap<string, number> | undefined;
  /** The cluster leaves the fleet and does not return. */
  leave(cluster: string): void;
  /** Nothing reaches the hub, and it reaches nothing; the members continue. */
  hubDown(isDown: boolean): void;
  /** The instance that leads the application. */
  leader(): { readonly cluster: string; readonly ordinal: number } | undefined;
  /** The application's other members vote out those of a cluster. Returns whether there were any. */
  evict(cluster: string): boolean;
}
