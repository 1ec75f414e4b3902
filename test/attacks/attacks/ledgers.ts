import { SHOP, SYSTEM } from "../ground.ts";
import { ledger } from "../objects.ts";
import { APPS, type Attack } from "./attack.ts";

const ONLY_CONTROLLER_LEDGERS = "only Lockstep's controller may write a CrossClusterLedger";

export const onLedgers: readonly Attack[] = [
  {
    name: "an editor writes a ledger",
    by: "editor",
    attempt: (ask) => ask("POST", `${APPS}/${SHOP}/crossclusterledgers`, ledger(SHOP)),
    refused: 'User "alice" cannot create resource "crossclusterledgers"',
  },
  {
    name: "a namespace's owner writes a ledger in its own namespace",
    by: "owner",
    attempt: (ask) => ask("POST", `${APPS}/${SHOP}/crossclusterledgers`, ledger(SHOP)),
    refused: ONLY_CONTROLLER_LEDGERS,
    policy: "ledgers",
  },
  {
    name: "a program that may write ledgers everywhere writes one beside the controller's",
    by: "helper",
    attempt: (ask) => ask("POST", `${APPS}/${SYSTEM}/crossclusterledgers`, ledger(SYSTEM)),
    refused: ONLY_CONTROLLER_LEDGERS,
    policy: "ledgers",
  },
];
