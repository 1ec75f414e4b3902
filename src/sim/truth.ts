/** Why an instance went down. Only the first two are somebody acting on a grant. */
export type DownCause = "update" | "removal" | "accident";

/** One process of the application, as it really is, whoever sees it. */
export interface Instance {
  readonly ordinal: number;
  revision: string;
  state: "starting" | "ready" | "terminating";
  /** Answers, although it may be going away. */
  up: boolean;
  /** Has been up at least once since it was added. */
  joined: boolean;
  downBy: DownCause | undefined;
  downSinceMs: number;
}

/** A member cluster as it really is: what the properties are held against, past the controller and every cache. */
export interface TrueMember {
  readonly name: string;
  readonly instances: ReadonlyMap<number, Instance>;
  /** The hub and the member reach each other. */
  readonly reachable: boolean;
  /** Since when this member's operator has not kept to the rules: what it does is nobody else's fault. */
  readonly dishonest: boolean;
  /** The epoch, replicas and generation of the live object. */
  readonly live: { readonly epoch: number; readonly replicas: number; readonly generation: number } | undefined;
}

/** Told of everything that happens to instances, at the moment it happens. */
export interface Witness {
  applied(member: TrueMember, kind: string, name: string, spec: unknown): void;
  starts(member: TrueMember, instance: Instance): void;
  up(member: TrueMember, instance: Instance): void;
  goesDown(member: TrueMember, instance: Instance, cause: DownCause): void;
  gone(member: TrueMember, instance: Instance): void;
  deleted(member: TrueMember, kind: string, name: string): void;
  /** Whoever led has handed the lead to another, because it was asked to. */
  leaderMoved(from: TrueMember): void;
}
