import type { StepKind } from "../../../types/index.ts";
import { memberOf } from "../state.ts";
import { broken, type PlanProperty, type Verdict, type WorldProperty } from "./property.ts";

/** Steps that change what runs somewhere. */
const MOVING: ReadonlySet<string> = new Set<StepKind>(["deploy", "grow", "shrink", "update", "rollback", "transfer"]);

export const adoptionMovesNothing: WorldProperty = {
  on: "world",
  rule: "D7",
  name: "an adopted cluster is granted exactly what it runs, without a turn",
  check: ({ before, result }) => {
    let verdict: Verdict = "quiet";
    for (const { cluster, kind } of result.steps) {
      const grant = result.ledger.clusters[cluster]?.grant;
      if (kind !== "adopt" || !grant) continue;
      verdict = "danger";
      const { pods } = memberOf(before, cluster);
      const other = pods.find(({ revision }) => revision !== grant.revision);
      if (other || grant.replicas !== pods.length)
        return broken(`${cluster} runs ${pods.length} and is granted ${grant.replicas} of ${grant.revision}`);
      if (grant.processor) return broken(`${cluster} gets the turn with its adoption`);
    }
    return verdict;
  },
};

export const adoptionComesFirst: PlanProperty = {
  on: "plan",
  rule: "D7",
  name: "nothing starts before every running cluster is in the ledger, and what differs has been looked at",
  check: ({ before, result }) => {
    const waiting = Object.keys(before.intent.baselines).find((cluster) => {
      const entry = result.ledger.clusters[cluster];
      return !entry || (entry.epoch === 0 && entry.instances.length === 0);
    });
    const differs = result.ledger.halt?.code === "AdoptedWithDifferences";
    if (before.intent.deletion || (waiting === undefined && !differs)) return "quiet";
    const moved = result.steps.find(({ kind }) => MOVING.has(kind));
    if (moved) return broken(`${moved.cluster} starts to ${moved.kind}, and ${waiting ?? "a person"} is waited for`);
    return "danger";
  },
};
