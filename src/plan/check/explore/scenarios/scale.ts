import { cordon, fill, type Scenario, scaleTo, scenario, template, unschedule } from "../scenario.ts";
import { IGNORANT, STATEFUL_SETS } from "./common.ts";

/** Instances come and go, and move between clusters. */
export const SCALINGS: readonly Scenario[] = [
  scenario("StatefulSets 1+1+1, several clusters scaled in one edit", {
    ...STATEFUL_SETS,
    sizes: { a: 1, b: 1, c: 1 },
    edits: [scaleTo({ a: 2, b: 0, c: 2 })],
  }),
  scenario("StatefulSets 1+1+1, several clusters scaled in one edit, an accident", {
    ...STATEFUL_SETS,
    large: true,
    sizes: { a: 1, b: 1, c: 1 },
    faults: { accident: 1 },
    edits: [scaleTo({ a: 2, b: 0, c: 2 })],
  }),
  scenario("StatefulSets 1+1+1, moved, crashes", {
    ...STATEFUL_SETS,
    sizes: { a: 1, b: 1, c: 1 },
    faults: { crash: 1 },
    edits: [scaleTo({ a: 2, b: 1, c: 0 })],
  }),
  scenario("StatefulSets 1+1+1, moved, the ledger lost", {
    ...STATEFUL_SETS,
    sizes: { a: 1, b: 1, c: 1 },
    faults: { rebuild: 1 },
    edits: [scaleTo({ a: 2, b: 1, c: 0 })],
  }),
  scenario("StatefulSets 2+1, moved to a new cluster in mid-rollout", {
    ...STATEFUL_SETS,
    large: true,
    sizes: { a: 2, b: 1 },
    spare: ["c"],
    edits: [template("B"), scaleTo({ a: 1, b: 1, c: 1 })],
  }),
  scenario("StatefulSets 2+1, scaled in mid-rollout, the ledger lost", {
    ...STATEFUL_SETS,
    large: true,
    sizes: { a: 2, b: 1 },
    faults: { rebuild: 1 },
    edits: [template("B"), scaleTo({ a: 1, b: 2 })],
  }),
  scenario("contract 2+1, scaled out and in, an accident", {
    large: true,
    sizes: { a: 2, b: 1 },
    faults: { accident: 1 },
    edits: [scaleTo({ a: 1, b: 2 })],
  }),
  scenario("contract 1+1+1 in Dense, moved", {
    large: true,
    sizes: { a: 1, b: 1, c: 1 },
    identity: { mode: "Dense" },
    seesVolumes: true,
    edits: [scaleTo({ a: 1, b: 2, c: 0 })],
  }),
  scenario("contract 1+1 in Dense, moved and back, crashes", {
    large: true,
    sizes: { a: 1, b: 1 },
    identity: { mode: "Dense" },
    seesVolumes: true,
    faults: { crash: 1 },
    edits: [scaleTo({ a: 2, b: 0 }), scaleTo({ a: 1, b: 1 })],
  }),
  scenario("contract 1+1 in Dense, scaled out and in", {
    sizes: { a: 1, b: 1 },
    identity: { mode: "Dense" },
    seesVolumes: true,
    edits: [scaleTo({ a: 2, b: 1 }), scaleTo({ a: 1, b: 1 }), scaleTo({ a: 1, b: 2 })],
  }),
  scenario("contract 2+1, a new cluster in mid-rollout", {
    sizes: { a: 2, b: 1 },
    spare: ["c"],
    edits: [template("B"), scaleTo({ a: 2, b: 1, c: 1 })],
  }),
  scenario("contract 2+1+1, scaled out in mid-rollout, a leader", {
    sizes: { a: 2, b: 1, c: 1 },
    leader: "c",
    edits: [template("B"), scaleTo({ a: 2, b: 2, c: 1 })],
  }),
  scenario("contract 1+2, scaled in, the application lists its members", {
    sizes: { a: 1, b: 2 },
    listsMembers: true,
    edits: [scaleTo({ a: 1, b: 1 })],
  }),
  scenario("contract 1+1+1, moved, the application lists its members", {
    large: true,
    sizes: { a: 1, b: 1, c: 1 },
    listsMembers: true,
    edits: [scaleTo({ a: 2, b: 1, c: 0 })],
  }),
  scenario("contract 2+1+1, the leader's instance removed", {
    sizes: { a: 2, b: 1, c: 1 },
    leader: "c",
    update: { leaderTransfer: { timeoutSeconds: 30 } },
    edits: [scaleTo({ a: 2, b: 1, c: 0 })],
  }),
  scenario("contract 2+1, the schedule unknown for a while", {
    sizes: { a: 2, b: 1 },
    edits: [template("B"), unschedule, scaleTo({ a: 1, b: 2 })],
  }),
  scenario("contract 1+1, a new cluster that is cordoned", {
    sizes: { a: 1, b: 1 },
    spare: ["c"],
    edits: [cordon("c", true), scaleTo({ a: 1, b: 1, c: 1 }), cordon("c", false)],
  }),
  scenario("contract 1+1, a new cluster that is full", {
    sizes: { a: 1, b: 1 },
    spare: ["c"],
    edits: [fill("c", true), scaleTo({ a: 1, b: 1, c: 1 }), fill("c", false)],
  }),
  scenario("contract 2+1, full in mid-rollout and asked to grow", {
    sizes: { a: 2, b: 1 },
    edits: [template("B"), fill("b", true), scaleTo({ a: 2, b: 2 }), fill("b", false)],
  }),
  scenario("contract 2+1, cordoned in mid-rollout and asked to grow", {
    sizes: { a: 2, b: 1 },
    edits: [template("B"), cordon("b", true), scaleTo({ a: 2, b: 2 }), cordon("b", false)],
  }),
  scenario("ignorant 1+1, scaled out in mid-rollout", {
    ...IGNORANT,
    sizes: { a: 1, b: 1 },
    edits: [template("B"), scaleTo({ a: 2, b: 1 })],
  }),
];
