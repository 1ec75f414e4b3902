import type { Stage } from "../types.ts";
import type { Scenario } from "./world.ts";

const apply = (...objects: string[]): Stage => ({ kind: "apply", title: "objects", objects });
const hook = (object: string): Stage => ({ kind: "hook", title: "hook", object, runs: true });
const prune: Stage = { kind: "prune", title: "pruning" };

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "two clusters, one after the other, with something to prune",
    clusters: ["a", "b"],
    revisions: { A: [apply("app", "old"), prune], B: [apply("app"), prune] },
    edits: ["A", "B"],
    losses: 0,
  },
  {
    name: "an edit goes there and back at any moment",
    clusters: ["a"],
    revisions: { A: [apply("same"), apply("app"), prune], B: [apply("same"), apply("app"), prune] },
    edits: ["A", "B", "A"],
    losses: 0,
  },
  {
    name: "a hook before the objects, and a cluster that is lost",
    clusters: ["a", "b"],
    revisions: { A: [hook("move"), apply("app"), prune] },
    edits: ["A"],
    losses: 1,
  },
  {
    name: "an edit while a hook runs",
    clusters: ["a"],
    revisions: { A: [hook("move"), apply("app"), prune], B: [hook("move"), apply("app"), prune] },
    edits: ["A", "B"],
    losses: 0,
  },
  {
    name: "waves, and a cluster that is lost",
    clusters: ["a", "b"],
    revisions: { A: [apply("app"), prune], B: [apply("app"), prune] },
    edits: ["A", "B"],
    losses: 1,
    rollout: { maxUnavailableClusters: 2, waves: [{ clusters: ["a"], soakSeconds: 0, approval: "Automatic" }] },
  },
  {
    name: "a deletion at any moment, and a cluster that is lost",
    clusters: ["a", "b"],
    revisions: { A: [apply("app"), prune] },
    edits: ["A"],
    losses: 1,
    deletes: true,
  },
];
