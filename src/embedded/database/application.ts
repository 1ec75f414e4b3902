/**
 * A database that needs a quorum, as its operator sees it: one for all clusters, because its instances communicate
 * directly, not through API servers.
 */
export interface Application {
  /** The leading instance, as last seen; undefined: unknown. */
  readonly leader: string | undefined;
  /** Its own member list, and when its leader confirmed it. */
  readonly membership: { readonly members: readonly string[]; readonly atMs: number } | undefined;
  /** Called when the leader or the member list changes. */
  onChange(listener: () => void): void;
  /** Adds a member before its process starts. `forming`: it is one of the first ones, which found the database. */
  join(instance: string, address: string, forming: boolean): Promise<void>;
  /** Whether a running member already takes part in every decision. */
  admit(instance: string): Promise<boolean>;
  leave(instance: string): Promise<void>;
  /** Asks the leader to hand over; `leader` shows whether it did. */
  transfer(to: string): Promise<void>;
  /** A member's process is ready, or no longer ready. */
  running(instance: string, isUp: boolean): void;
  stop(): Promise<void>;
}
