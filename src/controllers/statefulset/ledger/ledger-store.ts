import type { Cache, KubeClient, KubeObject } from "../../../kube/index.ts";
import { LEDGER_VERSION, type Ledger, LedgerUnreadable, packLedger, parseLedger } from "../../../plan/index.ts";
import * as common from "../../common/owned-ledgers.ts";
import { type Owner, ownerId } from "../../common/owner.ts";

export type StoredLedger = common.StoredLedger<Ledger>;
export type LedgerState = common.LedgerState<Ledger>;

const KIND = "CrossClusterStatefulset";
const PREFIX = "ccs";

const FORMAT: common.LedgerFormat<Ledger> = {
  kind: KIND,
  prefix: PREFIX,
  version: LEDGER_VERSION,
  pack: packLedger,
  parse: (state) => {
    try {
      return { ledger: parseLedger(state) };
    } catch (error) {
      if (!(error instanceof LedgerUnreadable)) throw error;
      return { unreadable: error.message };
    }
  },
};

/** The ledgers of CrossClusterStatefulsets. */
export class LedgerStore extends common.OwnedLedgers<Ledger> {
  constructor(client: KubeClient, cache: Cache<KubeObject>, namespace: string) {
    super(client, cache, namespace, FORMAT);
  }
}

export function ledgerName(owner: Owner): string {
  return `${PREFIX}-${ownerId(owner)}`;
}

/** The CrossClusterStatefulset that a ledger object is about. */
export function ledgerOwner(object: KubeObject): Owner | undefined {
  return common.ledgerOwner(object, KIND);
}
