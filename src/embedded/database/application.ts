/**
 * A database that keeps a quorum, as its operator sees it: one for all clusters, since its instances talk to each other past
 * every API server.
 */
export interface Application {
  /** The leading instance, as last seen; undefined: nobody knows. */
  readonly leader: string | undefined;
  /** Its own member list, and when its leader confirmed it. */
  readonly membership: { readonly members: readonly string[]; readonly atMs: number } | undefined;
  /** Called when the leader or the member list changes. */
  onChange(listener: () => void): void;
  /** Adds a member before its process starts. `forming`: it belongs to the first ones, which found the database. */
  join(instance: string, address: string, forming: boolean): Promise<void>;
  /** Whether a member whose process runs takes part in every decision by now. */
  admit(instance: string): Promise<boolean>;
  leave(instance: string): Promise<void>;
  /** Asks the leader to hand over; whether it did is seen in `leader`. */
  transfer(to: string): Promise<void>;
  /** A member's process is ready, or not any more. */
  running(instance: string, isUp: boolean): void;
  stop(): Promise<void>;
}
