import { expect, it } from "vitest";
import type { KubeClient } from "../../kube/index.ts";
import { systemClock } from "../../runtime/index.ts";
import { partOf } from "./content.ts";
import { kindId } from "./kinds.ts";
import { Rights } from "./rights.ts";

const ACCOUNT = { namespace: "shop", name: "deployer" };
const hub = { review: async () => ({ status: { allowed: true } }) } as unknown as KubeClient;
const ticket = { apiVersion: "orders.example/v1", kind: "Ticket", metadata: { name: "one", namespace: "shop" } };
const parts = [partOf({ object: ticket, keep: false, isCrd: false })];

it("a kind that the hub no longer serves counts as not allowed: its plural is not known", async () => {
  const rights = new Rights(hub, systemClock);
  expect(await rights.missing(ACCOUNT, parts, new Map())).toEqual([
    "distribute Ticket of orders.example/v1, which the hub no longer serves",
  ]);
  const served = new Map([[kindId(ticket), { group: "orders.example", plural: "tickets", namespaced: true }]]);
  expect(await rights.missing(ACCOUNT, parts, served)).toEqual([]);
});
