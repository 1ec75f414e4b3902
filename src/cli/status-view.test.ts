/** Golden pictures of `status` and `why`, from a fixed state in mid-rollout. */
import { expect, test } from "vitest";
import { type CrossClusterStatefulsetStatus, parseCrossClusterStatefulset } from "../api/index.ts";
import type { KubeObject } from "../kube/index.ts";
import { emptyLedger, type Ledger, plan } from "../plan/index.ts";
import { testIntent } from "../plan/testing/intent.ts";
import { forecast } from "./forecast.ts";
import { observationsOf } from "./observations.ts";
import { styleOf } from "./output.ts";
import { type AnyReason, GUIDES } from "./reasons.ts";
import { statusTree } from "./status-view.ts";
import { exampleObjects, InstantClock, testIo } from "./testing/harness.ts";
import { type WhyFacts, whyOf } from "./why-view.ts";

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
      granted: { revision: "A", replicas: 2, epoch: 4 },
      observed: { ready: 2, updated: 2, epoch: 4 },
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
      observed: { ready: 2, updated: 2, epoch: 4 },
      health: "Healthy",
      phase: "Settled",
      reason: "BudgetExhausted",
      message: "1 instance is unavailable; maxUnavailable is 1.",
      since,
    },
    {
      name: "member3",
      granted: { revision: "B", replicas: 1, epoch: 3 },
      observed: { ready: 0, updated: 1, epoch: 3 },
      health: "Unhealthy",
      phase: "Updating",
      reason: "WaitingForReady",
      message: "0 of 1 instances are ready.",
      since,
    },
  ],
};
const [example] = exampleObjects();
const object: KubeObject = { ...example!, metadata: { ...example!.metadata, generation: 2 } };

function whyFacts(edit: Partial<WhyFacts> = {}): WhyFacts {
  const parsed = parseCrossClusterStatefulset(object);
  const spec = parsed.ok ? parsed.value.spec : undefined;
  return { program: "lockstep", object, spec, status, ledger: midRollout(), clusters: new Map(), ...edit };
}

test("status draws clusters, instances, roles, revisions, gates and reasons as one tree", () => {
  const lines = statusTree({ object, status, ledger: midRollout() }, plain, NOW_MS);
  expect(`\n${lines.join("\n")}\n`).toMatchInlineSnapshot(`
    "
    default/web  StatefulSet  Updating
      4/5 ready, 0/5 updated, leader xline-0 in member1
      revision A -> B
    ├─ member1  Settled  2/2 ready  A  gate open  leader
    │  ├─ xline-0  A  leader
    │  └─ xline-1  A
    │  LeaderLast (60s): it holds the leader; member2 goes first.
    ├─ member2  Settled  2/2 ready  A  gate open
    │  ├─ xline-100  A
    │  └─ xline-101  A
    │  BudgetExhausted (60s): 1 instance is unavailable; maxUnavailable is 1.
    └─ member3  Updating  0/1 ready  B  gate closed, its turn
       └─ xline-200  A -> B
       WaitingForReady (60s): 0 of 1 instances are ready.

    WaitingForReady: 0 of 1 instances are ready.
    "
  `);
});

test("status says so when the controller has not seen the latest spec", () => {
  const lines = statusTree({ object, status: {}, ledger: undefined }, plain, NOW_MS);
  expect(lines.join("\n")).toContain("not seen the latest spec yet");
});

test("colours appear on a terminal only, and not with NO_COLOR", () => {
  const painted = (options: { terminal: boolean; env?: Record<string, string> }) =>
    styleOf(testIo(new InstantClock(), undefined, options)).bold("x") !== "x";
  expect(painted({ terminal: true })).toBe(true);
  expect(painted({ terminal: false })).toBe(false);
  expect(painted({ terminal: true, env: { NO_COLOR: "1" } })).toBe(false);
  expect(painted({ terminal: true, env: { TERM: "dumb" } })).toBe(false);
});

test("why names the step's wait, what proves it, and where to look", () => {
  expect(whyOf(whyFacts())).toMatchInlineSnapshot(`
    {
      "cluster": "member3",
      "evidence": [
        {
          "field": "status.clusters[member3].observed.ready",
          "object": "CrossClusterStatefulset default/web",
          "since": "2025-01-01T11:59:00Z",
          "value": "0 of 1 granted",
        },
        {
          "field": "status.clusters[member3].observed.updated",
          "object": "CrossClusterStatefulset default/web",
          "value": "1 of 1",
        },
        {
          "field": "status.clusters[member3].health",
          "object": "CrossClusterStatefulset default/web",
          "value": "Unhealthy",
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
    }
  `);
});

test("why puts what needs a person before what needs time", () => {
  const clusters = (status.clusters ?? []).map((row) =>
    row.name === "member2" ? { ...row, reason: "ClusterLost", message: "it is lost.", health: "Lost" } : row,
  );
  const why = whyOf(whyFacts({ status: { ...status, clusters } }));
  expect(why).toMatchObject({ reason: "ClusterLost", cluster: "member2", needsPerson: true });
  expect(why.remedy).toContain("lockstep confirm-lost member2 web -n default");
  expect(why.others).toContain("member3: WaitingForReady");
});

test("a halt comes first, with what caused it", () => {
  const ledger = midRollout();
  const halt = {
    code: "ProgressDeadlineExceeded",
    cluster: "member3",
    revision: "B",
    message: "no progress for 600 s",
    sinceMs: NOW_MS,
    resume: null,
  } as const;
  const why = whyOf(whyFacts({ ledger: { ...ledger, halt } }));
  expect(why).toMatchObject({ reason: "ProgressDeadlineExceeded", cluster: "member3" });
  expect(why.evidence[0]).toMatchObject({ object: "CrossClusterLedger default/web", field: "spec.state.halt" });
  expect(why.remedy).toContain("lockstep undo web -n default");
});

test.each(Object.keys(GUIDES) as AnyReason[])("%s has evidence and something to paste", (reason) => {
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
