import type { ClusterEntry, Grant } from "../../../types/index.ts";
import type { Planned, Planner } from "../controller.ts";
import type { Deed } from "../operator.ts";
import type { State } from "../state.ts";

/**
 * The rules as an outsider reads them from SPEC.md. Each property looks at one thing that happened and says whether its
 * danger was there at all, and what broke. It shares no code with the planner's own arithmetic.
 */
export type Verdict = "quiet" | "danger" | { readonly broken: string };

/** A plan and what it was made from; nothing else of the world. */
export type PlanAlone = Pick<Planned, "observations" | "result"> & {
  readonly before: Pick<State, "intent" | "ledger" | "nowMs">;
};

/** About the planner's answer to what it was given. */
export interface PlanProperty {
  readonly on: "plan";
  readonly rule: string;
  readonly name: string;
  readonly check: (planned: PlanAlone, planner: Planner) => Verdict;
}

/** About the planner's answer in the world as it really was, whatever the planner was shown of it. */
export interface WorldProperty {
  readonly on: "world";
  readonly rule: string;
  readonly name: string;
  readonly check: (planned: Planned) => Verdict;
}

export interface DeedProperty {
  readonly on: "deed";
  readonly rule: string;
  readonly name: string;
  /** `state`: the world right after the deed; `before`: right before. */
  readonly check: (deed: Deed, before: State, state: State) => Verdict;
}

export type Property = PlanProperty | WorldProperty | DeedProperty;

export const broken = (text: string): Verdict => ({ broken: text });

/** Grants that the plan wrote, beside what stood before. */
export function changedGrants({
  before,
  result,
}: PlanAlone): Array<{ grant: Grant; was: Grant | null; entry: ClusterEntry }> {
  return Object.values(result.ledger.clusters).flatMap((entry) => {
    const { grant } = entry;
    const was = grant ? (before.ledger.clusters[grant.cluster]?.grant ?? null) : null;
    return grant && grant.epoch !== was?.epoch ? [{ grant, was, entry }] : [];
  });
}

/** What a member has to do for a grant; the rest of it only informs. */
export function sameWork(a: Grant, b: Grant): boolean {
  return (
    a.revision === b.revision && a.replicas === b.replicas && a.partition === b.partition && a.onDelete === b.onDelete
  );
}
