import type { App } from "./app.ts";
import type { Dice } from "./dice.ts";

export type CrashPoint = "crash before" | "crash after" | "crash acknowledged";

/** One fault, or one action of a user, at a time. */
export type Happening =
  | { readonly atMs: number; readonly kind: "crash at write"; readonly write: number; readonly point: CrashPoint }
  | { readonly atMs: number; readonly kind: "flaky"; readonly forMs: number; readonly rate: number }
  | { readonly atMs: number; readonly kind: "slow"; readonly forMs: number; readonly latencyMs: number }
  | { readonly atMs: number; readonly kind: "stale"; readonly forMs: number; readonly lagMs: number }
  | { readonly atMs: number; readonly kind: "drop watches" }
  | { readonly atMs: number; readonly kind: "cut"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "pause leader"; readonly forMs: number; readonly clockStands: boolean }
  | { readonly atMs: number; readonly kind: "clock jump"; readonly byMs: number }
  | { readonly atMs: number; readonly kind: "stall"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "dishonest"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "tamper"; readonly cluster: string }
  | { readonly atMs: number; readonly kind: "fail"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "hang"; readonly cluster: string; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "edit"; readonly image: string }
  | { readonly atMs: number; readonly kind: "scale"; readonly cluster: string; readonly by: number }
  | { readonly atMs: number; readonly kind: "drain"; readonly cluster: string }
  | { readonly atMs: number; readonly kind: "pause" | "resume" | "undo" | "restart" }
  /** The leader stalls from the acknowledgement of a write on, and so does its clock. */
  | { readonly atMs: number; readonly kind: "pause at write"; readonly write: number; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "stale lists"; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "hub down"; readonly forMs: number }
  | { readonly atMs: number; readonly kind: "leave" | "evict"; readonly cluster: string }
  | { readonly atMs: number; readonly kind: "confirm lost" | "give up" | "delete one"; readonly cluster: string }
  /** Where every member has an agent. `workOnly`: the hub continues to call the cluster available. */
  | {
      readonly atMs: number;
      readonly kind: "agent dies";
      readonly cluster: string;
      readonly forMs: number;
      readonly workOnly: boolean;
    }
  /** A user deletes the cluster's dispatch objects, and does not wait for its agent's part. */
  | { readonly atMs: number; readonly kind: "tear off"; readonly cluster: string }
  /** Another writer dispatches the same object, for a while. */
  | { readonly atMs: number; readonly kind: "rival"; readonly cluster: string; readonly forMs: number }
  /** Only the workload's, or also its dependencies'. */
  | { readonly atMs: number; readonly kind: "delete works"; readonly cluster: string; readonly all: boolean };

/** Unintentional faults. A few per seed, so that each can have an effect. */
export function accidents(dice: Dice, clusters: readonly string[], calmAtMs: number): Happening[] {
  const found: Happening[] = [];
  const at = () => dice.whole(2_000, calmAtMs - 5_000);
  const span = (low: number, high: number) => 1000 * dice.whole(low, high);
  const cluster = () => dice.pick(clusters);
  const points: CrashPoint[] = ["crash before", "crash after", "crash acknowledged"];
  const kinds: (() => Happening)[] = [
    () => ({ atMs: 0, kind: "crash at write", write: dice.whole(1, 60), point: dice.pick(points) }),
    () => ({ atMs: 0, kind: "crash at write", write: dice.whole(1, 60), point: dice.pick(points) }),
    () => ({ atMs: at(), kind: "flaky", forMs: span(5, 40), rate: dice.pick([0.05, 0.15, 0.4]) }),
    () => ({ atMs: at(), kind: "slow", forMs: span(5, 40), latencyMs: dice.pick([200, 1_000, 4_000]) }),
    () => ({ atMs: at(), kind: "stale", forMs: span(5, 40), lagMs: dice.pick([500, 3_000, 15_000]) }),
    () => ({ atMs: at(), kind: "drop watches" }),
    () => ({ atMs: at(), kind: "cut", cluster: cluster(), forMs: span(3, 20) }),
    () => ({ atMs: at(), kind: "cut", cluster: cluster(), forMs: span(70, 100) }),
    () => ({ atMs: at(), kind: "pause leader", forMs: span(12, 45), clockStands: dice.chance(0.6) }),
    () => ({ atMs: at(), kind: "pause leader", forMs: span(16, 45), clockStands: true }),
    () => ({ atMs: at(), kind: "clock jump", byMs: dice.pick([-1, 1]) * span(60, 7_200) }),
    () => ({ atMs: at(), kind: "stall", cluster: cluster(), forMs: span(5, 80) }),
    () => ({ atMs: at(), kind: "dishonest", cluster: cluster(), forMs: span(10, 60) }),
    () => ({ atMs: at(), kind: "tamper", cluster: cluster() }),
    () => ({ atMs: at(), kind: "fail", cluster: cluster(), forMs: span(2, 20) }),
    () => ({ atMs: at(), kind: "fail", cluster: cluster(), forMs: span(90, 130) }),
    () => ({ atMs: at(), kind: "hang", cluster: cluster(), forMs: span(90, 130) }),
  ];
  const count = dice.pick([0, 1, 2, 3, 3, 4, 5]);
  for (let index = 0; index < count; index++) found.push(dice.pick(kinds)());
  return found;
}

/** What users do, mostly while something is in progress. */
export function edits(dice: Dice, { clusters }: App, calmAtMs: number): Happening[] {
  const found: Happening[] = [];
  const at = () => dice.whole(4_000, calmAtMs - 2_000);
  let image = 1;
  const kinds: (() => Happening)[] = [
    () => ({ atMs: at(), kind: "edit", image: `app:${++image}` }),
    () => ({ atMs: at(), kind: "edit", image: `app:${++image}` }),
    () => ({ atMs: at(), kind: "edit", image: `app:${++image}-broken` }),
    () => ({ atMs: at(), kind: "scale", cluster: dice.pick(clusters), by: dice.pick([-1, 1, 1]) }),
    () => ({ atMs: at(), kind: "drain", cluster: dice.pick(clusters) }),
    () => ({ atMs: at(), kind: "undo" }),
    () => ({ atMs: at(), kind: "restart" }),
  ];
  const count = dice.pick([1, 1, 2, 2, 3]);
  for (let index = 0; index < count; index++) found.push(dice.pick(kinds)());
  if (dice.chance(0.15)) {
    const atMs = at();
    found.push({ atMs, kind: "pause" }, { atMs: atMs + 1000 * dice.whole(5, 30), kind: "resume" });
  }
  return found;
}
