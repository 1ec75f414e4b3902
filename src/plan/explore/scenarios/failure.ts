import { type Scenario, scaleTo, scenario, template, undo } from "../scenario.ts";
import { STATEFUL_SETS, TOO_MANY } from "./common.ts";

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
  scenario("contract 2+1+1, edited to and fro, crashes in the middle of dispatching", {
    limit: TOO_MANY,
    sizes: { a: 2, b: 1, c: 1 },
    update: { maxUnavailable: 2 },
    spec: { quorum: "None" },
    faults: { crash: 2 },
    edits: [template("B"), template("A")],
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
  scenario("contract 2+1+1, the ledger lost twice in an update, an accident", {
    limit: TOO_MANY,
    sizes: { a: 2, b: 1, c: 1 },
    leader: "c",
    update: { maxUnavailable: 2, leaderTransfer: { timeoutSeconds: 30 } },
    faults: { rebuild: 2, accident: 1 },
    edits: [template("B"), scaleTo({ a: 2, b: 2, c: 0 })],
  }),
];

/** Somebody else writes a member's object. */
const DRIFTS: readonly Scenario[] = [
  scenario("contract 1+1, drift twice: annotations", {
    sizes: { a: 1, b: 1 },
    faults: { drift: 2, wait: 1 },
  }),
  ...(["annotations", "restored", "turn"] as const).map((drift) =>
    scenario(`contract 1+1+1, drift in an update: ${drift}`, {
      full: drift === "restored",
      sizes: { a: 1, b: 1, c: 1 },
      drift,
      faults: { drift: 1 },
      edits: [template("B")],
    }),
  ),
  ...(["shrunk", "deleted"] as const).map((drift) =>
    scenario(`contract 1+1+1, drift in an update: ${drift}`, {
      full: true,
      sizes: { a: 1, b: 1, c: 1 },
      drift,
      faults: { drift: 1 },
      edits: [template("B")],
    }),
  ),
  ...(["annotations", "restored", "turn"] as const).map((drift) =>
    scenario(`StatefulSets 2+1, drift in an update: ${drift}`, {
      ...STATEFUL_SETS,
      full: drift !== "restored",
      sizes: { a: 2, b: 1 },
      drift,
      faults: { drift: 1 },
      edits: [template("B")],
    }),
  ),
  ...(["shrunk", "deleted"] as const).map((drift) =>
    scenario(`StatefulSets 2+1, drift in an update: ${drift}`, {
      ...STATEFUL_SETS,
      ...(drift === "shrunk" ? { full: true } : { limit: TOO_MANY }),
      sizes: { a: 2, b: 1 },
      drift,
      faults: { drift: 1 },
      edits: [template("B")],
    }),
  ),
];

export const FAILURES: readonly Scenario[] = [...BROKEN_REVISIONS, ...CONTROLLERS, ...DRIFTS];
