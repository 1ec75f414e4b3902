/** The rules of the member contract (docs/member-contract.md has them with their reasons). */
export const RULES = {
  M1: "Report exactly the epoch and the revision that were read at the start of the reconcile.",
  M2: "Without the turn, create, update, remove and restart nothing; only recreate a missing member on its volume.",
  M3: "With the turn, bring the cluster to its spec, one instance at a time.",
  M4: "Never restart a running instance because the topology or its version changed.",
  M5: "Leave the first `partition` instances on the revision that they run.",
  M6: "Move the leader to `transfer-leader-to` before the instance that leads is restarted.",
  M7: "Write the whole report in one status write after each reconcile, also if there was nothing to do.",
  M8: "Report Done only if every instance is present, ready and, above the partition, updated.",
  M9: "Change nothing and never report Done for a grant that cannot be read.",
} as const;

export type Rule = keyof typeof RULES;

export interface Finding {
  readonly rule: Rule;
  /** What was tried. */
  readonly check: string;
  /** What the operator did instead; absent: it follows the rule. */
  readonly broken?: string;
}
