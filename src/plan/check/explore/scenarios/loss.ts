import { confirmLost, type Scenario, scaleTo, scenario, template } from "../scenario.ts";
import { IGNORANT, STATEFUL_SETS } from "./common.ts";

/** Longer than failover.afterSeconds. */
const UNTIL_LOST_MS = 301_000;

/** Clusters are cut off, given up, leave the fleet, and come back. */
export const LOSSES: readonly Scenario[] = [
  scenario("contract 1+1+1, lost and back in an update", {
    sizes: { a: 1, b: 1, c: 1 },
    faults: { cut: 1, wait: 1 },
    waitMs: UNTIL_LOST_MS,
    edits: [template("B")],
  }),
  scenario("contract 2+2+1, lost and back in an update", {
    large: true,
    sizes: { a: 2, b: 2, c: 1 },
    faults: { cut: 1, wait: 1 },
    waitMs: UNTIL_LOST_MS,
    edits: [template("B")],
  }),
  scenario("StatefulSets 1+1+1, lost and back in an update", {
    ...STATEFUL_SETS,
    large: true,
    sizes: { a: 1, b: 1, c: 1 },
    faults: { cut: 1, wait: 1 },
    waitMs: UNTIL_LOST_MS,
    edits: [template("B")],
  }),
  scenario("ignorant 1+1+1, lost and back in an update", {
    ...IGNORANT,
    sizes: { a: 1, b: 1, c: 1 },
    faults: { cut: 1, wait: 1 },
    waitMs: UNTIL_LOST_MS,
    edits: [template("B")],
  }),
  scenario("contract 1+1+1, a cluster leaves the fleet in an update", {
    sizes: { a: 1, b: 1, c: 1 },
    faults: { gone: 1 },
    edits: [template("B")],
  }),
  scenario("contract 2+1, drained and cut off", {
    sizes: { a: 2, b: 1 },
    faults: { cut: 1 },
    edits: [scaleTo({ a: 2, b: 0 })],
  }),
  scenario("contract 1+1+1, drained and cut off", {
    large: true,
    sizes: { a: 1, b: 1, c: 1 },
    faults: { cut: 1 },
    edits: [scaleTo({ a: 1, b: 1, c: 0 })],
  }),
  scenario("contract 2+1, dropped by the schedule while it has left the fleet", {
    sizes: { a: 2, b: 1 },
    faults: { gone: 1 },
    edits: [scaleTo({ a: 3, b: 0 })],
  }),
  scenario("contract 1+1+1, dropped by the schedule while it has left the fleet", {
    large: true,
    sizes: { a: 1, b: 1, c: 1 },
    faults: { gone: 1 },
    edits: [scaleTo({ a: 1, b: 1, c: 0 })],
  }),
  scenario("contract 2+1, dropped by the schedule while lost", {
    large: true,
    sizes: { a: 2, b: 1 },
    faults: { cut: 1, wait: 1 },
    waitMs: UNTIL_LOST_MS,
    edits: [scaleTo({ a: 2, b: 0 })],
  }),
  scenario("contract 1+1+1, put out of the application while away", {
    sizes: { a: 1, b: 1, c: 1 },
    listsMembers: true,
    seesVolumes: true,
    faults: { gone: 1, expel: 1 },
  }),
  scenario("contract 1+1+1, Replace once the application has put them out", {
    sizes: { a: 1, b: 1, c: 1 },
    listsMembers: true,
    seesVolumes: true,
    spec: { failover: { policy: "Replace", afterSeconds: 300 } },
    sizesMayDiffer: true,
    faults: { gone: 1, expel: 1 },
  }),
  scenario("contract 1+1+1, Replace after confirm-lost", {
    sizes: { a: 1, b: 1, c: 1 },
    spec: { failover: { policy: "Replace", afterSeconds: 300 } },
    sizesMayDiffer: true,
    faults: { cut: 1 },
    edits: [confirmLost("c")],
  }),
  scenario("contract 1+1, Replace after confirm-lost in an update", {
    large: true,
    sizes: { a: 1, b: 1 },
    spec: { failover: { policy: "Replace", afterSeconds: 300 } },
    sizesMayDiffer: true,
    faults: { cut: 1 },
    edits: [confirmLost("b"), template("B")],
  }),
  scenario("contract 2+1, dropped by the schedule where the application puts members out", {
    large: true,
    sizes: { a: 2, b: 1 },
    listsMembers: true,
    seesVolumes: true,
    sizesMayDiffer: true,
    faults: { gone: 1, expel: 1 },
    edits: [scaleTo({ a: 2, b: 0 })],
  }),
];
