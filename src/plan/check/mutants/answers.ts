import {
  everyWaitIsExplained,
  ledgerSurvivesStorage,
  planningAgainChangesNothing,
  rebuiltLedgerMovesNothing,
  requeueIsInTheFuture,
  sameInputsSameAnswer,
} from "../explore/properties/purity.ts";
import { LIVENESS, PURITY } from "../explore/watch.ts";
import { answering, type Mutant, remembering, withEntries, withGrants } from "./bend.ts";

/** The answer itself. */
export const ANSWERS: readonly Mutant[] = [
  {
    name: "nothing is explained",
    make: () => answering(({ requeueAt: _, ...result }) => ({ ...result, waiting: [] })),
    scenario: "contract 1+1+1, leader transfer",
    caughtBy: [everyWaitIsExplained],
  },
  {
    name: "it never asks to be woken",
    make: () => answering(({ requeueAt: _, ...result }) => result),
    scenario: "contract 1+1+1, waves",
    caughtBy: [LIVENESS],
  },
  {
    name: "every plan writes again",
    make: () =>
      answering((result) => {
        const again = withGrants(result, (grant) => ({ ...grant, epoch: grant.epoch + 1 }));
        return {
          ...again,
          ledger: withEntries(again.ledger, (entry) => ({ ...entry, epoch: entry.epoch + 1, ackedAtMs: null })),
        };
      }),
    scenario: "contract 1+1+1, lost and back in an update",
    caughtBy: [planningAgainChangesNothing],
  },
  {
    name: "the answer depends on how often it was asked",
    make: () => {
      let asked = 0;
      return answering((result) => ({ ...result, figures: { ...result.figures, pending: asked++ % 2 } }));
    },
    scenario: "contract 1+1+1, lost and back in an update",
    caughtBy: [planningAgainChangesNothing],
  },
  {
    name: "the ledger is changed in place",
    make: () =>
      answering((result, { ledger }) => {
        Object.assign(ledger, result.ledger);
        return result;
      }),
    scenario: "contract 1+1+1, lost and back in an update",
    caughtBy: [PURITY],
  },
  {
    name: "the answer depends on how often it was asked, and only a twin shows it",
    make: () => {
      let asked = 0;
      return answering((result) => ({ ...result, figures: { ...result.figures, pending: asked++ % 2 } }));
    },
    scenario: "contract 1+1+1, lost and back in an update",
    caughtBy: [sameInputsSameAnswer],
  },
  {
    name: "it asks to be woken in the past",
    make: () => answering((result, { nowMs }) => ({ ...result, requeueAt: nowMs - 1 })),
    scenario: "contract 1+1+1, waves",
    caughtBy: [requeueIsInTheFuture],
  },
  {
    name: "the ledger holds what cannot be stored",
    make: () =>
      answering((result) => ({
        ...result,
        ledger: withEntries(result.ledger, (entry) => ({ ...entry, openSinceMs: entry.openSinceMs ?? Number.NaN })),
      })),
    scenario: "contract 1+1+1, lost and back in an update",
    caughtBy: [ledgerSurvivesStorage],
  },
  {
    name: "a rebuilt ledger is taken for a new application",
    make: () =>
      remembering((ledger) => withEntries(ledger, (entry) => (entry.returned ? { ...entry, instances: [] } : entry))),
    scenario: "contract 1+1+1, the ledger lost in an update",
    caughtBy: [rebuiltLedgerMovesNothing],
  },
];
