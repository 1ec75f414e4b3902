import { LEDGER_VERSION, type Ledger, LedgerUnreadable, packLedger, parseLedger } from "../../../plan/index.ts";
import type { LedgerFormat } from "../../common/ledger-store.ts";
import { type Owner, ownerId } from "../../common/owner.ts";

export const STATEFULSET_LEDGERS: LedgerFormat<Ledger> = {
  ownerKind: "CrossClusterStatefulset",
  namePrefix: "ccs",
  version: LEDGER_VERSION,
  pack: packLedger,
  parse: parseLedger,
  isUnreadable: (error) => error instanceof LedgerUnreadable,
};

export function ledgerName(owner: Owner): string {
  return `${STATEFULSET_LEDGERS.namePrefix}-${ownerId(owner)}`;
}
