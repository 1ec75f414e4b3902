/** Every attack on the hub by name: who tries what, and the words that refuse it; and what must still work. */

import { onApprovals } from "./approvals.ts";
import type { Attack } from "./attack.ts";
import { onHolds } from "./holds.ts";
import { onIdentities } from "./identities.ts";
import { onJobs } from "./jobs.ts";
import { onLedgers } from "./ledgers.ts";
import { onRevisions } from "./revisions.ts";
import { onSpecs } from "./specs.ts";
import { onWorks } from "./works.ts";

export { ACTS } from "./acts.ts";
export type { Targets } from "./attack.ts";

export const ATTACKS: readonly Attack[] = [
  ...onRevisions,
  ...onLedgers,
  ...onHolds,
  ...onWorks,
  ...onSpecs,
  ...onApprovals,
  ...onIdentities,
  ...onJobs,
];

/** For tests whose names are to be read whole. */
export function byName<Named extends { readonly name: string }>(all: readonly Named[]): [string, Named][] {
  return all.map((each) => [each.name, each]);
}
