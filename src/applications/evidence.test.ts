import { expect, it } from "vitest";
import { objectGate } from "./evidence.ts";

const unknown = { kind: "unknown", message: "get is forbidden", remedy: "Give the right." } as const;

it("[A29] an object that is not written because the cluster does not show what it has says why, with the remedy", () => {
  expect(objectGate("v1 Secret a", { dispatched: "none", epoch: 0, live: unknown })).toMatchObject({
    kind: "closed",
    code: "HealthUnknown",
    message: "v1 Secret a: it cannot be seen: get is forbidden",
    remedy: "Give the right.",
  });
  expect(objectGate("v1 Secret a", { dispatched: "none", epoch: 0, live: { kind: "unknown" } })).toMatchObject({
    code: "WaitingForDelivery",
  });
});
