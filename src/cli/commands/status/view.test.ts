/** Golden outputs of `status` and `why`, from a fixed state during a rollout. */
import { expect, it } from "vitest";
import { type CrossClusterStatefulsetStatus, parseCrossClusterStatefulset } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { testIntent } from "../../../plan/check/testing/intent.ts";
import { emptyLedger, type Ledger, plan } from "../../../plan/index.ts";
import { forecast } from "../../preview/forecast.ts";
import { observationsOf } from "../../preview/observations.ts";
import { styleOf } from "../../terminal/output.ts";
import { exampleObjects, InstantClock, testIo } from "../../testing/harness.ts";
import { type AnyReason, GUIDES } from "../why/reasons.ts";
import { type WhyFacts, whyOf } from "../why/view.ts";
import { fittingTree, statusTree } from "./view.ts";

const NOW_MS = Date.UTC(2025, 0, 1, 12);
const SIZES = { member1: 2, member2: 2, member3: 1 };
const plain = styleOf(testIo(new InstantClock(), undefined));

/** Deployed on A; B has just been granted to member3. */
function midRollout(): Ledger {
  const intent = testIntent(SIZES);
  const alone = { observations: {}, leader: undefined, nowMs: 0, durationOf: () => undefined };
  const { ledger } = forecast({ intentAt: () => intent, ledger: emptyLedger(), ...alone });
  const next = testIntent(SIZES, { revision: { kind: "ready", id: "B" } });
  return plan(next, ledger, { clusters: observationsOf(ledger, undefined) }, NOW_MS - 60_000).ledger;
}

const since = "2025-01-01T11:59:00Z";
const status: CrossClusterStatefulsetStatus = {
  observedGeneration: 2,
  readyReplicas: 4,
  updatedReplicas: 0,
  desiredReplicas: 5,
  currentRevision: "A",
  updateRevision: "B",
  phase: "Updating",
  reason: "WaitingForReady",
  message: "0 of 1 instances are ready.",
  selector: "app=web",
  leader: { cluster: "member1", instance: "xline-0" },
  step: { type: "Updating", cluster: "member3", reason: "WaitingForReady", since },
  clusters: [
    {
      name: "member1",
      instances: [
        { name: "xline-0", ready: true, updated: true },
        { name: "xline-1", ready: true, updated: true },
      ],
      granted: { revision: "A", replicas: 2, epoch: 4 },
      observed: { ready: 2, updated: 2, epoch: 4 },
      gate: "Open",
      baseRevision: "A",
      health: "Healthy",
      leader: true,
      phase: "Settled",
      reason: "LeaderLast",
      message: "it holds the leader; member2 goes first.",
      since,
    },
    {
      name: "member2",
      granted: { revision: "A", replicas: 2, epoch: 4 },
      instances: [{ name: "xline-100" }, { name: "xline-101" }],
      observed: { revision: "A", ready: 2, updated: 2, epoch: 4 },
      gate: "Open",
      baseRevision: "A",
      health: "Healthy",
      phase: "Settled",
      reason: "BudgetExhausted",
      message: "1 instance is unavailable; maxUnavailable is 1.",
      since,
    },
    {
      name: "member3",
      instances: [{ name: "xline-200", ready: false, updated: false, terminating: true }],
      granted: { revision: "B", replicas: 1, epoch: 3 },
      observed: { revision: "B", ready: 0, updated: 1, epoch: 3 },
      gate: "Closed",
      turn: "Held",
      baseRevision: "A",
      health: "Unhealthy",
      phase: "Updating",
      reason: "WaitingForReady",
      message: "0 of 1 instances are ready.",
      evidence: [{ object: "default/web in member3", field: "status.readyReplicas", value: "0" }],
      since,
    },
  ],
};
const [example] = exampleObjects();
const object: KubeObject = { ...example!, metadata: { ...example!.metadata, generation: 2 } };

function whyFacts(edit: Partial<WhyFacts> = {}): WhyFacts {
  const parsed = parseCrossClusterStatefulset(object);
  const spec = parsed.ok ? parsed.value.spec : undefined;
  return { program: "lockstep", object, spec, status, ledger: midRollout(), ...edit };
}

it("status draws clusters, instances, roles, revisions, gates and reasons as one tree", () => {
  const lines = statusTree({ object, status }, plain, NOW_MS);
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    default/web  StatefulSet  Updating
      4/5 ready, 0/5 updated, leader xline-0 in member1
      revision A -> B
    ├─ member1  Settled   2/2 ready  A  gate open  leader
    │  LeaderLast (60s): it holds the leader; member2 goes first.
    │  ├─ xline-0    ready        A  leader
    │  └─ xline-1    ready        A
    ├─ member2  Settled   2/2 ready  A  gate open
    │  BudgetExhausted (60s): 1 instance is unavailable; maxUnavailable is 1.
    │  ├─ xline-100  ready        A
    │  └─ xline-101  ready        A
    └─ member3  Updating  0/1 ready  B  gate closed, its turn
       WaitingForReady (60s): 0 of 1 instances are ready.
       └─ xline-200  terminating  A
    "
  `);
});

it("status reports that the controller has not seen the latest spec", () => {
  const lines = statusTree({ object, status: {} }, plain, NOW_MS);
  expect(lines.join("\n")).toContain("not seen the latest spec yet");
});

it("colours appear on a terminal only, and not with NO_COLOR", () => {
  const painted = (options: { terminal: boolean; env?: Record<string, string> }) =>
    styleOf(testIo(new InstantClock(), undefined, options)).bold("x") !== "x";
  expect(painted({ terminal: true })).toBe(true);
  expect(painted({ terminal: false })).toBe(false);
  expect(painted({ terminal: true, env: { NO_COLOR: "1" } })).toBe(false);
  expect(painted({ terminal: true, env: { TERM: "dumb" } })).toBe(false);
});

it("why names the step's wait, the evidence, and what to check", () => {
  expect(whyOf(whyFacts())).toMatchInlineSnapshot(`
    {
      "cluster": "member3",
      "evidence": [
        {
          "field": "status.readyReplicas",
          "object": "default/web in member3",
          "value": "0",
        },
      ],
      "needsPerson": false,
      "others": [
        "member1: LeaderLast",
        "member2: BudgetExhausted",
      ],
      "reason": "WaitingForReady",
      "remedy": [
        "kubectl --context member3 -n default get pods -l app=web",
        "kubectl --context member3 -n default describe statefulset xline",
      ],
      "sentence": "default/web waits in member3: 0 of 1 instances are ready.",
      "since": "2025-01-01T11:59:00Z",
    }
  `);
});

it("why lists what needs a user before what needs time", () => {
  const clusters = (status.clusters ?? []).map((row) =>
    row.name === "member2" ? { ...row, reason: "ClusterLost", message: "it is lost.", health: "Lost" } : row,
  );
  const why = whyOf(whyFacts({ status: { ...status, clusters } }));
  expect(why).toMatchObject({ reason: "ClusterLost", cluster: "member2", needsPerson: true });
  expect(why.remedy).toContain("lockstep confirm-lost member2 web -n default");
  expect(why.others).toContain("member3: WaitingForReady");
});

it("a halt comes first, with what caused it", () => {
  const ledger = midRollout();
  const halt = {
    code: "ProgressDeadlineExceeded",
    cluster: "member3",
    revision: "B",
    message: "no progress for 600 s",
    sinceMs: NOW_MS,
    resume: null,
  } as const;
  const halted = { ...ledger, halt };
  const evidence = [{ object: "member3", field: "last progress", value: "long ago", since }];
  const [first, second] = status.clusters ?? [];
  const row = { name: "member3", reason: halt.code, message: halt.message, evidence };
  const why = whyOf(whyFacts({ ledger: halted, status: { ...status, clusters: [first!, second!, row] } }));
  expect(why).toMatchObject({ reason: halt.code, cluster: "member3", evidence });
  expect(why.remedy).toContain("lockstep undo web -n default");
  // A status that was written before the halt does not hide it.
  expect(whyOf(whyFacts({ ledger: halted }))).toMatchObject({ reason: halt.code, since: "2025-01-01T12:00:00Z" });
});

it("status shows what is known of each instance, and unknown if nothing was reported", () => {
  const row = (edit: object) => ({ ...status, clusters: [{ ...status.clusters![2]!, ...edit }] });
  const line = (edit: object) => {
    const lines = statusTree({ object, status: row(edit) }, plain, NOW_MS);
    return lines.find((each) => each.includes("xline-200"))?.replace(/^.*xline-200 +/, "");
  };
  const one = (edit: object) => line({ instances: [{ name: "xline-200", ...edit }] });
  expect(one({ ready: true, updated: true })).toBe("ready        B");
  expect(one({ ready: true, updated: false })).toBe("ready        A");
  expect(one({ ready: false, updated: true })).toBe("not ready    B");
  expect(one({ ready: false, state: "Joining" })).toBe("not ready    joining");
  expect(one({ ready: true, updated: false, state: "Leaving" })).toBe("ready        A  leaving");
  // The instances of this kind are not listed: the counts cover all, none, or not this one.
  const counted = (ready: number, updated: number) =>
    line({
      instances: [{ name: "xline-200" }],
      granted: { revision: "B", replicas: 2 },
      observed: { revision: "B", ready, updated },
    });
  expect(counted(2, 2)).toBe("ready        B");
  expect(counted(0, 0)).toBe("not ready    A");
  expect(counted(1, 1)).toBe("unknown      revision unknown");
  expect(line({ instances: [{ name: "xline-200" }], health: "Lost", observed: undefined })).toBe(
    "unknown      revision unknown",
  );
});

it("a tree that is too long for the screen omits idle clusters first", () => {
  const instances = Array.from({ length: 20 }, (_, at) => ({ name: `xline-${at}`, ready: at > 0, updated: true }));
  const settled = { granted: { revision: "A", replicas: 20 }, phase: "Settled", instances };
  const clusters = [
    { name: "a", ...settled },
    { name: "b", ...settled, phase: "Updating" },
    { name: "c", ...settled },
  ];
  const view = { object, status: { ...status, reason: undefined, clusters } as typeof status };
  const tree = (rows: number) => fittingTree(view, plain, NOW_MS, { rows, columns: 120 });
  const all = tree(100);
  expect(all.filter((line) => /─ xline-/.test(line))).toHaveLength(36);
  expect(all.join("\n")).toContain("and 8 more, 8 of them ready; -o wide shows all");
  expect(tree(20).filter((line) => /─ xline-/.test(line))).toHaveLength(12);
  expect(tree(18).at(-1)).toBe("└─ and 2 more, idle");
  expect(tree(5)).toHaveLength(5);
  expect(tree(5).at(-1)).toBe("...");
});

it("a tree on a screen of 80 columns has every word of the reason and its remedy, wrapped", () => {
  const remedy = "Correct the template, run 'lockstep undo', or run 'lockstep resume' to try for another deadline.";
  const message = `member3 has made no progress for 600 s on revision B of the template; 0 of 1 instances are ready. ${remedy}`;
  const words = (lines: readonly string[]) => lines.join(" ").replaceAll(/[│├└─ ]+/g, " ");
  const whole = { ...status, reason: "ProgressDeadlineExceeded", message };
  for (const rows of [40, 12, 9]) {
    const lines = fittingTree({ object, status: whole }, plain, NOW_MS, { rows, columns: 80 });
    expect(lines.length).toBeLessThanOrEqual(rows);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80);
    expect(words(lines)).toContain(`ProgressDeadlineExceeded: ${message}`);
  }
});

it.each(Object.keys(GUIDES) as AnyReason[])("%s has evidence and something to paste", (reason) => {
  const why = whyOf(
    whyFacts({
      status: {
        ...status,
        reason,
        message: "m",
        clusters: [{ name: "member3", phase: "x", reason, message: "m" }],
        step: undefined,
      } as CrossClusterStatefulsetStatus,
    }),
  );
  expect(why.reason).toBe(reason);
  expect(why.evidence.length).toBeGreaterThan(0);
  expect(why.remedy.length).toBeGreaterThan(0);
  expect(why.remedy.join("\n")).not.toMatch(/undefined|CLUSTER|KIND/);
});
