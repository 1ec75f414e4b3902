import { confirmLost, remove, resume, type Scenario, scenario, template } from "../scenario.ts";
import { IGNORANT, STATEFUL_SETS } from "./common.ts";

const ONE = { revision: "A", replicas: 1, start: 0 } as const;
const TWO = { revision: "A", replicas: 2, start: 0 } as const;
const OTHER = { revision: "Z", replicas: 1, start: 0 } as const;

const DEPLOYMENTS: readonly Scenario[] = [
  scenario("contract 1+1 in Dense, deployed beside volumes of an earlier life", {
    sizes: { a: 1, b: 1 },
    identity: { mode: "Dense" },
    seesVolumes: true,
    leftBehind: { a: [1], b: [0] },
    start: "empty",
    faults: { crash: 1 },
  }),
  scenario("StatefulSets 1+1, deployed beside volumes of an earlier life that may not be reused", {
    ...STATEFUL_SETS,
    sizes: { a: 1, b: 1 },
    identity: { reuseVolumes: false },
    seesVolumes: true,
    leftBehind: { a: [0] },
    start: "empty",
  }),
  scenario("first deployment in order, contract 2+1", {
    start: "empty",
    sizes: { a: 2, b: 1 },
  }),
  scenario("first deployment in order, contract 1+1, a cluster cut off", {
    start: "empty",
    sizes: { a: 1, b: 1 },
    faults: { cut: 1 },
  }),
  scenario("first deployment in order, contract 2+1, superseded, crashes", {
    large: true,
    start: "empty",
    sizes: { a: 2, b: 1 },
    faults: { crash: 1 },
    edits: [template("B")],
  }),
  scenario("first deployment in order, contract 1+1, superseded, a cluster cut off", {
    large: true,
    start: "empty",
    sizes: { a: 1, b: 1 },
    faults: { cut: 1 },
    edits: [template("B")],
  }),
  scenario("first deployment in order, StatefulSets 2+1", {
    ...STATEFUL_SETS,
    start: "empty",
    sizes: { a: 2, b: 1 },
  }),
  scenario("first deployment at once, StatefulSets 2+1", {
    ...STATEFUL_SETS,
    start: "empty",
    sizes: { a: 2, b: 1 },
    spec: { podManagementPolicy: "Parallel" },
  }),
  scenario("first deployment at once, contract 1+1, superseded, crashes", {
    start: "empty",
    sizes: { a: 1, b: 1 },
    spec: { podManagementPolicy: "Parallel" },
    faults: { crash: 1 },
    edits: [template("B")],
  }),
  scenario("first deployment at once, contract 1+1, a cluster cut off", {
    start: "empty",
    sizes: { a: 1, b: 1 },
    spec: { podManagementPolicy: "Parallel" },
    faults: { cut: 1 },
  }),
  scenario("first deployment at once, contract 1+1+1", {
    large: true,
    start: "empty",
    sizes: { a: 1, b: 1, c: 1 },
    spec: { podManagementPolicy: "Parallel" },
  }),
];

const ADOPTIONS: readonly Scenario[] = [
  scenario("adopted, ignorant 2+1, updated, crashes", {
    ...IGNORANT,
    start: "adopted",
    sizes: { a: 2, b: 1 },
    spec: { baselines: { a: TWO, b: ONE } },
    faults: { crash: 1 },
    edits: [template("B")],
  }),
  scenario("adopted, StatefulSets 2+1, updated", {
    ...STATEFUL_SETS,
    identity: { mode: "PerCluster" },
    start: "adopted",
    sizes: { a: 2, b: 1 },
    spec: { baselines: { a: TWO, b: ONE } },
    edits: [template("B")],
  }),
  scenario("adopted with differences, StatefulSets 1+1", {
    ...STATEFUL_SETS,
    identity: { mode: "PerCluster" },
    start: "adopted",
    sizes: { a: 2, b: 1 },
    spec: { baselines: { a: OTHER, b: ONE } },
    edits: [resume("1")],
  }),
  scenario("adopted with differences, StatefulSets 1+1, a cluster cut off", {
    ...STATEFUL_SETS,
    large: true,
    identity: { mode: "PerCluster" },
    start: "adopted",
    sizes: { a: 2, b: 1 },
    spec: { baselines: { a: OTHER, b: ONE } },
    faults: { cut: 1 },
    edits: [resume("1")],
  }),
  scenario("adopted, contract 1+1 and a new cluster", {
    large: true,
    identity: { mode: "PerCluster" },
    start: "adopted",
    sizes: { a: 1, b: 1, c: 1 },
    spec: { baselines: { a: ONE, b: ONE } },
  }),
  scenario("adopted, contract 1+1, updated, an accident", {
    large: true,
    identity: { mode: "PerCluster" },
    start: "adopted",
    sizes: { a: 1, b: 1 },
    spec: { baselines: { a: ONE, b: ONE } },
    faults: { accident: 1 },
    edits: [template("B")],
  }),
];

const ENDS: readonly Scenario[] = [
  scenario("released in mid-update, a cluster cut off", {
    sizes: { a: 1, b: 1, c: 1 },
    faults: { cut: 1 },
    edits: [template("B"), remove("Release")],
  }),
  scenario("torn down, contract 1+1+1, a cluster cut off", {
    sizes: { a: 1, b: 1, c: 1 },
    faults: { cut: 1 },
    edits: [remove("Teardown")],
  }),
  scenario("torn down in mid-update, contract 2+1", {
    sizes: { a: 2, b: 1 },
    edits: [template("B"), remove("Teardown")],
  }),
  scenario("torn down, StatefulSets 2+1, an accident", {
    ...STATEFUL_SETS,
    large: true,
    sizes: { a: 2, b: 1 },
    faults: { accident: 1 },
    edits: [remove("Teardown")],
  }),
  scenario("torn down, contract 1+1, one confirmed lost", {
    sizes: { a: 1, b: 1 },
    sizesMayDiffer: true,
    faults: { cut: 1 },
    edits: [confirmLost("b"), remove("Teardown")],
  }),
];

/** How the application begins and ends: deployed, adopted, released, torn down. */
export const LIVES: readonly Scenario[] = [...DEPLOYMENTS, ...ADOPTIONS, ...ENDS];
