import { REASONS } from "../../../../rollout/index.ts";
import { sameJson } from "../../../../runtime/index.ts";
import { foundGrantOf, parseFoundGrant, parseLedger, rebuildLedger } from "../../../ledger/ledger.ts";
import { isReachable } from "../state.ts";
import { broken, type PlanProperty, sameWork } from "./property.ts";

export const everyWaitIsExplained: PlanProperty = {
  on: "plan",
  rule: "R1",
  name: "whatever is wanted and does not happen has a reason with a remedy, a grant on its way, or a time",
  check: ({ before, observations, result }) => {
    for (const { code, message, remedy } of result.waiting) {
      if (!(code in REASONS) || message === "" || remedy === "") return broken(`a reason without words: ${code}`);
    }
    const { intent } = before;
    if (intent.deletion?.policy === "Release" || result.finished) return "quiet";
    const { schedule, revision, deletion } = intent;
    const open = Object.entries(result.ledger.clusters).find(([cluster, entry]) => {
      const wanted =
        schedule.kind === "known" && !deletion
          ? (schedule.clusters.find((each) => each.cluster === cluster)?.replicas ?? 0)
          : 0;
      if (entry.instances.length !== wanted || (entry.grant !== null && !entry.done)) return true;
      return entry.grant !== null && revision.kind === "ready" && entry.grant.revision !== revision.id;
    });
    if (!open) return "quiet";
    const onItsWay = result.grants.some(({ cluster, epoch }) => {
      const seen = observations.clusters[cluster];
      return seen?.kind !== "present" || seen.live.epoch !== epoch;
    });
    if (result.waiting.length === 0 && result.actions.length === 0 && !onItsWay && result.requeueAt === undefined) {
      return broken(`${open[0]} is not as asked for, nothing is on its way, and nothing says why`);
    }
    return "danger";
  },
};

export const requeueIsInTheFuture: PlanProperty = {
  on: "plan",
  rule: "R5",
  name: "the time to look again lies ahead",
  check: ({ before, result }) => {
    if (result.requeueAt === undefined) return "quiet";
    return result.requeueAt <= before.nowMs
      ? broken(`requeueAt ${result.requeueAt} is not after ${before.nowMs}`)
      : "danger";
  },
};

export const planningAgainChangesNothing: PlanProperty = {
  on: "plan",
  rule: "R2",
  name: "planning again on the result with the same inputs changes nothing",
  check: ({ before, observations, result }, planner) => {
    const again = planner(before.intent, result.ledger, observations, before.nowMs);
    if (again.steps.length > 0) return broken(`a second plan starts ${JSON.stringify(again.steps)}`);
    for (const key of ["ledger", "grants", "actions", "waiting", "figures", "requeueAt"] as const) {
      if (!sameJson(again[key], result[key])) {
        return broken(
          `a second plan has other ${key}: ${JSON.stringify(result[key])} became ${JSON.stringify(again[key])}`,
        );
      }
    }
    return result.steps.length > 0 ? "danger" : "quiet";
  },
};

export const sameInputsSameAnswer: PlanProperty = {
  on: "plan",
  rule: "R2",
  name: "the same inputs give the same answer",
  check: ({ before, observations, result }, planner) => {
    const twin = planner(before.intent, before.ledger, observations, before.nowMs);
    return sameJson(twin, result) ? "danger" : broken("two plans on the same inputs differ");
  },
};

export const ledgerSurvivesStorage: PlanProperty = {
  on: "plan",
  rule: "I9",
  name: "a ledger that is written and read again is the same",
  check: ({ result }) => {
    const stored: unknown = JSON.parse(JSON.stringify(result.ledger));
    return sameJson(parseLedger(stored), result.ledger) ? "danger" : broken("the ledger does not survive JSON");
  },
};

export const rebuiltLedgerMovesNothing: PlanProperty = {
  on: "plan",
  rule: "I9",
  name: "from rest, a ledger rebuilt from the grants keeps every identity and moves nothing",
  check: ({ before, observations, result }, planner) => {
    const { ledger } = result;
    if (before.intent.deletion || ledger.rollout || ledger.halt || ledger.override || result.steps.length > 0)
      return "quiet";
    if (result.actions.length > 0) return "quiet";
    const entries = Object.entries(ledger.clusters).filter(([, { grant }]) => grant !== null);
    const atRest = entries.every(([cluster, { done, turn, presence, votes, grant }]) => {
      const seen = observations.clusters[cluster];
      const shown = seen?.kind === "present" && seen.live.epoch === grant?.epoch;
      return (
        done &&
        turn === "none" &&
        presence.kind !== "lost" &&
        votes === "counted" &&
        shown &&
        isReachable(before.intent, observations, cluster)
      );
    });
    if (!atRest || entries.length === 0 || result.waiting.length > 0) return "quiet";
    const found = entries.flatMap(([cluster]) => foundGrantOf(ledger, cluster) ?? []);
    const restored = rebuildLedger(found.map((each) => parseFoundGrant(JSON.parse(JSON.stringify(each)))));
    const again = planner(before.intent, restored, observations, before.nowMs);
    if (again.actions.length > 0) return broken(`a rebuilt ledger acts: ${JSON.stringify(again.actions)}`);
    for (const [cluster, { grant, instances }] of entries) {
      const rebuilt = again.ledger.clusters[cluster];
      if (!sameJson(rebuilt?.instances, instances)) return broken(`${cluster} lost its identity`);
      if (!rebuilt?.grant || !grant || !sameWork(rebuilt.grant, grant))
        return broken(`${cluster} is moved by a rebuilt ledger`);
    }
    return "danger";
  },
};
