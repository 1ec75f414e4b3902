import { dependencyEdit, restart, type Scenario, scaleTo, scenario, template, undo } from "../scenario.ts";
import { STATEFUL_SETS } from "./common.ts";

/** Revisions that do not come up, operators that fail, and what people do about it. */
const BROKEN_REVISIONS: readonly Scenario[] = [
  scenario("contract 1+1+1, an operator reports Failed", {
    sizes: { a: 1, b: 1, c: 1 },
    faults: { fail: 1 },
    edits: [template("B")],
  }),
  scenario("contract 1+1+1, an operator reports Failed, onFailure Rollback", {
    sizes: { a: 1, b: 1, c: 1 },
    update: { onFailure: "Rollback" },
    faults: { fail: 1 },
    edits: [template("B")],
  }),
  scenario("StatefulSets 2+1, a broken revision undone", {
    ...STATEFUL_SETS,
    sizes: { a: 2, b: 1 },
    brokenRevisions: ["B"],
    faults: { wait: 2 },
    edits: [template("B"), undo("1", "A")],
  }),
  scenario("contract 1+1+1, undone, then restarted and a dependency edited", {
    sizes: { a: 1, b: 1, c: 1 },
    edits: [template("B"), undo("1", "A"), restart("1", "A", "A2"), dependencyEdit("B2")],
  }),
  scenario("StatefulSets 1+1, a broken revision, undone and restarted on the way back", {
    ...STATEFUL_SETS,
    sizes: { a: 1, b: 1 },
    brokenRevisions: ["B"],
    faults: { wait: 2 },
    edits: [template("B"), undo("1", "A"), restart("1", "A", "A2")],
  }),
  scenario("StatefulSets 1+1, a broken revision, onFailure Rollback", {
    ...STATEFUL_SETS,
    sizes: { a: 1, b: 1 },
    brokenRevisions: ["B"],
    update: { onFailure: "Rollback" },
    faults: { wait: 2 },
    edits: [template("B")],
  }),
];

/** The controller dies, is deposed, or loses its ledger. */
const CONTROLLERS: readonly Scenario[] = [
  scenario("contract 2+1+1, crashes in the middle of dispatching", {
    sizes: { a: 2, b: 1, c: 1 },
    update: { maxUnavailable: 2 },
    spec: { quorum: "None" },
    faults: { crash: 1 },
    edits: [template("B")],
  }),
  scenario("contract 1+1+1, edited and reverted, crashes in the middle of dispatching", {
    sizes: { a: 1, b: 1, c: 1 },
    faults: { crash: 1 },
    edits: [template("B"), template("A")],
  }),
  scenario("contract 1+1, scaled out and in, crashes in the middle of dispatching", {
    sizes: { a: 1, b: 1 },
    faults: { crash: 1 },
    edits: [scaleTo({ a: 1, b: 2 }), scaleTo({ a: 1, b: 1 })],
  }),
  scenario("contract 1+1+1, deposed in the middle of dispatching", {
    sizes: { a: 1, b: 1, c: 1 },
    update: { maxUnavailable: 2 },
    spec: { quorum: "None" },
    faults: { depose: 1 },
    edits: [template("B")],
  }),
  scenario("contract 1+1+1, the ledger lost in an update", {
    sizes: { a: 1, b: 1, c: 1 },
    faults: { rebuild: 1 },
    edits: [template("B")],
  }),
  scenario("contract 1+1, the ledger lost twice, scaled in mid-rollout", {
    sizes: { a: 1, b: 1 },
    faults: { rebuild: 2 },
    edits: [template("B"), scaleTo({ a: 1, b: 2 })],
  }),
  scenario("contract 1+1+1, the ledger lost in an update with a leader, an accident", {
    large: true,
    sizes: { a: 1, b: 1, c: 1 },
    leader: "c",
    update: { leaderTransfer: { timeoutSeconds: 30 } },
    faults: { rebuild: 1, accident: 1 },
    edits: [template("B")],
  }),
];

/** Another client writes a member's object. */
const DRIFTS: readonly Scenario[] = [
  scenario("contract 1+1, drift twice: annotations", {
    sizes: { a: 1, b: 1 },
    faults: { drift: 2, wait: 1 },
  }),
  ...(["annotations", "restored", "turn", "shrunk", "deleted"] as const).map((drift) =>
    scenario(`contract 1+1+1, drift in an update: ${drift}`, {
      large: drift !== "annotations" && drift !== "turn",
      sizes: { a: 1, b: 1, c: 1 },
      drift,
      faults: { drift: 1 },
      edits: [template("B")],
    }),
  ),
  ...(["annotations", "restored", "turn"] as const).map((drift) =>
    scenario(`StatefulSets 2+1, drift in an update: ${drift}`, {
      ...STATEFUL_SETS,
      large: drift !== "restored",
      sizes: { a: 2, b: 1 },
      drift,
      faults: { drift: 1 },
      edits: [template("B")],
    }),
  ),
  ...(["shrunk", "deleted"] as const).map((drift) =>
    scenario(`StatefulSets 1+1, drift in an update: ${drift}`, {
      ...STATEFUL_SETS,
      large: true,
      sizes: { a: 1, b: 1 },
      drift,
      faults: { drift: 1 },
      edits: [template("B")],
    }),
  ),
];

export const FAILURES: readonly Scenario[] = [...BROKEN_REVISIONS, ...CONTROLLERS, ...DRIFTS];
