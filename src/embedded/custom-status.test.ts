/** Objects of custom kinds in an application: their own status fields reach the hub as a customization puts them together. */
import { afterEach, expect, it } from "vitest";
import { SchemaCache } from "../apiserver/index.ts";
import { resource } from "../kube/index.ts";
import type { JsonObject } from "../runtime/index.ts";
import { application, configMap, inline, rows, settle, statusOf } from "./testing/application.ts";
import { World } from "./testing/world.ts";

const MEMBERS = ["member1", "member2"];
const schemas = new SchemaCache();
const AT = { namespace: "default", name: "one" };
const TICKETS = resource({
  apiVersion: "orders.example/v1",
  kind: "Ticket",
  plural: "tickets",
  namespaced: true,
});
const DEFINITION = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "tickets.orders.example" },
  spec: {
    group: "orders.example",
    names: { kind: "Ticket", listKind: "TicketList", plural: "tickets", singular: "ticket" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
      },
    ],
  },
};
const CUSTOMIZATION = {
  apiVersion: "config.karmada.io/v1alpha1",
  kind: "ResourceInterpreterCustomization",
  metadata: { name: "tickets" },
  spec: {
    target: { apiVersion: "orders.example/v1", kind: "Ticket" },
    customizations: {
      statusAggregation: {
        luaScript: `function AggregateStatus(desiredObj, statusItems)
  local sold = 0
  for _, item in ipairs(statusItems) do sold = sold + (item.status.sold or 0) end
  desiredObj.status = { sold = sold, note = statusItems[1].status.note }
  return desiredObj
end`,
      },
    },
  },
};

let world = new World(77, { schemas, members: MEMBERS });
afterEach(() => world.stop());

async function begin(): Promise<void> {
  world = new World(77, { schemas, members: MEMBERS });
  await world.start();
  await world.apply(DEFINITION);
  await world.apply(CUSTOMIZATION);
  const ticket = { apiVersion: "orders.example/v1", kind: "Ticket", metadata: { name: "one" }, spec: { seats: 2 } };
  await world.apply(
    application("shop", {
      source: inline(DEFINITION, configMap("settings", { a: "1" }), ticket),
      clusters: { names: MEMBERS },
      revisionSettleSeconds: 0,
    }),
  );
  await settle(world, "shop");
}

async function report(member: string, status: JsonObject): Promise<void> {
  const client = world.fleet.client(member);
  const found = await world.ask(client.get(TICKETS, AT));
  await world.ask(client.update(TICKETS, { ...found, status }));
}

const said = () => rows(statusOf(world, "shop").objects).find(({ kind }) => kind === "Ticket")?.status;

it("an object's own status fields are aggregated over all clusters, and those of other kinds are left out", async () => {
  await begin();
  await report("member1", { sold: 2, note: "open" });
  await report("member2", { sold: 5 });
  await world.until("the sum is there", () => JSON.stringify(said()) === JSON.stringify({ sold: 7, note: "open" }));
  const others = rows(statusOf(world, "shop").objects).filter(({ kind }) => kind !== "Ticket");
  expect(others.map(({ status }) => status)).toEqual([undefined, undefined]);
});

it("a status that a member makes too large is left out, and nothing else of the report", async () => {
  await begin();
  await report("member1", { sold: 2, note: "x".repeat(20_000) });
  await world.clock.advance(10_000);
  expect(said()).toBeUndefined();
  expect(rows(statusOf(world, "shop").objects)).toHaveLength(3);
  await report("member1", { sold: 2 });
  await world.until("it is there", () => JSON.stringify(said()) === JSON.stringify({ sold: 2 }));
});
