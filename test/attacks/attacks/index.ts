/** Every attack on the hub by name: who tries what, and the words that refuse it; and what must still work. */

import type { EngineName } from "../../../src/api/index.ts";
import { ACTS, type Act } from "./acts.ts";
import { onApprovals } from "./approvals.ts";
import type { Attack } from "./attack.ts";
import { onHolds } from "./holds.ts";
import { onIdentities } from "./identities.ts";
import { onJobs } from "./jobs.ts";
import { onLedgers } from "./ledgers.ts";
import { onManifestWorks } from "./manifest-works.ts";
import { onRevisions } from "./revisions.ts";
import { onSpecs } from "./specs.ts";
import { onWorks } from "./works.ts";

export type { Targets } from "./attack.ts";

const ATTACKS: readonly Attack[] = [
  ...onRevisions,
  ...onLedgers,
  ...onHolds.map((attack) => ({ ...attack, on: "karmada" as const })),
  ...onWorks.map((attack) => ({ ...attack, on: "karmada" as const })),
  ...onManifestWorks.map((attack) => ({ ...attack, on: "ocm" as const })),
  ...onSpecs,
  ...onApprovals,
  ...onIdentities,
  ...onJobs,
];

export function attacksOn(engine: EngineName): Attack[] {
  return ATTACKS.filter(({ on }) => on === undefined || on === engine);
}

export function actsOn(engine: EngineName): Act[] {
  return ACTS.filter(({ on }) => on === undefined || on === engine);
}

/** For tests whose names are to be read whole. */
export function byName<Named extends { readonly name: string }>(all: readonly Named[]): [string, Named][] {
  return all.map((each) => [each.name, each]);
}
